"""The user's ids, integers or strings, mapped to 0 .. n - 1 without a Python loop over edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ccassg.graph import Array
from ccassg.io.tables import Table, is_string


def id_column(table: Table, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column as ids: integers of 64 bits, or strings; ValueError with the place otherwise.

    In text files surrounding blanks do not count. Whether digits are integers is decided later, in `settle`, over all
    columns that hold ids of the same nodes.
    """
    if column.null_count:
        row = int(np.flatnonzero(np.asarray(column.is_null()))[0])
        raise ValueError(f"{table}, column {name!r}, {table.place(row)}: an id is missing; fill it in or drop the row")
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_integer(kind):
        try:
            return column.cast(kind).cast(pa.int64())
        except pa.ArrowInvalid:  # beyond 63 bits
            return _strings(table, name, column.cast(kind).cast(pa.string()))
    if pa.types.is_floating(kind):
        values = column.cast(kind)
        try:
            return values.cast(pa.int64())  # safe: refuses fractions, NaN and what does not fit
        except pa.ArrowInvalid:
            whole = np.asarray(values.cast(pa.float64()))
            row = int(np.flatnonzero(~(np.abs(whole - np.rint(whole)) == 0))[:1].sum())
            raise ValueError(
                f"{table}, column {name!r}, {table.place(row)}: {whole[row]} cannot be an id; ids are integers or strings"
            ) from None
    if is_string(kind):
        return _strings(table, name, column)
    if pa.types.is_temporal(kind) or pa.types.is_decimal(kind):
        return _strings(table, name, column.cast(kind).cast(pa.string()))
    raise ValueError(f"{table}, column {name!r}: {kind} cannot be an id; ids are integers or strings")


def settle(columns: Sequence[pa.ChunkedArray], from_text: Sequence[bool]) -> list[pa.ChunkedArray]:
    """Give id columns of the same nodes one type.

    Digits in a text file are integers if that holds for all ids of all text columns and none carries a leading zero or
    plus; a mixture of integers and strings becomes strings.
    """
    settled = [_as_integers(column) if text else column for column, text in zip(columns, from_text, strict=True)]
    if len({pa.types.is_integer(column.type) for column in settled}) == 1:
        return settled
    return [column.cast(pa.string()) for column in columns]


def encode(columns: Sequence[pa.ChunkedArray]) -> tuple[pa.Array, Array]:
    """Number the ids of several columns together.

    Parameters
    ----------
    columns : sequence of pyarrow.ChunkedArray
        All of integers or all of strings, as `settle` gives them.

    Returns
    -------
    ids : pyarrow.Array of shape (n,)
        The different ids in increasing order.
    codes : int64 array
        The positions in ``ids`` of all entries, column after column.
    """
    if pa.types.is_integer(columns[0].type):
        return _encode_integers(np.concatenate([column.to_numpy() for column in columns]))
    return _encode_strings(pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string()))


def positions(ids: pa.Array, among: pa.Array) -> Array:
    """For each of ``ids`` its position ``among`` the others, -1 where it is not there."""
    found = pc.index_in(ids, value_set=among)
    return found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


def flat(column: pa.ChunkedArray) -> pa.Array:
    """An id column as one plain array of integers or strings."""
    if not pa.types.is_integer(column.type):
        column = column.cast(pa.large_string())  # one array of ordinary strings holds 2 GB at most
    return column.combine_chunks()


def first_repeated(ids: pa.Array) -> tuple[int, Any] | None:
    """Row and value of the first id that was there before, or None."""
    if pc.count_distinct(ids).as_py() == len(ids):
        return None
    encoded = ids.dictionary_encode().indices.to_numpy()
    _, first = np.unique(encoded, return_index=True)
    again = np.ones(len(ids), bool)
    again[first] = False
    row = int(np.flatnonzero(again)[0])
    return row, ids[row].as_py()


def to_numpy(ids: pa.Array) -> Array:
    """Ids as a NumPy array: int64, or objects that are strings (fixed-width strings would lose trailing NULs)."""
    if pa.types.is_integer(ids.type):
        return ids.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return np.array(ids.to_pylist(), dtype=object)


def _strings(table: Table, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Plain strings, trimmed if from text; an empty id is refused."""
    column = column.cast(pa.string())
    if table.is_text:
        column = pc.utf8_trim_whitespace(column)
    empty = pc.equal(pc.binary_length(column), 0)
    if pc.any(empty).as_py():
        row = int(np.flatnonzero(np.asarray(empty))[0])
        raise ValueError(f"{table}, column {name!r}, {table.place(row)}: an id is empty; fill it in or drop the row")
    return column


def _as_integers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same ids as integers if they are written as integers are, else as they come."""
    if pa.types.is_integer(column.type):
        return column
    try:
        integers = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column
    return integers if integers.cast(pa.string()).equals(column) else column


def _encode_integers(values: Array) -> tuple[pa.Array, Array]:
    if not len(values):
        return pa.array([], pa.int64()), np.empty(0, np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low < 4 * len(values) + 1024:  # close together: a table of marks beats hashing
        values -= low
        marks = np.zeros(high - low + 1, bool)
        marks[values] = True
        rank = np.cumsum(marks, dtype=np.int64) - 1
        return pa.array(np.flatnonzero(marks) + low), rank[values]
    encoded = pa.array(values).dictionary_encode()
    return _sorted(encoded.dictionary, encoded.indices.to_numpy())


def _encode_strings(column: pa.ChunkedArray) -> tuple[pa.Array, Array]:
    encoded = column.dictionary_encode()  # all chunks share one dictionary
    if encoded.num_chunks == 0:
        return pa.array([], pa.string()), np.empty(0, np.int64)
    return _sorted(encoded.chunk(0).dictionary, np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks]))


def _sorted(values: pa.Array, codes: Array) -> tuple[pa.Array, Array]:
    """The values in increasing order, and the codes into them."""
    order = pc.sort_indices(values).to_numpy().astype(np.int64)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return values.take(pa.array(order)), rank[codes]
