"""as_graph: the one door to a `Graph`.

It makes one from what people have (SciPy matrices, edge indices, NetworkX, PyG, AnnData) and refuses what cannot be a graph,
naming the argument, the value and the way out.
"""

import dataclasses
from typing import Any

import numpy as np
import scipy.sparse as sp

from ccassg import memory
from ccassg.graph.checks import Array, check_count, check_features, check_ids, require_finite, shown, without_torch
from ccassg.graph.dataset import Dataset
from ccassg.graph.graph import Graph
from ccassg.graph.kinds import refuse_several


def as_graph(
    data: Any,
    features: Any = None,
    *,
    edge_weights: Any = None,
    node_ids: Any = None,
    n_nodes: int | None = None,
    directed: bool | None = None,
    need_features: bool = False,
) -> Graph:
    """Make a `Graph` of whatever describes one.

    Parameters
    ----------
    data
        A `Graph`; a `Dataset`, for its graph; a square sparse adjacency matrix of SciPy or torch (row points to column); an
        ``edge_index`` of shape (2, n_edges) as NumPy array or torch tensor; a NetworkX graph; a PyG ``Data``; an AnnData, whose
        cells are nodes and whose ``obsp["connectivities"]`` are edges; or a pair ``(adjacency_or_edge_index, features)``.
        Node attributes, labels and frames are the matter of `read_graph`.
    features : array or sparse matrix of shape (n, n_features), or str
        Dense or sparse, kept as it is but for the precision (32 bit). For NetworkX also the name of a node attribute,
        for AnnData that of an entry of ``obsm`` or ``layers``; without it, AnnData gives its ``X``.
    edge_weights : array of shape (n_edges,)
        With an ``edge_index``; other inputs carry their own.
    node_ids : sequence of n different names
        Names of the nodes, in the order of the features' rows.
    n_nodes : int
        With an ``edge_index`` and no features: the number of nodes, if some at the end have no edge.
    directed : bool
        Keep directions. By default every edge gets its reverse (a `Graph` keeps what it is); of two different weights
        the larger counts.
    need_features : bool
        Refuse a graph without features.

    Returns
    -------
    Graph
        Its ``notes`` say what was merged, removed or added.

    Raises
    ------
    ValueError
        On anything that is not a graph, with the way out.

    Examples
    --------
    >>> import numpy as np
    >>> import ccassg
    >>> edge_index = np.array([[0, 1, 1], [1, 2, 1]])
    >>> graph = ccassg.as_graph(edge_index, features=np.ones((4, 2)), node_ids=["a", "b", "c", "d"])
    >>> graph
    Graph(nodes: 4, edges: 2 (undirected), dense features: 2)
    >>> graph.notes[-1]
    'removed 1 self-loop (every node gets its own inside the encoder)'
    """
    if isinstance(data, tuple) and len(data) == 2:
        if features is not None:
            raise ValueError("features were given twice: in the pair and as an argument; give them once")
        data, features = data
    if isinstance(data, Dataset):
        data = data.graph
    refuse_several(data)
    data = without_torch(data)
    if isinstance(data, Graph):
        graph = _from_graph(data, features, node_ids, directed)
    elif sp.issparse(data):
        graph = _from_adjacency(data, features, node_ids, bool(directed))
    elif hasattr(data, "is_multigraph") and hasattr(data, "nodes"):  # NetworkX
        graph = _from_networkx(data, features, directed)
    elif hasattr(data, "obsp"):
        graph = _from_anndata(data, features, node_ids, bool(directed))
    elif hasattr(data, "edge_index") and hasattr(data, "num_nodes"):
        graph = _from_pyg(data, features, node_ids, bool(directed))
    else:
        graph = _from_edge_index(data, features, edge_weights, node_ids, n_nodes, bool(directed))
    if need_features and graph.features is None:
        raise ValueError(
            "the graph has no features and this method needs them; pass features=, or structural ones made by "
            "ccassg.structural_features(graph)"
        )
    return graph


def _from_graph(graph: Graph, features: Any, node_ids: Any, directed: bool | None) -> Graph:
    changes: dict[str, Any] = {}
    if features is not None:
        changes["features"] = check_features(features, graph.n_nodes)
    if node_ids is not None:
        changes["ids"] = check_ids(node_ids, graph.n_nodes)
    if directed is False and graph.directed:
        symmetric = _from_adjacency(graph.adjacency(), graph.features, graph.ids, False)
        weights = None if graph.weights is None else symmetric.weights
        graph = dataclasses.replace(symmetric, weights=weights, notes=graph.notes + symmetric.notes)
    return dataclasses.replace(graph, **changes) if changes else graph


