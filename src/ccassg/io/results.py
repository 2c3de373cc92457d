"""What a run or an embedding file says of its nodes: embeddings with labels, names, and columns to colour a map by."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ccassg.graph import Array
from ccassg.io import columns
from ccassg.io.embeddings import read_embeddings
from ccassg.io.features import choose_ids, open_nodes
from ccassg.io.files import read_json, suffix_of
from ccassg.io.folders import RUN, require_whole
from ccassg.io.ids import id_array, positions
from ccassg.io.labels import match_labels, read_labels
from ccassg.io.tables import PARQUET_SUFFIXES, TEXT_SUFFIXES, ParquetTable, Reading, is_string, listed, plain

# What a run's folder calls its files.
EMBEDDING, NODES = "embedding.parquet", "nodes.parquet"
NAME = ("name", "title", "names", "words", "word", "term", "username", "user_name", "screen_name", "full_name")
# More different texts are no groups that a map could show.
MAX_TEXTS = 1_000
# What reading a table may end with: anyone may have written what says how it is read.
REFUSED = (ValueError, OSError, TypeError, LookupError)


class Labelled(NamedTuple):
    """Embeddings (n, d), ids (n,), classes (n,) and their names, and how many ids of the labels are of no node."""

    z: Array
    ids: Array
    y: Array | None = None
    names: tuple[str, ...] | None = None
    n_unknown: int = 0


def read_labelled(
    path: Path, labels: Path | None = None, *, id_column: str | None = None, label_column: str | None = None
) -> Labelled:
    """Read embeddings, ids, classes and class names of an embedding file or a run's folder.

    Labels come from the file ``labels``, else from the run itself, else there are none.
    """
    if not path.exists():
        raise ValueError(f"{path}: there is no such file or folder; ccassg fit and ccassg embed write embeddings")
    file = path / EMBEDDING if path.is_dir() else path
    if path.is_dir() and not file.exists():
        raise ValueError(
            f"{path} holds no {EMBEDDING}; if a model was saved there, make one with: ccassg embed {path} GRAPH -o {file}"
        )
    if (path / RUN).exists():
        require_whole(path)
    z, ids = read_embeddings(file)
    if labels is None:
        labels = path / NODES
        if not path.is_dir() or not labels.exists() or "label" not in ParquetTable(labels).names:
            return Labelled(z, ids)
        id_column, label_column = "id", "label"
    node_ids = id_array(ids)
    rows = read_labels(labels, node_ids=node_ids, id_column=id_column, label_column=label_column)
    return Labelled(z, ids, *match_labels(rows, node_ids, str(path)))


def find_id(ids: Array, name: str) -> int:
    """Return the position of a node by its id, written as text."""
    found = int(positions(pa.array([name]), id_array(ids))[0])
    if found < 0:
        example = ", ".join(str(i)[:60] for i in ids[:3].tolist())
        raise ValueError(f"there is no node {name!r}; ids look like {example}")
    return found


def read_names(
    embeddings: Path, ids: Array, table: Path | None = None, *, column: str | None = None
) -> list[str | None] | None:
    """Read a name for each of some ids: from a table, else from the node table that the run in the folder names, if it is there.

    None where nothing holds names; ValueError if a table or a column was named that does not.
    """
    source, read = _table_of(embeddings) if table is None else (table, {})
    if source is None and column is not None:
        raise ValueError(f"{embeddings} does not say which table has a column {column!r}; name the table")
    if source is None:
        return None
    try:
        nodes = _Nodes(source, read, ids)
        own = () if nodes.id_column is None else (nodes.id_column.lower(),)
        if column is not None:
            column = columns.find_column(nodes.table, column, "names", "name_column")
        name = column or columns.guess_column(nodes.table, NAME, but=own)
        return None if name is None else nodes.read([name], [name])[name].cast(pa.large_string()).to_pylist()
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
        nodes = _Nodes(source, read, ids)
        table, own = nodes.table, nodes.id_column
        label = None if read.get("labels") else columns.label_column(table, read.get("label_column"), own)
        others = [name for name in table.names if name not in (own, label)]
        data: Any = nodes.read(others[:most]) if others else None
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


class _Nodes:
    """A node table that a run was made of, and which of its rows belongs to each of some ids."""

    def __init__(self, source: Path, read: dict[str, Any], ids: Array) -> None:
        wanted = id_array(ids)
        self.table = open_nodes(source, Reading(encoding=read.get("encoding", "utf-8")), wanted)
        self.id_column, known, n_rows = choose_ids(self.table, read.get("id_column"), wanted)
        self._place = positions(wanted, pa.array(np.arange(n_rows)) if known is None else known)

    def read(self, names: list[str], as_text: Sequence[str] = ()) -> pa.Table:
        """Read columns, a row for each of the ids, empty where the table has none."""
        return self.table.read(names, as_text).take(pa.array(self._place, mask=self._place < 0))


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
