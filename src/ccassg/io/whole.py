"""A file that holds a whole graph: edges, features and labels in the arrays of one NumPy archive, as collections publish them."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ccassg.graph import Array
from ccassg.io.arrays import Matrix, read_arrays, sparse_of
from ccassg.io.files import require_budget, require_room, vetted
from ccassg.io.tables import EdgeRows, listed, shown

# Of sparse matrices, after one of the prefixes: none where SciPy saved the adjacency alone.
PARTS = ("data", "indices", "indptr", "shape", "format", "row", "col")
ADJACENCY = ("", "adj_", "adj_matrix_", "adj_matrix.")
ATTRIBUTES = ("attr_", "attr_matrix_", "attr_matrix.")
EDGES = ("edge_index", "edges", "edge_list")
FEATURES = ("attr_matrix", "features", "node_features", "x")
LABELS = ("labels", "node_labels", "label", "y", "target")


class Whole(NamedTuple):
    """What one file says of a graph, all under the same ids."""

    edges: EdgeRows
    features: Matrix | None
    labels: pa.Table | None


def read_npz_graph(path: Path, features: str | None, label_column: str | None) -> Whole:
    """Read a ``.npz`` of sparse matrices in parts (``adj_data``, ...), of edges and dense features, or of one SciPy matrix.

    ``features`` and ``label_column`` name arrays; nodes are rows.
    """
    label_names = LABELS if label_column is None else (label_column,)
    feature_names = FEATURES if features is None else (features,)
    parts = {prefix + part for prefix in (*ADJACENCY, *ATTRIBUTES) for part in PARTS}
    with vetted(path) as file:
        arrays = read_arrays(file, {*parts, *EDGES, *feature_names, *label_names})
        adjacency = _sparse(file, arrays, ADJACENCY)
        x = _sparse(file, arrays, ATTRIBUTES) if features is None else None
        x = _first(arrays, feature_names) if x is None else x
        y, label = _first(arrays, label_names), next((name for name in label_names if name in arrays), "label")
        for name, array in ((features, x), (label_column, y)):
            if name is not None and array is None:
                raise ValueError(f"{file} has no array {shown(name)}; it has {listed(sorted(arrays))}, perhaps more")
        if adjacency is not None:
            n = int(adjacency.shape[0])
            if adjacency.shape[1] != n:
                raise ValueError(
                    f"{file}: an adjacency is square, this matrix is {adjacency.shape}; are these features?"
                )
            coo = adjacency.tocoo()
            ends, weights = (coo.row, coo.col), coo.data
        else:
            ends, weights = _ends(file, _first(arrays, EDGES)), None
            rows = next((array for array in (x, y) if array is not None), None)
            n = int(max(end.max(initial=-1) for end in ends)) + 1 if rows is None else rows.shape[0]
            require_room(file, n, f"claims {n:,} nodes")
        ids = pa.array(np.arange(n))
        labels = None if y is None else pa.table({"id": ids, label: pa.array(y.reshape(n))})
        return Whole(edges_of(str(file), ids, ends, weights), None if x is None else Matrix(x), labels)


def edges_of(name: str, ids: pa.Array, ends: tuple[Array, Array], weights: Array | None) -> EdgeRows:
    """Return edges between rows under the ids of these, as far as there is room to write them out."""
    if not pa.types.is_integer(ids.type):
        lengths = pc.binary_length(ids).to_numpy(zero_copy_only=False)
        n_bytes = sum(int(lengths[end].sum()) for end in ends)
        require_budget(name, n_bytes, "the ids of its edges are written out", "give its nodes shorter ids")
    source, target = (ids.take(pa.array(end)) for end in ends)
    return EdgeRows(name, source, target, weights, node_ids=ids)


def _sparse(file: Path, arrays: dict[str, Array], prefixes: tuple[str, ...]) -> Any:
    prefix = next((prefix for prefix in prefixes if {f"{prefix}data", f"{prefix}shape"} <= arrays.keys()), None)
    if prefix is None:
        return None
    return sparse_of(file, {part: arrays[prefix + part] for part in PARTS if prefix + part in arrays})


def _first(arrays: dict[str, Array], names: tuple[str, ...]) -> Array | None:
    return next((arrays[name] for name in names if name in arrays), None)


def _ends(file: Path, pairs: Array | None) -> tuple[Array, Array]:
    if pairs is None:
        raise ValueError(
            f"{file} has no edges under a known name, such as adj_data, adj_indices, ... or edge_index; save the adjacency with "
            f"scipy.sparse.save_npz"
        )
    if pairs.ndim != 2 or 2 not in pairs.shape or pairs.dtype.kind not in "iu":
        raise ValueError(
            f"{file}: edges must be whole numbers in two rows or columns, got {pairs.dtype} of shape {pairs.shape}"
        )
    first, second = pairs if pairs.shape[0] == 2 else pairs.T
    return first, second
