"""Read columns of a Parquet file in batches, their decoded size known before any of it is made.

A page of runs, a dictionary or a common prefix lets a few bytes stand for gigabytes. Pages are counted by their own heads, numbers by
the file's counts of values. Text is read as positions in a dictionary, which is no larger than its page, and written out only if the
sum of the lengths fits the budget.

Arrow is not asked what a file says of its columns: where a footer is damaged, looking at them may end the process. And the sizes in
a footer are those of whole columns, and anyone may have written others there; the heads of the pages are what a decoder believes.
Footer and heads are structs in Thrift's compact protocol.
"""

import mmap
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ccassg.graph import Array
from ccassg.io.files import Meter, budget, open_regular

BATCH_ROWS, PREFIXED_ROWS = 1 << 17, 1 << 10
NUMBER_BYTES = 8  # readers make 64-bit floats of all numbers
MAX_FOOTER = 1 << 26  # bytes
MAX_DEPTH = 16  # of structs and lists in each other
# Numbers of fields in the structs of the format: https://github.com/apache/parquet-format, parquet.thrift.
ROW_GROUPS, COLUMNS, META = 4, 1, 3
ENCODINGS, PATH, VALUES, COMPRESSED, DATA_OFFSET, DICTIONARY_OFFSET = 2, 3, 5, 7, 9, 11
PAGE_UNCOMPRESSED, PAGE_COMPRESSED = 2, 3
DELTAS = {5, 6, 7}


def read_batches(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the columns of a file, some rows at a time; ValueError before they would outgrow the file's budget."""
    with pq.ParquetFile(path) as file:
        fields = [file.schema_arrow.field(name) for name in columns]
        plan = _plan(path, file, fields)
    with pq.ParquetFile(path, read_dictionary=plan.text) as file:
        if plan.n_fixed + plan.n_pages + _most_text(file, plan.text) <= budget(path):
            plan = plan._replace(text=[])  # it fits even if every row names the longest, and is faster read at once
    meter = _meter(path)
    meter.add(plan.n_fixed)
    with pq.ParquetFile(path, read_dictionary=plan.text) as file:
        for batch in file.iter_batches(plan.n_rows, columns=list(columns)):
            meter.add(sum(_text_bytes(column) for column in batch.columns))
            for name, column in zip(columns, batch.columns, strict=True):
                _require_whole(path, name, column)
            yield pa.RecordBatch.from_arrays(
                [_written_out(batch.column(field.name), field.type) for field in fields], list(columns)
            )


def is_list(kind: pa.DataType) -> bool:
    """Return whether cells are lists."""
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


class _Plan(NamedTuple):
    text: list[str]  # columns to read as dictionaries
    n_rows: int  # at a time
    n_pages: int  # bytes of the pages of text, without what dictionaries and prefixes repeat
    n_fixed: int  # bytes of all that is not text


def _plan(path: Path, file: pq.ParquetFile, fields: Sequence[pa.Field]) -> _Plan:
    """Count what is to be read; refuse what is too large, and columns that nothing here can use."""
    found = pieces(path, {field.name for field in fields})
    _meter(path).add(sum(part.n_bytes for parts in found.values() for part in parts))
    text: list[str] = []
    n_rows, n_pages, n_fixed = BATCH_ROWS, 0, 0
    for field in fields:
        kind, parts = _plain(field.type), found[field.name]
        entry = _plain(kind.value_type) if is_list(kind) else kind
        if _is_text(kind):
            size = sum(part.n_bytes for part in parts)
            n_pages += size
            if any(part.is_delta for part in parts):  # Arrow makes no dictionary of these
                n_rows = min(n_rows, PREFIXED_ROWS, max(1, budget(path) // max(1, size)))
            else:
                text.append(field.name)
        elif entry.num_fields or (entry is not kind and _is_text(entry)):
            raise ValueError(
                f"{path}, column {field.name!r}: {kind} cannot be a class, an id or a feature; leave it out"
            )
        else:
            n_values = file.metadata.num_rows if entry is kind else sum(part.n_values for part in parts)
            if pa.types.is_fixed_size_list(kind):  # a missing list of that kind takes the room of a full one
                n_values = max(n_values, kind.list_size * file.metadata.num_rows)
            n_fixed += n_values * _width(entry)
    _meter(path).add(n_fixed + n_pages)
    return _Plan(text, n_rows, n_pages, n_fixed)


def _most_text(file: pq.ParquetFile, text: Sequence[str]) -> int:
    """Return how many bytes text can take beyond its pages: the longest in the dictionary of each row group, in every row."""
    n_bytes = 0
    for group in range(file.metadata.num_row_groups if text else 0):
        first = next(file.iter_batches(1, row_groups=[group], columns=list(text)), None)
        longest = sum(int(_lengths(column).max()) for column in first.columns) if first is not None else 0
        n_bytes += file.metadata.row_group(group).num_rows * (longest + NUMBER_BYTES * len(text))
    return n_bytes


def _text_bytes(column: pa.Array) -> int:
    """Return how many bytes a column of text takes, or will when it is written out; 0 for any other."""
    if not _is_text(column.type):
        return 0
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = _lengths(column)
    places = column.indices.fill_null(len(lengths) - 1).to_numpy(zero_copy_only=False)
    return NUMBER_BYTES * len(column) + int(lengths[places].sum())


def _lengths(column: pa.Array) -> Array:
    """Return how many bytes the entries of a column's dictionary have, and a 0 after them."""
    lengths = pc.binary_length(column.dictionary).fill_null(0).to_numpy(zero_copy_only=False)
    return np.append(lengths.astype(np.int64), 0)


def _require_whole(path: Path, name: str, column: pa.Array) -> None:
    """Refuse text that is no UTF-8, which Arrow reads without looking at it."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path}, column {name!r} is damaged: {str(error).splitlines()[0]}; write it again") from None


def _written_out(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if not pa.types.is_dictionary(column.type) or pa.types.is_dictionary(kind):
        return column
    return column.cast(kind) if pa.types.is_large_string(kind) else column.dictionary_decode()


def _meter(path: Path) -> Meter:
    return Meter(path, "decoded", "write it again without compression")


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type that an extension type is stored as."""
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def _is_text(kind: pa.DataType) -> bool:
    """Return whether values are strings or bytes of any length, with a dictionary or without."""
    kind = _plain(kind)
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return str(kind).removeprefix("large_") in ("string", "binary", "string_view", "binary_view")


def _width(kind: pa.DataType) -> int:
    """Return how many bytes a value takes."""
    try:
        return max(NUMBER_BYTES, kind.bit_width // 8)
    except ValueError:  # a type without a width, such as null
        return NUMBER_BYTES


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
