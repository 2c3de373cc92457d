"""Read how large the pages of a Parquet file become, in the pages' own heads: what makes room for them goes by these.

The sizes at the end of a file are those of whole columns, and anyone may have written others there. A head is a struct in
Thrift's compact protocol, which is walked here without making anything of it.
"""

import mmap
from typing import Any

UNCOMPRESSED_SIZE, COMPRESSED_SIZE = 2, 3  # numbers of fields in a page's head
MAX_DEPTH = 16  # of structs and lists in each other


def decoded_size(content: mmap.mmap, chunk: Any) -> int:
    """Return how many bytes the compressed pages of a column's piece become; ValueError where they cannot be read."""
    if chunk.compression == "UNCOMPRESSED":
        return 0
    first = chunk.dictionary_page_offset if chunk.has_dictionary_page else None
    place = first or chunk.data_page_offset
    end, n_bytes = place + chunk.total_compressed_size, 0
    try:
        while place < end:
            head = _Head(content, place)
            fields = head.struct()
            place = head.place + fields[COMPRESSED_SIZE]
            n_bytes += fields[UNCOMPRESSED_SIZE]
            if min(fields[COMPRESSED_SIZE], fields[UNCOMPRESSED_SIZE]) < 0:
                raise IndexError
    except (IndexError, KeyError):
        raise ValueError("the head of a page cannot be read; is it damaged?") from None
    return n_bytes


class _Head:
    """A place in a file that moves on over what is read; IndexError at the end, and where there is no such thing."""

    def __init__(self, content: mmap.mmap, place: int) -> None:
        self.content, self.place = content, place

    def struct(self, depth: int = 0) -> dict[int, int]:
        """Return the whole numbers among the fields, by the fields' numbers."""
        found, field = {}, 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._integer()
            value = self._value(head & 15, depth)
            if value is not None:
                found[field] = value
        return found

    def _value(self, kind: int, depth: int) -> int | None:
        if depth > MAX_DEPTH:
            raise IndexError
        if kind in (4, 5, 6):  # whole numbers
            return self._integer()
        if kind == 12:
            self.struct(depth + 1)
        elif kind in (9, 10):  # lists and sets
            head = self._byte()
            n = head >> 4 if head >> 4 < 15 else self._varint()
            for _ in range(n):
                self._value(3 if head & 15 < 3 else head & 15, depth + 1)  # a truth value takes a byte here
        elif kind in (3, 7, 8):  # a byte, a number of 64 bits, text
            length = {3: 1, 7: 8}.get(kind) or self._varint()
            self.place += length
        elif kind not in (1, 2):  # true and false are in the kind
            raise IndexError
        return None

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
