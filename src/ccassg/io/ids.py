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
    """A column as ids: integers of 64 bits, or dictionary-encoded strings; ValueError with the place otherwise.

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
    digits = [
        _as_integers(c) if text and not pa.types.is_integer(c.type) else None
        for c, text in zip(columns, from_text, strict=True)
    ]
    settled = [c if d is None else d for c, d in zip(columns, digits, strict=True)]
    if len({pa.types.is_integer(c.type) for c in settled}) == 1:
        return settled
    return [c if pa.types.is_dictionary(c.type) else c.cast(pa.string()).dictionary_encode() for c in columns]


def encode(columns: Sequence[pa.ChunkedArray]) -> tuple[pa.Array, Array]:
    """Number the ids of several columns together.

    Parameters
    ----------
    columns : sequence of pyarrow.ChunkedArray
        All of integers or all of dictionary-encoded strings, as `settle` gives them.

    Returns
    -------
    ids : pyarrow.Array of shape (n,)
        The different ids in increasing order.
    codes : int64 array
        The positions in ``ids`` of all entries, column after column.
    """
    together = pa.chunked_array([chunk for column in columns for chunk in column.chunks], type=columns[0].type)
    if pa.types.is_integer(together.type):
        return _encode_integers(together)
    return _encode_dictionary(together)


def positions(ids: pa.Array, among: pa.Array) -> Array:
    """For each of ``ids`` its position ``among`` the others, -1 where it is not there."""
    found = pc.index_in(ids, value_set=among)
    return found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


def flat(column: pa.ChunkedArray) -> pa.Array:
    """An id column as one plain array of integers or strings."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(pa.large_string())
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


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
    """Dictionary-encoded strings under one dictionary, trimmed if from text; an empty id is refused."""
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.large_string()).dictionary_encode()
    column = column.unify_dictionaries()
    if column.num_chunks == 0:
        return column
    values = column.chunk(0).dictionary.cast(pa.large_string())
    if values.null_count:
        raise ValueError(f"{table}, column {name!r}: an id is missing; fill it in or drop the row")
    if table.is_text:
        values = pc.utf8_trim_whitespace(values)
    empty = np.flatnonzero(pc.equal(values, "").to_numpy(zero_copy_only=False))
    if len(empty):
        codes = np.concatenate([chunk.indices.to_numpy() for chunk in column.chunks])
        rows = np.flatnonzero(codes == empty[0])
        if len(rows):
            raise ValueError(
                f"{table}, column {name!r}, {table.place(int(rows[0]))}: an id is empty; fill it in or drop the row"
            )
    chunks = [pa.DictionaryArray.from_arrays(chunk.indices, values) for chunk in column.chunks]
    return pa.chunked_array(chunks)


def _as_integers(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """The same ids as integers if they are written as integers are, else None."""
    if column.num_chunks == 0:
        return None
    values = column.chunk(0).dictionary
    try:
        integers = values.cast(pa.int64())
        if not integers.cast(values.type).equals(values):
            return None
    except pa.ArrowInvalid:
        return None
    return pa.chunked_array([integers.take(chunk.indices) for chunk in column.chunks])


def _encode_integers(column: pa.ChunkedArray) -> tuple[pa.Array, Array]:
    values = column.to_numpy()
    if not len(values):
        return pa.array([], pa.int64()), np.empty(0, np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low < 4 * len(values) + 1024:  # close together: a table of marks beats hashing
        marks = np.zeros(high - low + 1, bool)
        marks[values - low] = True
        rank = np.cumsum(marks, dtype=np.int64) - 1
        return pa.array(np.flatnonzero(marks) + low), rank[values - low]
    return _compact(pc.dictionary_encode(pa.array(values)))


def _encode_dictionary(column: pa.ChunkedArray) -> tuple[pa.Array, Array]:
    column = column.unify_dictionaries()
    if column.num_chunks == 0:
        return pa.array([], pa.large_string()), np.empty(0, np.int64)
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in column.chunks])
    return _compact(pa.DictionaryArray.from_arrays(pa.array(codes), column.chunk(0).dictionary))


def _compact(encoded: pa.DictionaryArray) -> tuple[pa.Array, Array]:
    """Sorted values that occur, and codes into them; trimming may have made entries of the dictionary equal."""
    values, codes = encoded.dictionary, encoded.indices.to_numpy()
    distinct = values.dictionary_encode()
    merged = distinct.indices.to_numpy()
    used = np.zeros(len(distinct.dictionary), bool)
    used[merged[np.flatnonzero(np.bincount(codes, minlength=len(values)))]] = True
    order = pc.sort_indices(distinct.dictionary).to_numpy()
    order = order[used[order]]
    rank = np.full(len(used), -1, np.int64)
    rank[order] = np.arange(len(order))
    return distinct.dictionary.take(pa.array(order)), rank[merged][codes]
