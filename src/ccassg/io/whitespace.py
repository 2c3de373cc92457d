"""Text with blanks between its cells, as the parser wants it: squeezed, and counted before it is parsed."""

import re
from collections.abc import Iterator
from typing import IO

import pyarrow as pa
import pyarrow.csv as pacsv

from ccassg.io.files import Meter, PathLike, limits

BLOCK_BYTES = 1 << 24
CELL_BYTES = 8  # a cell of one byte, or none, becomes a number of 64 bits or the offset of a string
COMMENTS = re.compile(rb"(?m)^(?:[#%][^\n]*+\n?)++")
BLANKS = bytes.maketrans(b"\t\r\f\v", b"    ")


def parsed_bytes(text: bytes, n_columns: int) -> int:
    """Return what text takes as a table of so many columns."""
    return CELL_BYTES * n_columns * ((text.count(b"\n") or text.count(b"\r")) + 1)


def parse_blanks(content: bytes, types: dict[str, pa.DataType]) -> pa.Table:
    """Parse rows of cells with one blank between them, as columns of the given names and types."""
    return pacsv.read_csv(
        pa.BufferReader(content),
        pacsv.ReadOptions(column_names=list(types), block_size=max(BLOCK_BYTES, 64 * len(types))),
        pacsv.ParseOptions(delimiter=" ", quote_char=False),
        pacsv.ConvertOptions(column_types=types),
    )


def squeezed_pieces(path: PathLike, file: IO[bytes], n_columns: int) -> Iterator[bytes]:
    """Yield the rest of a whitespace text, squeezed, some megabytes at a time, within what its columns may take as numbers."""
    meter = Meter(path, "parsed")
    while chunk := file.read(limits().piece):
        if squeezed := squeeze(chunk + read_line(path, file)):
            meter.add(parsed_bytes(squeezed, n_columns))
            yield squeezed


def read_line(path: PathLike, file: IO[bytes]) -> bytes:
    """Read one line, not longer than a line may be."""
    line = file.readline(limits().line + 1)
    if len(line) > limits().line:
        raise ValueError(f"{path} has a line of more than {limits().line:,} bytes; is it text?")
    return line


def squeeze(block: bytes) -> bytes:
    """Return lines without comments, each with single blanks between its cells and none around them."""
    block = block.translate(BLANKS)
    while b"  " in block:
        block = block.replace(b"  ", b" ")
    block = block.replace(b"\n ", b"\n").replace(b" \n", b"\n").strip(b" \n")
    if b"#" in block or b"%" in block:
        block = b"".join(COMMENTS.sub(b"", part) for part in _parts(block))
    return block.strip(b"\n")


def _parts(block: bytes) -> Iterator[bytes]:
    """Yield whole lines, about a megabyte at a time: what replaces expressions keeps all that lies between."""
    start = 0
    while start < len(block):
        end = block.find(b"\n", start + (1 << 20)) + 1 or len(block)
        yield block[start:end]
        start = end
