"""Names of nodes, to read beside their ids: a column of a table, by default of the one that a run was made of."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ccassg.graph import Array
from ccassg.io import columns
from ccassg.io.files import read_json, suffix_of
from ccassg.io.ids import flat, id_array, positions, unique_ids
from ccassg.io.open_table import open_table
from ccassg.io.tables import PARQUET_SUFFIXES, TEXT_SUFFIXES

NAME = ("name", "title", "names", "words", "word", "term", "username", "user_name", "screen_name", "full_name")


def read_names(
    embeddings: Path, ids: Array, table: Path | None = None, *, id_column: str | None = None, column: str | None = None
) -> list[str | None] | None:
    """Read a name for each of some ids: from a table, else from the node table that the run in the folder names, if it is there.

    None where nothing holds names; ValueError if a table or a column was named that does not.
    """
    if table is not None or column is not None:
        source = table or _table_of(embeddings)
        if source is None:
            raise ValueError(f"{embeddings} does not say which table has a column {column!r}; name the table")
        return _names(source, ids, id_column, column)
    source = _table_of(embeddings)
    try:
        return None if source is None else _names(source, ids, id_column, None)
    except (ValueError, OSError):  # nobody asked for it
        return None


def _names(source: Path, ids: Array, id_column: str | None, column: str | None) -> list[str | None] | None:
    table = open_table(source, known_names=columns.NODE_NAMES)
    own = columns.id_column(table, id_column)
    if column is not None:
        name: str | None = columns.find_column(table, column, "names", "name_column")
    else:
        name = columns.guess_column(table, NAME, but=(None if own is None else own.lower(),))
    if name is None:
        return None
    data = table.read([name] if own is None else [own, name], as_text=[name])
    texts = data[name].cast(pa.large_string()).combine_chunks()
    known = pa.array(np.arange(len(texts))) if own is None else flat(unique_ids(table, own, data[own]))
    place = positions(id_array(ids).cast(pa.large_string()), known.cast(pa.large_string()))
    named: list[str | None] = texts.take(pa.array(place, mask=place < 0)).to_pylist()
    return named


def _table_of(embeddings: Path) -> Path | None:
    """Return the node table that the run in a folder was made of, where it is one and still there."""
    try:
        read: Any = read_json(embeddings / "run.json")["read_from"]
        folder, features = Path(read["graph"]), read.get("features")
    except (OSError, ValueError, KeyError, TypeError):
        return None
    candidates = (
        [Path(features)] if isinstance(features, str) else sorted(folder.glob("nodes.*")) if folder.is_dir() else []
    )
    return next(
        (path for path in candidates if path.is_file() and suffix_of(path) in (*TEXT_SUFFIXES, *PARQUET_SUFFIXES)), None
    )
