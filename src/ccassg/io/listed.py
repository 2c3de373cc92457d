"""Features that are listed one by one, a row for each feature of a node, become a sparse matrix with a row for each node."""

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from ccassg.graph import FeatureSpace
from ccassg.graph.checks import check_features
from ccassg.io import columns
from ccassg.io.encode import first_of
from ccassg.io.ids import as_ids, number_ids, positions
from ccassg.io.tables import Learned, NodeRows, Table, counted, shown


def read_listed(
    table: Table, names: tuple[str, str, str | None], edge_ids: pa.Array | None, like: FeatureSpace | None
) -> NodeRows:
    """Read the columns of node, feature and value (1 where there is none); nodes that only the edges name have no feature.

    With ``like``, features are those of training, and others are left out.
    """
    node, feature, value = names
    data = table.read([name for name in names if name is not None], as_text=[node, feature])
    has_one = data[feature].is_valid()  # JSON may list a node without any
    ids = as_ids(table, node, data[node])
    features = as_ids(table, feature, data[feature].filter(has_one))
    values = np.ones(len(ids)) if value is None else columns.numbers(table, value, data[value], "a feature's value")
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
