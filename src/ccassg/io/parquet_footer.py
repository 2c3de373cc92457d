"""Read what a Parquet file says of its columns, in its footer and in the heads of its pages: what makes room for them goes by these.

Arrow is not asked: where a footer is damaged, looking at its columns may end the process. And the sizes in a footer are those of
whole columns, and anyone may have written others there; the heads of the pages are what a decoder believes. Both are structs in
Thrift's compact protocol.
"""

import mmap
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

from ccassg.io.files import open_regular

MAX_FOOTER = 1 << 26  # bytes
MAX_DEPTH = 16  # of structs and lists in each other
# Numbers of fields in the structs of the format: https://github.com/apache/parquet-format, parquet.thrift.
ROW_GROUPS, COLUMNS, META = 4, 1, 3
ENCODINGS, PATH, VALUES, COMPRESSED, DATA_OFFSET, DICTIONARY_OFFSET = 2, 3, 5, 7, 9, 11
PAGE_UNCOMPRESSED, PAGE_COMPRESSED = 2, 3
DELTAS = {5, 6, 7}


class Piece(NamedTuple):
    """One column of one group of rows."""

    n_values: int
    n_bytes: int  # when decompressed, as the heads of its pages say
    is_delta: bool  # a value may begin with all of the one before it


def pieces(path: Path, names: Collection[str]) -> dict[str, list[Piece]]:
    """Return the pieces of columns by the names of these; ValueError where the file does not hold together."""
    found: dict[str, list[Piece]] = {name: [] for name in names}
    with open_regular(path) as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        length = int.from_bytes(content[-8:-4], "little")
        if length > min(MAX_FOOTER, len(content) - 8):
            raise ValueError(f"its footer claims {length:,} bytes; is it damaged?")
        try:
            footer = _Reader(content, len(content) - 8 - length).struct()
            for group in footer[ROW_GROUPS]:
                for column in group[COLUMNS]:
                    name = column[META][PATH][0].decode()  # what follows is inside, such as list and element
                    if name in found:
                        found[name].append(_piece(content, column[META]))
        except (LookupError, TypeError, AttributeError, UnicodeDecodeError):
            raise ValueError("what it says of its columns does not hold together; is it damaged?") from None
    return found


def _piece(content: mmap.mmap, meta: dict[int, Any]) -> Piece:
    start = meta.get(DICTIONARY_OFFSET) or meta[DATA_OFFSET]
    return Piece(
        meta[VALUES],
        _decoded_size(content, start, start + meta[COMPRESSED]),
        not DELTAS.isdisjoint(meta[ENCODINGS]),
    )


def _decoded_size(content: mmap.mmap, place: int, end: int) -> int:
    """Return how many bytes the pages between two places become."""
    n_bytes = 0
    while place < end:
        head = _Reader(content, place)
        fields = head.struct()
        if min(fields[PAGE_COMPRESSED], fields[PAGE_UNCOMPRESSED]) < 0:
            raise LookupError
        place = head.place + fields[PAGE_COMPRESSED]
        n_bytes += fields[PAGE_UNCOMPRESSED]
    return n_bytes


class _Reader:
    """A place in a file that moves on over what is read; IndexError at the end, and where there is no such thing."""

    def __init__(self, content: mmap.mmap, place: int) -> None:
        self.content, self.place = content, place

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return the values of the fields, by the fields' numbers."""
        found, field = {}, 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._integer()
            found[field] = self._value(head & 15, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (4, 5, 6):  # whole numbers
            return self._integer()
        if kind == 8:  # text
            return self._bytes(self._varint())
        if depth > MAX_DEPTH:
            raise IndexError
        if kind == 12:
            return self.struct(depth + 1)
        if kind in (9, 10):  # lists and sets
            head = self._byte()
            n = head >> 4 if head >> 4 < 15 else self._varint()
            entries = 3 if head & 15 < 3 else head & 15  # a truth value takes a byte here
            return [self._value(entries, depth + 1) for _ in range(n)]
        if kind in (3, 7):  # a byte, a number of 64 bits
            return self._bytes(1 if kind == 3 else 8)
        if kind not in (1, 2):  # true and false are in the kind
            raise IndexError
        return kind == 1

    def _integer(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise IndexError

    def _byte(self) -> int:
        self.place += 1
        return self.content[self.place - 1]

    def _bytes(self, length: int) -> bytes:
        self.place += length
        if self.place > len(self.content):
            raise IndexError
        return self.content[self.place - length : self.place]
