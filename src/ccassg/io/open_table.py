"""Open a table wherever it is: the one place that decides which reader takes a file or a frame, and the reader of JSON.

JSON is a line or an object for each row, or an object of ids, each with a row or with a list of its features.
"""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ccassg.io.arrays import parse_integer
from ccassg.io.files import Meter, PathLike, one_sentence, open_bytes, require_budget, suffix_of, vetted
from ccassg.io.tables import (
    JSON_SUFFIXES,
    PARQUET_SUFFIXES,
    READING,
    TEXT_SUFFIXES,
    FrameTable,
    ParquetTable,
    Reading,
    Table,
    is_frame,
)
from ccassg.io.text import TextTable
from ccassg.io.whitespace import read_line

OBJECT_BYTES = 32  # what a byte of JSON may become as an object of Python
CELL_BYTES = 16  # a cell, given or not, while rows become columns


def open_table(
    source: Any, reading: Reading = READING, *, known_names: Collection[str] = (), what: str = "the table"
) -> Table:
    """Open a file by its suffix (CSV, TSV, whitespace text, JSON, gzipped or not, Parquet), or take a frame or pyarrow table.

    A first line with one of the (lower-case) ``known_names`` is a header, if nothing is told of one; messages call a
    frame ``what``.
    """
    if isinstance(source, Table):
        return source
    frame = _frame_to_arrow(source, what)
    if frame is not None:
        return FrameTable(frame, what)
    path = Path(source)
    suffix = suffix_of(path)
    if suffix in PARQUET_SUFFIXES:
        return ParquetTable(path)
    if suffix in JSON_SUFFIXES:
        return open_json(path)
    if suffix not in TEXT_SUFFIXES:
        raise ValueError(
            f"{path}: no reader for the suffix {suffix!r}; tables are {', '.join((*TEXT_SUFFIXES[:4], *JSON_SUFFIXES))} (or "
            f"these with .gz) and {', '.join(PARQUET_SUFFIXES)}, so save the file as one of these"
        )
    return TextTable(path, reading, known_names)


def _frame_to_arrow(source: Any, what: str) -> pa.Table | None:
    """Turn a frame into a pyarrow table, without importing the library it comes from; None for anything else."""
    if isinstance(source, pa.Table):
        return source
    if not is_frame(source):
        return None
    with one_sentence(what):
        if hasattr(source, "to_arrow") or hasattr(source, "collect"):  # Polars
            return (source.collect() if hasattr(source, "collect") else source).to_arrow()
        # A named or non-trivial index holds ids more often than not; a plain 0, 1, 2, ... is no column.
        plain = source.index.name is None and type(source.index).__name__ == "RangeIndex"
        frame = source if plain else source.reset_index(names=source.index.name or "index")
        frame = frame.rename(columns=str)
        return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)


def open_json(path: PathLike) -> FrameTable:
    """Read a ``.json``, ``.jsonl`` or ``.ndjson`` file, perhaps gzipped; lists of features become rows of node and feature."""
    with vetted(path, "text") as file:
        if suffix_of(file) != ".json":
            return _of_rows(str(file), _read_lines(str(file)))
        with open_bytes(file) as stream:
            content = stream.read()
        Meter(file, "parsed").add(OBJECT_BYTES * len(content))
        found = json.loads(content, parse_int=parse_integer)
        if isinstance(found, dict) and found and all(isinstance(value, dict) for value in found.values()):
            found = [{"id": name} | row for name, row in found.items()]
        if isinstance(found, list) and found and all(isinstance(row, dict) for row in found):
            return _of_rows(str(file), found)
        if isinstance(found, dict) and found and all(isinstance(value, list) for value in found.values()):
            return _of_lists(str(file), found)
        raise ValueError(
            f'{file}: expected features as {{"ann": [3, 17], ...}} or rows as [{{"id": "ann", "age": 7}}, ...], none of them empty'
        )


def column_of(values: list[Any]) -> pa.Array | None:
    """Return values of Python as a column, mixtures of numbers and text as text; None for what is no feature."""
    values = [value.tolist() if hasattr(value, "tolist") else value for value in values]
    try:
        column = pa.array(values)
    except (pa.ArrowException, OverflowError):
        if any(not isinstance(value, (str, int, float, type(None))) for value in values):
            return None
        return pa.array([None if value is None else str(value) for value in values])
    return None if pa.types.is_struct(column.type) or pa.types.is_null(column.type) else column


def _read_lines(name: str) -> list[dict[str, Any]]:
    """Read one object a line; blank lines do not count."""
    rows: list[dict[str, Any]] = []
    meter, line = Meter(name, "parsed"), 0
    with open_bytes(name) as stream:
        while text := read_line(name, stream):
            line += 1
            meter.add(OBJECT_BYTES * len(text))
            try:
                row = json.loads(text, parse_int=parse_integer) if text.strip() else None
            except (ValueError, RecursionError) as error:
                raise ValueError(
                    f"{name}, line {line}: {getattr(error, 'msg', error)}; each line is one object"
                ) from None
            if text.strip() and not isinstance(row, dict):
                raise ValueError(f'{name}, line {line}: expected an object such as {{"id": "ann", "age": 7}}')
            rows += [row] if row is not None else []
    return rows


def _of_rows(name: str, rows: list[dict[str, Any]]) -> FrameTable:
    names = dict.fromkeys(column for row in rows for column in row)
    require_budget(name, CELL_BYTES * len(names) * len(rows), "made a table of", "write it as .csv or .parquet instead")
    columns = {column: column_of([row.get(column) for row in rows]) for column in names}
    found = {column: values for column, values in columns.items() if values is not None}
    table = FrameTable(pa.table(found), name, is_text=True)
    if left_out := [column for column in columns if column not in found]:
        table.notes.append(
            f"{name}: left out {', '.join(map(repr, left_out[:8]))}: no numbers, text or lists of numbers"
        )
    return table


def _of_lists(name: str, lists: dict[str, list[Any]]) -> FrameTable:
    """Return a row for each feature of a node, or one without for a node of none; vectors of fractions are a column of lists."""
    lengths = np.array([len(values) for values in lists.values()])
    entries = [value for values in lists.values() for value in values]
    if not all(type(value) in (int, float, str) for value in entries):
        raise ValueError(f"{name}: the lists must hold numbers or names of features, nothing else")
    ids = pa.array(list(lists), pa.string())
    if lengths.min() == lengths.max() > 0 and any(type(value) is float for value in entries):
        return FrameTable(pa.table({"id": ids, "vector": pa.array(list(lists.values()))}), name, is_text=True)
    n_bytes = int((pc.binary_length(ids).to_numpy() * lengths).sum())
    require_budget(name, n_bytes, "made a table of", "write it as .csv or .parquet instead")
    features = pa.array([value for values in lists.values() for value in values or [None]])
    nodes = ids.take(pa.array(np.repeat(np.arange(len(ids)), np.maximum(1, lengths))))
    return FrameTable(pa.table({"node_id": nodes, "feature_id": features}), name, is_text=True)
