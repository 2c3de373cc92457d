"""Map the user's ids, integers or strings, to 0 .. n - 1 without a Python loop over edges."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ccassg.graph import Array
from ccassg.io.tables import FrameTable, Table, is_string, plain, shown

LINE_BREAK = re.compile(rb"[\r\n]")
# Numbers are marked in a table of up to so many cells for each, which beats hashing by far.
MARK_CELLS = 4


def as_ids(table: Table, name: str, column: pa.ChunkedArray, *, line_breaks: bool = False) -> pa.ChunkedArray:
    """Return a column as ids: integers of 64 bits, or strings; ValueError with the place otherwise.

    In text files surrounding blanks do not count, and an id that spans lines is refused unless ``line_breaks`` are meant: a
    quote that was opened by mistake swallows the rows up to the next. Whether digits are integers is decided later, in
    `settle`, over all columns that hold ids of the same nodes.
    """
    if column.null_count:
        table.refuse_where(name, column.is_null(), "an id is missing; fill it in or drop the row")
    column = plain(column)
    kind = column.type
    if pa.types.is_integer(kind):
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:  # beyond 63 bits
            return _strings(table, name, column, line_breaks)
    if pa.types.is_floating(kind):
        try:
            return column.cast(pa.int64())  # safe: refuses fractions, NaN and what does not fit
        except pa.ArrowInvalid:
            values = np.asarray(column.cast(pa.float64()))
            fits = (values == np.rint(values)) & (np.abs(values) < 2**63)
            table.refuse_where(name, ~fits, lambda row: f"{values[row]} cannot be an id; ids are integers or strings")
    if is_string(kind) or pa.types.is_temporal(kind) or pa.types.is_decimal(kind):
        return _strings(table, name, column, line_breaks)
    raise ValueError(f"{table}, column {name!r}: {kind} cannot be an id; ids are integers or strings")


def unique_ids(
    table: Table, name: str, column: pa.ChunkedArray, *, line_breaks: bool = False, way_out: str = "keep one row"
) -> pa.ChunkedArray:
    """Return a column as ids, all different; ValueError with the place of the first repeated one, and the ``way_out``."""
    found = as_ids(table, name, column, line_breaks=line_breaks)
    settled = flat(settle([found], [table.is_text])[0])
    if pc.count_distinct(settled).as_py() < len(settled):
        _, first = np.unique(settled.dictionary_encode().indices.to_numpy(), return_index=True)
        again = np.ones(len(settled), bool)
        again[first] = False
        table.refuse_where(name, again, lambda row: f"the id {shown(settled[row].as_py())} was there before; {way_out}")
    return found


def settle(columns: Sequence[pa.ChunkedArray], from_text: Sequence[bool]) -> list[pa.ChunkedArray]:
    """Give id columns of the same nodes one type.

    Digits in a text file are integers if that holds for all ids of all text columns and none carries a leading zero or
    plus; a mixture of integers and strings becomes strings.
    """
    settled = [_as_integers(column) if text else column for column, text in zip(columns, from_text, strict=True)]
    if len({pa.types.is_integer(column.type) for column in settled}) == 1:
        return settled
    return [column.cast(pa.string()) for column in columns]


def number_ids(columns: Sequence[pa.ChunkedArray]) -> tuple[pa.Array, Array]:
    """Return the different ids of several settled columns in increasing order, and the position among them of every entry.

    Positions come column after column. The columns are all of integers or all of strings, as `settle` gives them.
    """
    merged = pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)
    if not len(merged):
        return pa.array([], merged.type), np.empty(0, np.int64)
    if pa.types.is_integer(merged.type):
        numbers = merged.to_numpy()
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < MARK_CELLS * len(numbers):
            offsets, marks = numbers - low, np.zeros(high - low + 1, bool)
            marks[offsets] = True
            return pa.array(np.flatnonzero(marks) + low), (np.cumsum(marks, dtype=np.int64) - 1)[offsets]
    encoded = merged.dictionary_encode()  # all chunks share one dictionary
    values = encoded.chunk(0).dictionary
    order = pc.sort_indices(values)
    rank = np.empty(len(order), np.int64)
    rank[order.to_numpy()] = np.arange(len(order))
    return values.take(order), rank[np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])]


def refuse_line_breaks(table: Table, name: str, column: pa.ChunkedArray, why: str) -> None:
    """Refuse strings with line breaks in a text file, at the line where the quote of the first one opens."""
    if isinstance(table, FrameTable) or not any(
        LINE_BREAK.search(chunk.buffers()[2] or b"") for chunk in column.chunks
    ):
        return
    broken = pc.match_substring_regex(column, LINE_BREAK.pattern.decode())
    table.refuse_where(name, broken, f"the quote that opens here closes on another line, and {why}; close it")


def positions(ids: pa.Array, among: pa.Array) -> Array:
    """Return for each of ``ids`` its position ``among`` the others, -1 where it is not there."""
    found = pc.index_in(ids, value_set=among)
    return found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


def flat(column: pa.ChunkedArray) -> pa.Array:
    """Return an id column as one plain array of integers or strings."""
    if not pa.types.is_integer(column.type):
        column = column.cast(pa.large_string())  # one array of ordinary strings holds 2 GB at most
    return column.combine_chunks()


def to_numpy(ids: pa.Array) -> Array:
    """Return ids as a NumPy array: int64, or objects that are strings (of a fixed width all would be as wide as the longest)."""
    if pa.types.is_integer(ids.type):
        return ids.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return np.asarray(ids)


def id_array(ids: Any) -> pa.Array:
    """Return ids as one plain array: integers, or strings; what is neither (a tuple, an enumeration) is written as it prints."""
    if isinstance(ids, pa.Array):
        return ids if pa.types.is_integer(ids.type) else ids.cast(pa.large_string())
    if isinstance(ids, np.ndarray) and ids.dtype.kind in "iu":
        return pa.array(ids).cast(pa.int64())
    values = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    strings = any(isinstance(value, str) for value in values)
    if strings or not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return pa.array([str(value) for value in values], pa.large_string())
    return pa.array(values, pa.int64())


def _strings(table: Table, name: str, column: pa.ChunkedArray, line_breaks: bool) -> pa.ChunkedArray:
    """Return plain strings, trimmed if from text; an empty id is refused."""
    column = column.cast(pa.string())
    if table.is_text:
        if not line_breaks:
            refuse_line_breaks(table, name, column, "no id holds a line break")
        column = pc.utf8_trim_whitespace(column)
    table.refuse_where(name, pc.equal(pc.binary_length(column), 0), "an id is empty; fill it in or drop the row")
    return column


def _as_integers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the same ids as integers if they are written as integers are, else as they come."""
    if pa.types.is_integer(column.type):
        return column
    try:
        integers = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column
    return integers if integers.cast(pa.string()).equals(column) else column
