"""Read what is known about the nodes: features, and perhaps labels, from a node table, a list of features or a matrix."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from ccassg.graph import FeatureSpace
from ccassg.graph.checks import check_features
from ccassg.graph.scaling import as_scaling, means_and_deviations, scale_columns
from ccassg.io import columns, tables
from ccassg.io.arrays import Matrix, is_matrix, read_matrix, read_vector
from ccassg.io.blocks import says_scaled, spread_of_matrix
from ccassg.io.encode import Encoded, columns_of, encode_columns, first_of
from ccassg.io.files import require_room
from ccassg.io.ids import as_ids, number_ids, positions, unique_ids
from ccassg.io.open_table import open_table
from ccassg.io.tables import (
    READING,
    FrameTable,
    Learned,
    NodeRows,
    ParquetTable,
    Reading,
    Table,
    counted,
    shown,
)

# The way out where a table of two or three columns names a node in several rows.
LISTED = "call the columns node_id,feature_id,value if a row is one feature of a node, else keep one row a node"


def read_nodes(
    source: Any,
    *,
    ids: Any = None,
    edge_ids: pa.Array | None = None,
    id_column: str | int | None = None,
    feature_columns: Sequence[str | int] | None = None,
    label_column: str | int | None = None,
    guess_labels: bool = True,
    keep: Sequence[str] | None = None,
    like: FeatureSpace | None = None,
    scale: bool | None = None,
    reading: Reading = READING,
) -> NodeRows:
    """Read features, and labels if they stand in the same table; options as in `read_graph`.

    The source is a table with one row per node, or one per feature of a node (`read_listed`), or a matrix (``.npy``, SciPy
    ``.npz``, ``.mtx``), whose ``ids`` are a file of their own.
    The ids that the edges name, ``edge_ids``, tell whether a table's first column holds ids. A dense matrix is scaled as
    columns of numbers are, but never unasked if it is mostly zeros or looks like principal components; a sparse one stays.
    """
    if not isinstance(scale, bool | None):
        raise ValueError(f"scale must be True, False or None, got {tables.shown(scale)}")
    if scale and like is not None:
        raise ValueError(
            "scale=True goes by the new nodes' own numbers; leave it out, the model knows those of training"
        )
    if is_matrix(source):
        return _of_matrix(source, ids, False if like is not None else scale, reading)
    if ids is not None:
        raise ValueError(
            f"{source} is a table and has its ids in a column (`id_column`); an ids file goes with matrices (.npy, .npz, .mtx)"
        )
    table = open_nodes(source, reading, edge_ids)
    if isinstance(table, ParquetTable):
        require_room(table.path, table.n_rows, f"claims {table.n_rows:,} rows")
    listed = columns.listed_features(table)
    if listed is not None and feature_columns is None and id_column in (None, listed[0]):
        return read_listed(table, listed, edge_ids, like)
    names_id, found_ids, n_rows = choose_ids(table, id_column, edge_ids)
    label = columns.label_column(table, label_column, names_id) if guess_labels or label_column is not None else None
    kept = [
        columns.find_column(table, name, "features", "keep")
        for name in ((keep,) if isinstance(keep, str) else keep or ())
    ]
    if taken := next((name for name in kept if name in (names_id, label)), None):
        raise ValueError(f"{table}: column {taken!r} holds the ids or labels and cannot be a feature as well (`keep`)")
    chosen = _feature_columns(table, feature_columns, like, (names_id, label))
    wanted = chosen if label is None else [*chosen, label]
    data = table.columns(wanted, as_text=[] if label is None else [label]) if wanted else {}
    encoded = Encoded()
    if data or like is not None:
        named = kept if feature_columns is None else chosen
        encoded = encode_columns(table, data, chosen, keep=named, like=like, scale=scale)
    if like is None:
        table.notes.insert(0, _says_learned(table, encoded, names_id, label, warn=guess_labels))
    return NodeRows(
        name=str(table),
        n_rows=n_rows,
        ids=found_ids,
        features=encoded.features,
        feature_names=encoded.names,
        scaling=encoded.scaling,
        idf=encoded.idf,
        labels=None if label is None else data[label],
        notes=table.notes,
    )


def open_nodes(source: Any, reading: Reading, known_ids: pa.Array | None = None) -> Table:
    """Open a node table; a first line that begins with a known id holds no column names."""
    table = open_table(source, reading, known_names=columns.NODE_NAMES, what="the node table")
    if not table.unsure_header or known_ids is None or pa.types.is_integer(known_ids.type):
        return table
    if positions(pa.array(table.names[:1], known_ids.type), known_ids)[0] >= 0:
        return open_table(source, reading._replace(header=False))
    return table


def _of_matrix(source: Any, ids: Any, scale: bool | None, reading: Reading) -> NodeRows:
    in_memory = isinstance(source, Matrix)
    matrix = check_features(source.values) if in_memory else read_matrix(source)
    notes: list[str] = []
    scaling = None
    spread = spread_of_matrix(matrix) if scale is not False and isinstance(matrix, np.ndarray) else None
    if spread is not None:
        notes.append(says_scaled(source, spread))
    if isinstance(matrix, np.ndarray) and (scale or spread is not None):
        matrix = matrix.copy() if in_memory else matrix  # it may be the user's own
        means, deviations = means_and_deviations(matrix)
        scale_columns(matrix, means, deviations)
        scaling = as_scaling(means, deviations)
    elif scale:
        notes.append(f"{source} is sparse and stays as it is; `scale` is for dense columns")
    n_rows = int(matrix.shape[0])
    names = None if ids is None else _read_ids(ids, reading)
    if names is not None and len(names) != n_rows:
        raise ValueError(f"{ids} has {len(names):,} ids, but {source} has {n_rows:,} rows; give one id for each row")
    feature_names = source.names if in_memory else None
    return NodeRows(str(source), n_rows, names, matrix, feature_names, scaling, notes=notes)


def _read_ids(source: Any, reading: Reading) -> pa.Array:
    """Read a file of ids, all different."""
    vector = read_vector(source) if tables.is_path(source) else None
    if vector is not None:
        table: Table = FrameTable(pa.table({"id": vector}), str(source))
    else:
        table = open_nodes(source, reading)
    name = columns.id_column(table) or table.names[0]
    return unique_ids(table.columns([name], as_text=[name])[name])


def choose_ids(
    table: Table, name: str | int | None, edge_ids: pa.Array | None
) -> tuple[str | None, pa.Array | None, int]:
    """Return the column of ids and these, or twice None if rows stand in order; and how many rows there are."""
    found = columns.id_column(table, name)
    first = table.names[0] if found is None else found
    column = table.columns([first], as_text=[first])[first]
    n_rows = len(column.values)
    if found is not None or edge_ids is None:
        return (
            first,
            unique_ids(column, way_out="keep one row" if len(table.names) > 3 else LISTED),
            n_rows,
        )
    try:
        ids = as_ids(column)
    except ValueError:  # the column may hold anything
        ids = edge_ids[:0]
    if pc.count_distinct(ids).as_py() == len(ids) and (positions(edge_ids, ids) >= 0).any():
        if not first.startswith("column "):
            table.notes.append(f"{table}: took its first column, {first!r}, as ids")
        return first, ids, len(ids)
    if len(table.names) in (2, 3) and len(ids) > len(edge_ids) and (positions(ids, edge_ids) >= 0).all():
        raise ValueError(f"{table}: column {first!r} names nodes of the edges, some of them in several rows; {LISTED}")
    if pa.types.is_integer(edge_ids.type) and edge_ids[0].as_py() >= 0 and edge_ids[-1].as_py() < n_rows:
        table.notes.append(f"{table}: no column of ids, so row i belongs to node i (`id_column` names one)")
        return None, None, n_rows
    raise ValueError(
        f"{table}: no column holds the ids that the edges name, such as {shown(edge_ids[0].as_py())}; name it with `id_column` "
        f"(there are {tables.listed(table.names)})"
    )


def _says_learned(table: Table, encoded: Encoded, ids: str | None, label: str | None, warn: bool) -> Learned:
    """Say which columns are features, and which are ids and labels; ``warn`` that some may tell what is to be predicted."""
    said = f"{table}: learns from none of its columns"
    if encoded.names is not None:
        n_features = tables.counted(len(encoded.names), "feature", "features")
        said = f"{table}: learns from {n_features}: {first_of(encoded.described)}"
    said += "".join(f"; {what} in {name!r}" for what, name in (("ids", ids), ("labels", label)) if name is not None)
    if warn and label is None and any(mark in name for name in encoded.names or () for mark in "=#"):
        said += "; what you want to predict must not be among them: name it with `label_column`"
    return Learned(said)


def _feature_columns(
    table: Table,
    chosen: Sequence[str | int] | None,
    like: FeatureSpace | None,
    others: Sequence[str | None],
) -> list[str]:
    """Return the columns to encode: those the user named, those that ``like`` came from, or all but ids and labels."""
    if chosen is None:
        names = [name for name in table.names if name not in others]
        return names if like is None else columns_of(like.names or (), names)
    names = [columns.find_column(table, name, "features", "feature_columns") for name in chosen]
    if len(set(names)) < len(names):
        raise ValueError(f"{table}: `feature_columns` names a column twice: {tables.listed(names)}")
    return names


def read_listed(
    table: Table, names: tuple[str, str, str | None], edge_ids: pa.Array | None, like: FeatureSpace | None
) -> NodeRows:
    """Read the columns of node, feature and value (1 where there is none); nodes that only the edges name have no feature.

    With ``like``, features are those of training, and others are left out.
    """
    node, feature, value = names
    data = table.columns([name for name in names if name is not None], as_text=[node, feature])
    has_one = data[feature].values.is_valid()  # JSON may list a node without any
    ids = as_ids(data[node])
    features = as_ids(data[feature]._replace(values=data[feature].values.filter(has_one)))
    values = np.ones(len(ids)) if value is None else columns.numbers(data[value], "a feature's value")
    in_edges = ids[:0] if edge_ids is None else edge_ids
    all_ids, codes = number_ids(ids, in_edges)
    rows, ends = codes[: len(ids)], codes[len(ids) :]
    if len(ends) and not np.isin(ends, rows).any():
        raise ValueError(
            f"{table} lists no feature of the nodes that the edges name, such as {shown(in_edges[0].as_py())}, but those of "
            f"{shown(ids[0].as_py())} and others; check its column {node!r}"
        )
    distinct, cols = number_ids(features)
    made = [str(name) for name in distinct.to_pylist()]
    notes = list(table.notes)
    if like is None:
        said = "" if value is None else f", value {value!r}"
        counts = f"{counted(len(made), 'feature', 'features')}: {first_of([shown(name) for name in made])}"
        notes.insert(
            0, Learned(f"{table}: learns from {counts}; a row lists one of a node ({node!r}, {feature!r}{said})")
        )
    else:
        place = positions(pa.array(made, pa.large_string()), pa.array(like.names or (), pa.large_string()))
        if n_unknown := int((place < 0).sum()):
            notes.append(f"{table}: left out {counted(n_unknown, 'feature', 'features')} unknown in training")
        made, cols = list(like.names or ()), place[cols]
    if n_without := len(all_ids) - len(np.unique(rows[has_one.to_numpy()])):
        notes.append(f"{table}: {counted(n_without, 'node has', 'nodes have')} no feature")
    kept = cols >= 0
    entries = values[has_one.to_numpy()][kept], (rows[has_one.to_numpy()][kept], cols[kept])
    matrix = check_features(sp.csr_array(sp.coo_array(entries, shape=(len(all_ids), len(made)))))
    return NodeRows(str(table), len(all_ids), all_ids, matrix, tuple(made), notes=notes)
