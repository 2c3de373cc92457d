"""The hashes of a store's files: the SHA-256 of every 4 MiB, so that whoever needs a part of a file can check that part alone."""

import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np

from ccassg.io.files import open_regular, sha256

# A part may share one at each of its ends with others; 100 GB have 24,000 of them, 2 MB of a manifest.
BLOCK = 2**22


class BlockHashes:
    """Hash a file block by block while it is written."""

    def __init__(self) -> None:
        self._hashes: list[str] = []
        self._block, self._room = hashlib.sha256(), BLOCK

    def update(self, content: Any) -> None:
        """Take in what comes next, anything that holds bytes."""
        rest = memoryview(content).cast("B") if len(content) else memoryview(b"")
        while len(rest):
            piece, rest = rest[: self._room], rest[self._room :]
            self._block.update(piece)
            self._room -= len(piece)
            if not self._room:
                self._next()

    def finish(self) -> list[str]:
        """Return the hashes of all blocks, of which only the last may be shorter."""
        if self._room < BLOCK:
            self._next()
        return self._hashes

    def _next(self) -> None:
        self._hashes.append(self._block.hexdigest())
        self._block, self._room = hashlib.sha256(), BLOCK


def header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Return the bytes with which the file of an array begins."""
    content = io.BytesIO()
    described = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_2_0(content, described)
    return content.getvalue()


def are_hashes(given: Any, n_bytes: int) -> bool:
    """Tell whether something can be the hashes of a file of so many bytes: one a block, or of the whole in stores before version 3."""
    if isinstance(given, list):
        return len(given) == -(-n_bytes // BLOCK) and all(isinstance(each, str) for each in given)
    return isinstance(given, str)


def is_unchanged(file: Path, hashes: list[str] | str, first: int = 0, last: int | None = None) -> bool:
    """Read the blocks that hold the bytes ``first .. last``, by default all, and compare their hashes."""
    if isinstance(hashes, str):
        return sha256(file) == hashes
    stop = len(hashes) if last is None else -(-last // BLOCK)
    with open_regular(file) as content:
        for k in range(first // BLOCK, stop):
            content.seek(k * BLOCK)
            if hashlib.sha256(content.read(BLOCK)).hexdigest() != hashes[k]:
                return False
    return True
