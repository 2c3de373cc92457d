"""How much a file may claim and grow to before it is believed: the bounds of every reader, in one place.

Files are written by others. Before a reader takes memory for what a file says of itself (a shape, a number of rows, what
a compressed stream becomes), it asks `Limits.budget`. Real files stay far below, bombs far above. Every reader takes
``limits``, so that a caller may draw them tighter.
"""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds for files nobody vouches for.

    Attributes
    ----------
    growth : int
        How many times its size a file may become when it is decompressed or decoded.
    growth_floor : int
        How many bytes any file may become, however small it is.
    free_rows : int
        Rows without content take no room in a file; so many are taken on faith.
    columns : int
        Columns of a table.
    first_row : int
        Bytes within which the first row of a text table must end.
    line : int
        Bytes of a line of whitespace text; one row must fit a block of the parser.
    piece : int
        Bytes of whitespace text parsed at a time.
    depth : int
        How deep XML elements may be nested.
    """

    growth: int = 200
    growth_floor: int = 256 * 2**20
    free_rows: int = 1_000_000
    columns: int = 20_000
    first_row: int = 1 << 22
    line: int = 1 << 23
    piece: int = 1 << 25
    depth: int = 64

    def budget(self, path: str | os.PathLike[str]) -> int:
        """Return how many bytes the content of a file may take in memory."""
        return max(self.growth_floor, self.growth * os.path.getsize(path))

    def require_budget(self, path: str | os.PathLike[str], n_bytes: int, how: str, way_out: str) -> None:
        """Refuse a file that has grown beyond its budget while it was read."""
        if n_bytes > self.budget(path):
            raise ValueError(
                f"{path} grows beyond {self.budget(path):,} bytes when {how}, {self.growth} times its size; if you "
                f"trust it, {way_out}"
            )


LIMITS = Limits()
