"""What someone hands over: an object of a graph library, several graphs, an edge list or an adjacency where features were expected."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from ccassg.graph.checks import Array

_OF_LIBRARIES = (
    "is_multigraph",
    "obsp",
    "edge_index",
    "to_homogeneous",
)  # NetworkX, AnnData, PyG's Data and HeteroData


def is_graph(data: Any) -> bool:
    """Whether this is an object of a graph library, or a list of graphs, rather than numbers."""
    if isinstance(data, list):
        return len(data) > 0 and (hasattr(data[0], "indptr") or hasattr(data[0], "graph") or is_graph(data[0]))
    return any(hasattr(type(data), name) for name in _OF_LIBRARIES)


def refuse_several(data: Any) -> None:
    """Refuse a list of graphs, and a graph of several kinds of nodes."""
    if isinstance(data, list) and is_graph(data):
        raise ValueError(
            f"expected one graph, got a list of {len(data)} graphs; join them with networkx.disjoint_union_all(graphs) or "
            f"torch_geometric.data.Batch.from_data_list(graphs), or take them one by one"
        )
    if hasattr(type(data), "to_homogeneous"):
        raise ValueError(
            "HeteroData has nodes or edges of several kinds, and a Graph has one; pass data.to_homogeneous(), or the "
            "part with one kind"
        )


def refuse_graph(name: str, data: Any, n_features: int | None = None) -> None:
    """Refuse an edge list or an adjacency in place of features, with the call that is right for it.

    A matrix of ``n_features``, where a model knows these, is of features. Before, whole numbers of type float in two columns
    may be either, and get a warning.
    """
    kind = "list" if isinstance(data, (list, tuple)) else "array" if isinstance(data, np.ndarray) else "other"
    shape = getattr(data, "shape", None)
    if kind != "list" and (shape is None or len(shape) != 2 or not (2 in shape or shape[0] == shape[1])):
        return
    try:
        matrix = sp.csr_array(data) if sp.issparse(data) else np.asarray(data)
    except (ValueError, TypeError):
        return
    if matrix.ndim != 2 or 0 in matrix.shape or matrix.shape[1] == n_features:
        return
    n, m = matrix.shape
    if n == m > 2 and _is_adjacency(matrix):
        right = name if sp.issparse(matrix) else f"scipy.sparse.csr_array({name})"
        what, otherwise = "an adjacency", f"(scipy.sparse.csr_array({(n, n)}), {name})"
    elif not sp.issparse(matrix) and (m == 2 or (n == 2 and kind != "other")) and n != m and _are_edges(matrix):
        turned = f"{name}.T" if kind == "array" else f"numpy.transpose({name})" if kind == "list" else name
        right = turned if m == 2 else name
        what, otherwise = "an edge list", f"numpy.asarray({name}, float)"
    else:
        return
    sentence = (
        f"{name} of shape {(n, m)} looks like {what}, not like features: ccassg.read_graph({right}) takes it, with the features "
        f"of its nodes, if they have any, as second argument"
    )
    if n_features is None and what == "an edge list" and matrix.dtype.kind == "f":
        warnings.warn(sentence, stacklevel=4)
        return
    raise ValueError(f"{sentence}; if these are features, pass {otherwise}")


def _is_adjacency(matrix: Any) -> bool:
    """Whether a square matrix has weights from 0 and is sparse or, without loops, symmetric or of zeros and ones."""
    values = matrix.data if sp.issparse(matrix) else matrix
    if matrix.dtype.kind not in "biuf" or not values.any() or not values.min() >= 0:
        return False
    on_diagonal = np.count_nonzero(matrix.diagonal())
    if sp.issparse(matrix):
        return bool(np.count_nonzero(values) > on_diagonal)
    return not on_diagonal and bool((values.astype(bool) == values).all() or (matrix == matrix.T).all())


def _are_edges(ends: Array) -> bool:
    """Whether entries are names, or whole numbers from 0 beyond 1: zeros and ones may be two switches."""
    if ends.dtype.kind in "OUST":
        try:
            ends = ends.astype(float)
        except (ValueError, TypeError):
            return all(isinstance(end, (str, bytes, int)) for end in ends.ravel()[:100].tolist())
    if ends.dtype.kind not in "iuf" or not ends.min() >= 0 or not 2 <= ends.max() < 2**63:
        return False
    return ends.dtype.kind != "f" or bool((ends == np.rint(ends)).all())
