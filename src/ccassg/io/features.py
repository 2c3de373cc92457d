"""What is known about the nodes: features and labels from node tables, matrices and label files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from ccassg.graph import Features
from ccassg.graph.scaling import Scaling, scale_matrix
from ccassg.io import tables
from ccassg.io.arrays import MATRIX_SUFFIXES, read_matrix, read_vector
from ccassg.io.encode import TEXT_DIM, columns_of, encode_columns
from ccassg.io.files import suffix_of
from ccassg.io.ids import encode, first_repeated, flat, id_column, positions, settle
from ccassg.io.tables import FrameTable, Table, shown


@dataclass(frozen=True, eq=False)
class Nodes:
    """Rows of a node table or matrix, under the user's ids.

    Attributes
    ----------
    name : str
        The file, for messages.
    n_rows : int
    ids : pyarrow.ChunkedArray of shape (n_rows,), or None
        None means that rows stand in the order of the nodes 0 .. n - 1.
    from_text : bool
        Whether ids were read as text, so that digits may mean integers.
    features : float32 array or CSR array of shape (n_rows, n_features), or None
    feature_names : tuple of str, or None
        None for matrices, whose columns have no names.
    scaling : Scaling, or None
        How the features were scaled, if they were.
    labels : pyarrow.ChunkedArray of shape (n_rows,), or None
        As written; see `encode_labels`.
    label_place : (Table, str), or None
        Where the labels stand, for messages.
    notes : list of str
    """

    name: str
    n_rows: int
    ids: pa.ChunkedArray | None
    from_text: bool = False
    features: Features | None = None
    feature_names: tuple[str, ...] | None = None
    scaling: Scaling | None = None
    labels: pa.ChunkedArray | None = None
    label_place: tuple[Table, str] | None = None
    notes: list[str] = field(default_factory=list)


def read_nodes(
    source: Any,
    *,
    ids: Any = None,
    edge_ids: pa.Array | None = None,
    id_column: str | int | None = None,
    feature_columns: Sequence[str | int] | None = None,
    label_column: str | int | None = None,
    guess_labels: bool = True,
    text: str = "refuse",
    text_dim: int = TEXT_DIM,
    like: Sequence[str] | None = None,
    scale: bool | Scaling = False,
    header: bool | None = None,
    encoding: str = "utf-8",
) -> Nodes:
    """Read features, and labels if they stand in the same table.

    Parameters
    ----------
    source : path-like, frame or Table
        A table (CSV, TSV, text, Parquet) with one row per node, or a matrix (``.npy``, SciPy ``.npz``).
    ids : path-like
        For a matrix: the id of each row, one a line, or a ``.npy``, ``.json`` or table with an id column. Without it rows
        stand in the order of the nodes 0 .. n - 1.
    edge_ids : pyarrow.Array
        The ids the edges name; they tell whether a table's first column holds ids.
    id_column : str or int
        By default a column named ``id``, ``node``, ``node_id``, ..., else the first one if ids of edges stand in it.
    feature_columns : sequence of str or int
        Which columns are features; by default all but ids and labels.
    label_column : str or int
        By default one named ``label``, ``class`` or ``y``, so that a label does not slip in among the features.
    guess_labels : bool
        Whether to look for such a column.
    text, text_dim, like, scale
        See `encode_columns`; a dense matrix is scaled as columns of numbers are, a sparse one stays as it is.
    header, encoding
        Of text files; see `ccassg.io.tables.open_table`.

    Returns
    -------
    Nodes
    """
    if text not in ("refuse", "hash"):
        raise ValueError(f"text must be 'refuse' or 'hash', got {text!r}")
    if not isinstance(scale, bool | Scaling):
        raise ValueError(f"scale must be True, False or the `scaling` of another graph, got {scale!r}")
    if scale is True and like is not None:
        raise ValueError("scale=True goes by the new nodes' own numbers; give the `scaling` of the graph trained on")
    if tables.is_path(source) and suffix_of(source) in MATRIX_SUFFIXES:
        return _of_matrix(source, ids, scale, header, encoding)
    if ids is not None:
        raise ValueError(
            f"{source} is a table and has its ids in a column (`id_column`); an ids file goes with .npy and .npz"
        )
    table = source if isinstance(source, FrameTable) else open_nodes(source, header, encoding, edge_ids)
    names_id, data = _pick_id_column(table, id_column, edge_ids)
    if label_column is not None:
        label: str | None = tables.find_column(table, label_column, "labels", "label_column")
    else:
        label = tables.guess_column(table, [n for n in tables.LABEL if n != names_id]) if guess_labels else None
        if label is not None:
            table.notes.append(f"{table}: took column {label!r} as labels, not as a feature")
    chosen = _feature_columns(table, feature_columns, like, names_id, label)
    needed = [name for name in dict.fromkeys([*chosen, label]) if name is not None]
    if needed:
        data = table.read(
            [*needed, *([names_id] if names_id is not None else [])],
            as_text=[n for n in (names_id, label) if n is not None],
        )
    found_ids = None if names_id is None else unique_ids(table, names_id, data[names_id])
    features = feature_names = scaling = None
    if chosen or like:
        features, feature_names, scaling = encode_columns(
            table, data, chosen, text=text, text_dim=text_dim, like=like, scale=scale
        )
    return Nodes(
        name=str(table),
        n_rows=data.num_rows,
        ids=found_ids,
        from_text=table.is_text,
        features=features,
        feature_names=feature_names,
        scaling=scaling,
        labels=data[label] if label is not None else None,
        label_place=(table, label) if label is not None else None,
        notes=table.notes,
    )


def read_ids(source: Any, *, header: bool | None = None, encoding: str = "utf-8") -> tuple[pa.ChunkedArray, bool]:
    """Read a file of ids, all different; also whether they came from text."""
    vector = read_vector(source) if tables.is_path(source) else None
    if vector is not None:
        table: Table = FrameTable(pa.table({"id": vector}), str(source))
    else:
        table = open_nodes(source, header, encoding)
    guess = tables.guess_column(table, tables.ID)
    name = table.names[0] if guess is None else guess
    data = table.read([name], as_text=[name])
    return unique_ids(table, name, data[name]), table.is_text


def open_nodes(source: Any, header: bool | None, encoding: str, known_ids: pa.Array | None = None) -> Table:
    """Open a node table; a first line that begins with a known id holds no column names."""
    table = tables.open_table(
        source, known_names=tables.NODE_NAMES, header=header, encoding=encoding, what="the node table"
    )
    if not table.unsure_header or known_ids is None or pa.types.is_integer(known_ids.type):
        return table
    if positions(pa.array(table.names[:1], known_ids.type), known_ids)[0] >= 0:
        return tables.open_table(source, header=False, encoding=encoding)
    return table


def _of_matrix(source: Any, ids: Any, scale: bool | Scaling, header: bool | None, encoding: str) -> Nodes:
    matrix = read_matrix(source)
    notes: list[str] = []
    scaling = scale_matrix(str(source), matrix, scale, notes)
    n_rows = int(matrix.shape[0])
    if ids is None:
        return Nodes(str(source), n_rows, None, features=matrix, scaling=scaling, notes=notes)
    names, from_text = read_ids(ids, header=header, encoding=encoding)
    if len(names) != n_rows:
        raise ValueError(f"{ids} has {len(names):,} ids, but {source} has {n_rows:,} rows; give one id for each row")
    return Nodes(str(source), n_rows, names, from_text, features=matrix, scaling=scaling, notes=notes)


def named_id_column(table: Table, name: str | int | None) -> str | None:
    """The column of ids by the user's word or by its name."""
    if name is not None:
        return tables.find_column(table, name, "ids", "id_column")
    return tables.guess_column(table, tables.ID)