def _from_adjacency(matrix: Any, features: Any, node_ids: Any, directed: bool) -> Graph:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"adjacency must be square, got shape {matrix.shape}; an edge list goes in as an array of shape (2, n_edges)"
        )
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"adjacency must hold numbers, got dtype {matrix.dtype}")
    coo = sp.coo_array(matrix)
    weights = None if matrix.dtype == bool else coo.data
    return _build(coo.row, coo.col, weights, max(matrix.shape), features, node_ids, directed)


def _from_edge_index(
    data: Any, features: Any, weights: Any, node_ids: Any, n_nodes: int | None, directed: bool
) -> Graph:
    # Reading an unknown object entry by entry may take minutes.
    edges = np.asarray(None)
    if isinstance(data, (list, tuple)) or hasattr(data, "__array__"):
        try:
            edges = np.asarray(data)
        except (ValueError, TypeError) as error:
            raise ValueError(f"edge_index cannot be read as an array: {error}") from None
    if edges.ndim != 2 or edges.shape[0] != 2 or (edges.dtype.kind not in "iu" and edges.size):
        raise ValueError(_refusal(data, edges))
    edges = edges.astype(np.int64, copy=False)
    if features is not None:
        features = check_features(features)
        n = int(features.shape[0])
        if n_nodes is not None and n_nodes != n:
            raise ValueError(f"n_nodes is {n_nodes}, but features has {n} rows; they must agree")
    elif n_nodes is not None:
        n = check_count("n_nodes", n_nodes)
    elif node_ids is not None:
        n = len(node_ids)
    else:
        n = int(edges.max(initial=-1)) + 1
    if weights is not None:
        weights = np.asarray(weights.detach().cpu() if hasattr(weights, "detach") else weights)
        if weights.shape != (edges.shape[1],):
            raise ValueError(
                f"edge_weights has shape {weights.shape}, but there are {edges.shape[1]} edges; give one each"
            )
    return _build(edges[0], edges[1], weights, n, features, node_ids, directed)


def _refusal(data: Any, edges: Array) -> str:
    """Return the sentence for what is no edge_index, with the call that takes it."""
    if hasattr(data, "columns"):
        return f"a {type(data).__name__} goes in through ccassg.read_graph(edges, nodes), which takes frames"
    if edges.ndim == 2:
        given = f"edge_index is an array of shape {edges.shape} and dtype {edges.dtype}"
        if edges.shape[0] == edges.shape[1] != 2:
            return f"{given}; a dense adjacency goes in as scipy.sparse.csr_array(adjacency)"
        if edges.dtype.kind in "OUST" and 2 in edges.shape:
            return f"{given}; names go in as ccassg.read_graph(edge_index{'' if edges.shape[0] == 2 else '.T'})"
        if edges.shape[1] == 2 and edges.dtype.kind in "iu":
            return f"{given}, not (2, n_edges); it goes in as as_graph(edge_index.T)"
    return (
        f"expected a Graph, a SciPy sparse matrix, an integer edge_index of shape (2, n_edges), a NetworkX graph, a PyG Data or "
        f"an AnnData; got {type(data).__name__} of shape {edges.shape} and dtype {edges.dtype}; files are read by ccassg.read_graph"
    )


def _from_networkx(data: Any, features: Any, directed: bool | None) -> Graph:
    names = list(data.nodes)
    position = {name: i for i, name in enumerate(names)}
    edges = list(data.edges(data="weight"))
    rows = np.fromiter((position[u] for u, _, _ in edges), np.int64, len(edges))
    cols = np.fromiter((position[v] for _, v, _ in edges), np.int64, len(edges))
    values = [weight for _, _, weight in edges]
    weights = None
    if values and all(value is not None for value in values):
        weights = np.asarray(values)
    elif any(value is not None for value in values):
        missing = sum(value is None for value in values)
        raise ValueError(
            f"{missing} of {len(values)} edges have no 'weight' attribute; give it to all edges or to none"
        )
    if isinstance(features, str):
        rows_of = data.nodes(data=features)
        lacking = [name for name, row in rows_of if row is None]
        if lacking:
            raise ValueError(f"{len(lacking)} nodes have no attribute {features!r}, first {lacking[0]!r}")
        features = np.asarray([np.ravel(row) for _, row in rows_of])
    if not data.is_directed():  # NetworkX lists an undirected edge once
        rows, cols = np.concatenate([rows, cols]), np.concatenate([cols, rows])
        loops = rows[: len(edges)] == cols[: len(edges)]
        once = np.concatenate([np.ones(len(edges), bool), ~loops])
        rows, cols = rows[once], cols[once]
        weights = None if weights is None else np.concatenate([weights, weights])[once]
        directed = False
    return _build(rows, cols, weights, len(names), features, names, bool(directed))


