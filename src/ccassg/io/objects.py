"""Graphs in memory, of NetworkX, PyG, AnnData, SciPy or as arrays, brought to what the readers make of files."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from ccassg.graph import Dataset, as_graph
from ccassg.graph.checks import Array, shown, without_torch
from ccassg.graph.kinds import is_graph
from ccassg.io import columns, tables
from ccassg.io.arrays import Matrix, each_of, is_matrix
from ccassg.io.files import one_sentence, suffix_of
from ccassg.io.ids import id_array
from ccassg.io.open_table import column_of, open_table
from ccassg.io.tables import EdgeRows, FrameTable


def holds_graph(data: Any) -> bool:
    """Whether this is a path, an object of a graph library, or a frame whose columns name the two ends of edges."""
    if tables.is_path(data) or is_graph(data):
        return True
    if not tables.is_frame(data):
        return False
    try:
        table = open_table(data.head(100) if hasattr(data, "head") else data.slice(0, 100))
    except ValueError:
        return False
    ends = columns.named_ends(table)
    return ends is not None and not any(pa.types.is_floating(table.read(ends).schema.field(end).type) for end in ends)


def as_rows(
    edges: Any, features: Any = None, labels: Any = None, ids: Any = None, *, label_column: Any = None
) -> tuple[Any, Any, Any, Any]:
    """Return edges, features, labels and ids as the readers take them; files and frames stay as they are.

    What an object knows of its nodes stands in for features and labels that are not given: attributes (NetworkX), ``x`` and
    ``y`` (PyG), ``X`` and ``obs`` (AnnData).
    """
    several = [_of_array(each) for each in each_of(features)]
    for each in several:
        if not (each is None or tables.is_path(each) or tables.is_frame(each) or isinstance(each, Matrix)):
            raise ValueError(f"features must be files, frames or matrices, got {tables.shown(each)}")
    if not several:
        raise ValueError("features is an empty list; leave it out, or give files, frames or matrices")
    features = several[0] if len(several) == 1 else several
    labels = _of_vector(labels)
    if tables.is_path(edges) or tables.is_frame(edges) or isinstance(edges, EdgeRows):
        return edges, features, labels, ids
    if isinstance(edges, Dataset):
        raise ValueError(
            "edges is a Dataset, which is read already; take data.graph to give it other features or labels"
        )
    if not is_graph(edges) and (ends := _ends(edges)) is not None:
        return ends, features, labels, ids
    of_object = isinstance(features, str) and suffix_of(features) == "" and not Path(features).exists()
    graph = as_graph(edges, features if of_object else None, directed=True)
    node_ids = id_array(graph.node_ids)
    name, notes = type(edges).__name__, list(graph.notes)
    if pc.count_distinct(node_ids).as_py() < len(node_ids):
        twice = pc.filter(
            node_ids.value_counts().field("values"), pc.greater(node_ids.value_counts().field("counts"), 1)
        )
        raise ValueError(f"two nodes of the {name} have the name {tables.shown(twice[0].as_py())} as text; rename one")
    nodes = None
    if features is None and hasattr(edges, "is_multigraph"):
        nodes = _attributes(edges, node_ids, notes)
    elif graph.features is not None and (features is None or of_object):
        of_genes = features is None and hasattr(edges, "obsp") and edges.var_names.is_unique
        features = Matrix(graph.features, tuple(map(str, edges.var_names)) if of_genes else None)
    if any(map(is_matrix, each_of(features))):
        ids = pa.table({"id": node_ids}) if ids is None else ids
    if labels is None:
        labels = _labels(edges, node_ids, label_column, notes)
    coo = graph.adjacency().tocoo()
    source, target = (node_ids.take(pa.array(end)) for end in (coo.row, coo.col))
    rows = EdgeRows(
        f"the {name}",
        source,
        target,
        graph.weights,
        directed=hasattr(edges, "is_multigraph") and edges.is_directed(),
        node_ids=node_ids,
        nodes=nodes,
        notes=notes,
    )
    return rows, features, labels, ids


def _ends(edges: Any) -> pa.Table | None:
    """Return two rows of ids as the two columns of an edge table; None for any other array."""
    array = without_torch(edges)
    if isinstance(array, (list, tuple)):
        try:
            array = np.asarray(array)
        except ValueError:  # rows of different lengths
            return None
    if not isinstance(array, np.ndarray) or array.ndim != 2 or 2 not in array.shape or array.dtype.kind not in "iufOUT":
        return None
    if array.shape[0] != 2:
        turned = "edges.T" if hasattr(edges, "T") else "numpy.transpose(edges)"
        raise ValueError(
            f"edges is an array of shape {array.shape}; its rows must be the two ends of the edges, so pass read_graph({turned})"
        )
    ends = (end if end.dtype.kind in "iuf" else end.tolist() for end in array)
    with one_sentence("edges"):
        return pa.table(dict(zip(("source", "target"), map(pa.array, ends), strict=True)))


def _of_array(features: Any) -> Any:
    """Return a matrix in memory as the readers know it; anything else as it is."""
    features = without_torch(features)
    return Matrix(features, None) if isinstance(features, np.ndarray) or sp.issparse(features) else features


def _of_vector(labels: Any) -> Any:
    """Return labels in the order of the nodes as a table; anything else as it is."""
    labels = without_torch(labels)
    if not isinstance(labels, (np.ndarray, list)) or np.ndim(labels) != 1:
        return labels
    with one_sentence("labels"):
        return pa.table({"label": pa.array(np.asarray(labels).tolist())})


def _attributes(graph: Any, node_ids: pa.Array, notes: list[str]) -> FrameTable | None:
    """Return the node attributes of a NetworkX graph as a table; None where there are none."""
    rows = [held for _, held in graph.nodes(data=True)]
    found: dict[str, Any] = {"id": node_ids}
    left_out = []
    for name in dict.fromkeys(name for held in rows for name in held):
        column = column_of([held.get(name) for held in rows])
        if str(name) in found or column is None:
            left_out.append(str(name))
        else:
            found[str(name)] = column
    if left_out:
        notes.append(
            f"left out the node attributes {tables.listed(left_out)}: no numbers, text or lists of numbers, or an id again"
        )
    return FrameTable(pa.table(found), "the node attributes") if len(found) > 1 else None


def _labels(data: Any, node_ids: pa.Array, name: str | None, notes: list[str]) -> pa.Table | None:
    """Return ids and labels that stand with the nodes of PyG or AnnData; None where there are none."""
    if hasattr(data, "obsp"):
        obs = {str(column): column for column in data.obs.columns}
        column = name or next((column for column in obs if column.lower() in columns.LABEL), None)
        if column is None:
            return None
        if column not in obs:
            raise ValueError(f"adata.obs has no column {shown(column)}; it has {tables.listed(list(obs))}")
        return pa.table({"id": node_ids, column: pa.Array.from_pandas(data.obs[obs[column]])})
    if hasattr(data, "is_multigraph") or not hasattr(data, "edge_index"):
        return None
    values: Array = np.asarray(without_torch(getattr(data, name or "y", None)))
    if values.shape == (len(node_ids), 1):
        values = values.ravel()
    if values.shape == (len(node_ids),) and (values.dtype.kind in "biu" or name is not None):
        return pa.table({"id": node_ids, name or "y": values})
    if name is not None:
        raise ValueError(
            f"the {type(data).__name__} has no {shown(name)} of one value per node, so it cannot be `label_column`"
        )
    if values.ndim:
        notes.append(
            f"left out y, which is {values.dtype} of shape {values.shape}: labels are one whole number per node"
        )
    return None
