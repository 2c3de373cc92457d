"""Map the user's ids, integers or strings, to 0 .. n - 1 without a Python loop over edges."""

import re
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ccassg.graph import Array
from ccassg.io.tables import Column, FrameTable, is_string, plain, shown

LINE_BREAK = re.compile(rb"[\r\n]")
# Numbers are marked in a table of up to so many cells for each, which beats hashing by far.
MARK_CELLS = 4


def as_ids(column: Column, *, line_breaks: bool = False) -> pa.Array:
    """Return a column as ids, one plain array: integers of 64 bits, or strings; ValueError with the place otherwise.

    In text files surrounding blanks do not count, and digits are integers if that holds for the whole column and none carries a
    leading zero or plus. There an id that spans lines is refused unless ``line_breaks`` are meant: a quote that was opened by
    mistake swallows the rows up to the next.
    """
    values = plain(column.values)
    kind = values.type
    if values.null_count:
        column.refuse_where(values.is_null(), "an id is missing; fill it in or drop the row")
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        with suppress(pa.ArrowInvalid):  # fractions, NaN, and what is beyond 63 bits
            return values.cast(pa.int64()).combine_chunks()
    if pa.types.is_floating(kind):
        floats = np.asarray(values.cast(pa.float64()))
        fits = (floats == np.rint(floats)) & (np.abs(floats) < 2**63)
        column.refuse_where(~fits, lambda row: f"{floats[row]} cannot be an id; ids are integers or strings")
    if not (is_string(kind) or pa.types.is_integer(kind) or pa.types.is_temporal(kind) or pa.types.is_decimal(kind)):
        raise ValueError(f"{column}: {kind} cannot be an id; ids are integers or strings")
    values = values.cast(pa.string())
    if column.table.is_text:
        if not line_breaks:
            refuse_line_breaks(column._replace(values=values), "no id holds a line break")
        values = pc.utf8_trim_whitespace(values)
    column.refuse_where(pc.equal(pc.binary_length(values), 0), "an id is empty; fill it in or drop the row")
    integers = _as_integers(values) if column.table.is_text else None
    # One array of ordinary strings holds 2 GB at most.
    return (values.cast(pa.large_string()) if integers is None else integers).combine_chunks()


def unique_ids(column: Column, *, line_breaks: bool = False, way_out: str = "keep one row") -> pa.Array:
    """Return a column as ids, all different; ValueError with the place of the first repeated one, and the ``way_out``."""
    ids = as_ids(column, line_breaks=line_breaks)
    if pc.count_distinct(ids).as_py() < len(ids):
        _, first = np.unique(ids.dictionary_encode().indices.to_numpy(), return_index=True)
        again = np.ones(len(ids), bool)
        again[first] = False
        column.refuse_where(again, lambda row: f"the id {shown(ids[row].as_py())} was there before; {way_out}")
    return ids


def settle(*columns: pa.Array) -> tuple[pa.Array, ...]:
    """Give ids of the same nodes one type: a mixture of integers and strings becomes strings."""
    if all(pa.types.is_integer(column.type) for column in columns):
        return columns
    return tuple(column.cast(pa.large_string()) for column in columns)


def number_ids(*columns: pa.Array) -> tuple[pa.Array, Array]:
    """Return the different ids of several columns in increasing order, and the position among them of every entry.

    Positions come column after column.
    """
    merged = pa.chunked_array(settle(*columns))
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


def refuse_line_breaks(column: Column, why: str) -> None:
    """Refuse strings with line breaks in a text file, at the line where the quote of the first one opens."""
    chunks = column.values.chunks
    if isinstance(column.table, FrameTable) or not any(LINE_BREAK.search(each.buffers()[2] or b"") for each in chunks):
        return
    broken = pc.match_substring_regex(column.values, LINE_BREAK.pattern.decode())
    column.refuse_where(broken, f"the quote that opens here closes on another line, and {why}; close it")


def positions(ids: pa.Array, among: pa.Array) -> Array:
    """Return for each of ``ids`` its position ``among`` the others, -1 where it is not there."""
    found = pc.index_in(*settle(ids, among))
    return found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


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


def _as_integers(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return strings as integers if they are all written as integers are, else None."""
    try:
        integers = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    return integers if integers.cast(pa.string()).equals(column) else None