def _pick_id_column(table: Table, name: str | int | None, edge_ids: pa.Array | None) -> tuple[str | None, pa.Table]:
    """The column of ids, or None if rows stand in order; and the data read to find out."""
    found = named_id_column(table, name)
    first = table.names[0] if found is None else found
    data = table.read([first], as_text=[first])
    if found is not None or edge_ids is None:
        return first, data
    try:
        candidates = id_column(table, first, data[first])
        both = settle([pa.chunked_array([edge_ids]), candidates], [True, table.is_text])
        share = (positions(flat(both[0]), flat(both[1])) >= 0).mean()
        repeated = first_repeated(flat(both[1]))
    except ValueError:
        share, repeated = 0.0, None
    if share > 0 and repeated is None:
        if not first.startswith("column "):
            table.notes.append(f"{table}: took its first column, {first!r}, as ids")
        return first, data
    n_rows = data.num_rows
    if (
        pa.types.is_integer(edge_ids.type)
        and int(edge_ids[len(edge_ids) - 1].as_py()) < n_rows
        and edge_ids[0].as_py() >= 0
    ):
        table.notes.append(f"{table}: no column of ids, so row i belongs to node i (`id_column` names one)")
        return None, data
    raise ValueError(
        f"{table}: no column holds the ids that the edges name, such as {shown(edge_ids[0].as_py())}; name it with `id_column` "
        f"(there are {tables.listed(table.names)})"
    )


def _feature_columns(
    table: Table,
    chosen: Sequence[str | int] | None,
    like: Sequence[str] | None,
    names_id: str | None,
    label: str | None,
) -> list[str]:
    if chosen is not None:
        names = [tables.find_column(table, name, "features", "feature_columns") for name in chosen]
        if len(set(names)) < len(names):
            raise ValueError(f"{table}: `feature_columns` names a column twice: {tables.listed(names)}")
        return names
    names = [name for name in table.names if name not in (names_id, label)]
    if like is None:
        return names
    return columns_of(like, names)


def unique_ids(table: Table, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Ids of a column, all different; ValueError with the place of the first repeated one."""
    found = id_column(table, name, column)
    settled = settle([found], [table.is_text])[0]
    values, _ = encode([settled])
    if len(values) < len(found):
        repeated = first_repeated(flat(settled))
        assert repeated is not None
        row, value = repeated
        raise ValueError(
            f"{table}, column {name!r}, {table.place(row)}: the id {shown(value)} was there before; keep one row"
        )
    return found
