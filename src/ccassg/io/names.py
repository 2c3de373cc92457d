"""What the node table of a run says of nodes, beside their ids: names, and columns to colour a map by."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ccassg.graph import Array
from ccassg.io import columns
from ccassg.io.features import choose_ids, open_nodes
from ccassg.io.files import Reading, read_json, suffix_of
from ccassg.io.ids import flat, id_array, positions, unique_ids
from ccassg.io.tables import PARQUET_SUFFIXES, TEXT_SUFFIXES, Table, is_string, listed, plain

NAME = ("name", "title", "names", "words", "word", "term", "username", "user_name", "screen_name", "full_name")
# More different texts are no groups that a map could show.
MAX_TEXTS = 1_000
# What reading a table may end with: anyone may have written what says how it is read.
REFUSED = (ValueError, OSError, TypeError, LookupError)


def read_names(
    embeddings: Path, ids: Array, table: Path | None = None, *, column: str | None = None
) -> list[str | None] | None:
    """Read a name for each of some ids: from a table, else from the node table that the run in the folder names, if it is there.

    None where nothing holds names; ValueError if a table or a column was named that does not.
    """
    source, read = _table_of(embeddings) if table is None else (table, {})
    if source is None and column is not None:
        raise ValueError(f"{embeddings} does not say which table has a column {column!r}; name the table")
    try:
        return None if source is None else _names(*_open(source, read, ids), ids, column)
    except REFUSED:
        if table is not None or column is not None:
            raise
        return None  # nobody asked for it


def read_columns(embeddings: Path, ids: Array, most: int) -> tuple[dict[str, Any], list[str]]:
    """Read up to ``most`` columns of the node table that the run in a folder names, for each of some ids, but those of ids and labels.

    Numbers are float64, NaN where a cell is empty; anything else is text, None where it is. Nothing where there is no such table.
    Also returns, in a sentence, which columns were left out.
    """
    source, read = _table_of(embeddings)
    try:
        if source is None:
            return {}, []
        table, own = _open(source, read, ids)
        label = None if read.get("labels") else columns.label_column(table, read.get("label_column"), own)
        others = [name for name in table.names if name not in (own, label)]
        data = _rows(table, own, ids, others[:most])
    except REFUSED as error:  # nobody asked for it
        return {}, [f"no column of {source} colours the map: {error}"]
    found = {name: values for name in others[:most] if (values := _values(data[name])) is not None}
    left = [name for name in others if name not in found]
    return found, [f"{table}: these columns colour no map: {listed(left)}"] if left else []


def _values(column: pa.ChunkedArray) -> Any:
    """Return a column's numbers or texts; None where it shows no groups: empty, nested, or another text in nearly every row."""
    column, n = plain(column), len(column) - column.null_count
    if n and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy()
    groups = is_string(column.type) or pa.types.is_boolean(column.type) or pa.types.is_temporal(column.type)
    if not n or not groups:
        return None
    texts = column.cast(pa.large_string())
    return texts.to_pylist() if pc.count_distinct(texts).as_py() <= min(MAX_TEXTS, max(2, n // 2)) else None


def _names(table: Table, own: str | None, ids: Array, column: str | None) -> list[str | None] | None:
    if column is not None:
        name: str | None = columns.find_column(table, column, "names", "name_column")
    else:
        name = columns.guess_column(table, NAME, but=(None if own is None else own.lower(),))
    if name is None:
        return None
    named: list[str | None] = _rows(table, own, ids, [name], as_text=[name])[name].cast(pa.large_string()).to_pylist()
    return named


def _open(source: Path, read: dict[str, Any], ids: Array) -> tuple[Table, str | None]:
    """Open a node table as a run read it, and choose its column of ids, None where its rows are in order."""
    table = open_nodes(source, Reading(encoding=read.get("encoding", "utf-8")), id_array(ids))
    return table, choose_ids(table, read.get("id_column"), id_array(ids))[0]


def _rows(table: Table, own: str | None, ids: Array, names: list[str], as_text: Sequence[str] = ()) -> pa.Table:
    """Read columns, a row for each of some ids, empty where the table has none."""
    keys = [] if own is None else [own]
    data = table.read(list(dict.fromkeys([*keys, *names])), as_text=[*keys, *as_text])
    known = pa.array(np.arange(data.num_rows)) if own is None else flat(unique_ids(table, own, data[own]))
    place = positions(id_array(ids).cast(pa.large_string()), known.cast(pa.large_string()))
    return data.take(pa.array(place, mask=place < 0))


def _table_of(embeddings: Path) -> tuple[Path | None, dict[str, Any]]:
    """Return the node table that the run in a folder was made of, where it is one and still there, and how it was read."""
    try:
        read: Any = read_json(embeddings / "run.json")["read_from"]
        folder, features = Path(read["graph"]), read.get("features")
    except (OSError, ValueError, KeyError, TypeError):
        return None, {}
    candidates = (
        [Path(features)] if isinstance(features, str) else sorted(folder.glob("nodes.*")) if folder.is_dir() else []
    )
    tables = (path for path in candidates if path.is_file() and suffix_of(path) in (*TEXT_SUFFIXES, *PARQUET_SUFFIXES))
    return next(tables, None), read