def _from_pyg(data: Any, features: Any, node_ids: Any, directed: bool) -> Graph:
    if data.edge_index is None:
        transposed = getattr(data, "adj_t", None)
        if transposed is None:
            raise ValueError("the PyG Data has no edge_index; call it on a homogeneous graph with edges")
        matrix = transposed.to_scipy() if hasattr(transposed, "to_scipy") else without_torch(transposed)
        return _from_adjacency(matrix.T, data.x if features is None else features, node_ids, directed)
    edges = data.edge_index.detach().cpu().numpy()
    weights = getattr(data, "edge_weight", None)
    if weights is None and getattr(data, "edge_attr", None) is not None and data.edge_attr.ndim == 1:
        weights = data.edge_attr
    if features is None:
        features = data.x
    return _from_edge_index(
        edges, features, weights, node_ids, None if features is not None else data.num_nodes, directed
    )


def _from_anndata(data: Any, features: Any, node_ids: Any, directed: bool) -> Graph:
    if "connectivities" not in data.obsp:
        raise ValueError(
            f"adata.obsp has no 'connectivities' (there is {_listed(data.obsp)}); run scanpy.pp.neighbors(adata) first"
        )
    if isinstance(features, str):
        slot = next((slot for slot in (data.obsm, data.layers) if features in slot), None)
        if slot is None:
            there = _listed([*data.obsm, *data.layers])
            raise ValueError(f"adata has no {features!r} in obsm or layers (there is {there}); leave it out to use X")
        features = slot[features]
    elif features is None:
        features = data.X
        if features is None:
            raise ValueError("the AnnData has no X; name an entry of obsm or layers as features")
    if not sp.issparse(features):  # a frame, a backed or a dense array
        features = np.asarray(features)
    names = np.array([str(name) for name in data.obs_names], dtype=object) if node_ids is None else node_ids
    return _from_adjacency(sp.csr_array(data.obsp["connectivities"]), features, names, directed)


def _listed(names: Any) -> str:
    return ", ".join(repr(name) for name in names) or "nothing"


def _build(
    rows: Array, cols: Array, weights: Array | None, n: int, features: Any, node_ids: Any, directed: bool
) -> Graph:
    """Check the parts, merge, drop loops, symmetrise, and say so."""
    if n == 0:
        raise ValueError("the graph is empty (0 nodes); give at least one node")
    memory.require(16 * n, f"a graph of {shown(n)} nodes")
    for end in (rows, cols):
        if end.size and (end.min() < 0 or end.max() >= n):
            bad = end[(end < 0) | (end >= n)][0]
            raise ValueError(f"an edge names node {bad}, but nodes are 0 .. {n - 1}; check the index or pass n_nodes")
    notes: list[str] = []
    if weights is not None:
        if weights.dtype.kind not in "biuf":
            raise ValueError(f"edge weights must be numeric, got dtype {weights.dtype}")
        with np.errstate(over="ignore"):
            weights = weights.astype(np.float32)
        require_finite("edge weights", weights)
        if weights.size and weights.min() < 0:
            raise ValueError(f"edge weights must not be negative, got {weights.min():g}; shift or drop those edges")
    keep = rows != cols
    if n_loops := int(keep.size - keep.sum()):
        notes.append(f"removed {n_loops:,} self-loop{'s' * (n_loops > 1)} (every node gets its own inside the encoder)")
    if weights is not None and (n_zero := int((keep & (weights == 0)).sum())):
        keep &= weights != 0
        notes.append(f"removed {n_zero:,} edges of weight 0")
    if not keep.all():
        rows, cols = rows[keep], cols[keep]
        weights = None if weights is None else weights[keep]
    # One byte per edge is enough for a pattern; sums may wrap around, only presence counts.
    data = np.ones(len(rows), np.uint8) if weights is None else weights
    matrix = sp.coo_array((data, (rows, cols)), shape=(n, n)).tocsr()
    if n_merged := len(rows) - matrix.nnz:
        how = "" if weights is None else ", their weights added"
        notes.append(f"merged {n_merged:,} repeated edge{'s' * (n_merged > 1)}{how}")
    if not directed:
        before = matrix.nnz
        reverse = matrix.T.tocsr()
        if weights is None:
            matrix.data[:] = reverse.data[:] = 1
            matrix = (matrix + reverse).tocsr()
        else:
            matrix = matrix.maximum(reverse).tocsr()
        n_added = matrix.nnz - before
        if 0 < n_added < before:  # of edges that are given once each, the reverse is not missing
            notes.append(f"added the missing reverse of {n_added:,} edge{'s' * (n_added > 1)}")
    matrix.sort_indices()
    if weights is not None:
        require_finite("edge weights", matrix.data)
        if (matrix.data == 1).all():
            weights = None
    return Graph(
        indptr=matrix.indptr.astype(np.int64),
        indices=matrix.indices.astype(np.int32 if n < 2**31 else np.int64, copy=False),
        weights=None if weights is None else matrix.data,
        features=None if features is None else check_features(features, n),
        ids=None if node_ids is None else check_ids(node_ids, n),
        directed=directed,
        notes=tuple(notes),
    )
