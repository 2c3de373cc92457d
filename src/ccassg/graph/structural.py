"""Make features for graphs that come without: what a node's place in the graph says about it."""

import numpy as np
import scipy.sparse as sp

from ccassg import memory
from ccassg.graph.checks import Array, check_count, check_kind
from ccassg.graph.graph import Graph

LOCAL = ("degree", "log degree", "clustering", "core number", "pagerank")
# Exact triangles below this many pairs of neighbours, sampled ones above: a hub of a million would take hours.
MAX_WEDGES = 100_000_000
WEDGES_PER_NODE = 32
DENSE_NODES = 400
LANCZOS_NODES = 200_000


def structural_features(graph: Graph, n_components: int = 32, seed: int = 0) -> Array:
    """Return degree, log degree, clustering coefficient, core number, PageRank and spectral coordinates.

    The coordinates are the leading eigenvectors of D^-1/2 A D^-1/2. Directions do not count. Every column is centred and
    scaled to variance 1 (a constant one is 0). The same graph and seed give the same features; an eigenvector's
    sign makes its largest entry positive. Coordinates of two graphs are not comparable: for a model that is to
    embed new graphs, give real features or ``n_components=0``.

    Parameters
    ----------
    graph : Graph
        Its own features are not used.
    n_components : int
        Number of eigenvectors, at most n - 1; 0 for none.
    seed : int
        Of the eigenvectors' start and, in very dense graphs, of the sampled clustering.

    Returns
    -------
    float32 array of shape (n, 5 + n_components)
        With fewer than n_components + 1 nodes that have an edge the last columns are 0.

    Examples
    --------
    >>> import ccassg
    >>> graph = ccassg.as_graph([[0, 0, 0], [1, 2, 3]])  # a star
    >>> graph.with_features(ccassg.structural_features(graph, n_components=2))
    Graph(nodes: 4, edges: 3 (undirected), dense features: 7)
    """
    check_kind("graph", graph, Graph, "make one with ccassg.as_graph")
    check_count("n_components", n_components)
    rng = np.random.default_rng(check_count("seed", seed))
    n_columns = len(LOCAL) + n_components
    memory.require(8 * graph.n_nodes * n_columns, f"n_components={n_components} on {graph.n_nodes:,} nodes")
    a = graph.adjacency().astype(np.float64)
    if graph.directed:
        a = a.maximum(a.T).tocsr()
    pattern = sp.csr_array((np.ones(a.nnz), a.indices, a.indptr), shape=a.shape)
    degree = np.asarray(a.sum(axis=1)).ravel()
    columns = np.zeros((graph.n_nodes, n_columns))
    columns[:, 0] = degree
    columns[:, 1] = np.log1p(degree)
    columns[:, 2] = _clustering(pattern, rng)
    columns[:, 3] = core_numbers(pattern)
    columns[:, 4] = _pagerank(a, degree)
    # A node without edges is 0 in every eigenvector of a positive eigenvalue; there may be millions of such nodes.
    linked = np.flatnonzero(degree > 0)
    k = min(n_components, len(linked) - 1)
    if k > 0:
        part = a if len(linked) == graph.n_nodes else a[linked][:, linked]
        columns[linked, len(LOCAL) : len(LOCAL) + k] = _eigenvectors(part, degree[linked], k, rng)
    return _standardised(columns).astype(np.float32)


def structural_names(n_features: int) -> tuple[str, ...]:
    """Return the names of the columns of `structural_features`."""
    return LOCAL + tuple(f"eigenvector {i + 1}" for i in range(n_features - len(LOCAL)))


def core_numbers(adjacency: sp.csr_array) -> Array:
    """Return the largest k for which a node is in the k-core of an undirected graph, shape (n,)."""
    left = np.diff(adjacency.indptr).astype(np.int64)
    n = len(left)
    core = np.zeros(n, np.int64)
    alive = np.ones(n, bool)
    front = left[:0]
    n_left = n
    while n_left:
        if not len(front):
            k = int(left[alive].min())
            front = np.flatnonzero(alive & (left <= k))
        core[front] = k
        alive[front] = False
        n_left -= len(front)
        # Neighbours of all peeled nodes at once; a node may be named several times.
        touched = adjacency[front].indices
        touched = touched[alive[touched]]
        np.subtract.at(left, touched, 1)
        touched = np.unique(touched)
        front = touched[left[touched] <= k]
    return core


def _clustering(
    a: sp.csr_array, rng: np.random.Generator, max_wedges: int = MAX_WEDGES, n_samples: int = WEDGES_PER_NODE
) -> Array:
    """Return the share of a node's pairs of neighbours that are joined; estimated where counting would take too long."""
    degree = np.diff(a.indptr).astype(np.float64)
    pairs = degree * (degree - 1)
    if pairs.sum() > max_wedges:
        return _sampled_clustering(a, rng, n_samples)
    closed = np.zeros_like(degree)
    for start in range(0, len(degree), 4096):
        rows = a[start : start + 4096]
        closed[start : start + 4096] = np.asarray((rows @ a).multiply(rows).sum(axis=1)).ravel()
    return np.divide(closed, pairs, out=np.zeros_like(closed), where=pairs > 0)


def _sampled_clustering(a: sp.csr_array, rng: np.random.Generator, n_samples: int) -> Array:
    degree = np.diff(a.indptr)
    n = len(degree)
    share = np.zeros(n)
    nodes = np.flatnonzero(degree >= 2)
    keys = np.repeat(np.arange(n), degree) * n + a.indices
    for _ in range(n_samples):
        first = rng.integers(0, degree[nodes])
        second = (first + rng.integers(1, degree[nodes])) % degree[nodes]
        wanted = a.indices[a.indptr[nodes] + first].astype(np.int64) * n + a.indices[a.indptr[nodes] + second]
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        share[nodes] += keys[at] == wanted
    return share / n_samples


def _pagerank(a: sp.csr_array, degree: Array, damping: float = 0.85, n_steps: int = 50) -> Array:
    n = len(degree)
    inverse = np.divide(1, degree, out=np.zeros(n), where=degree > 0)
    rank = np.full(n, 1 / n)
    for _ in range(n_steps):
        lost = rank[degree == 0].sum()
        rank = damping * (a @ (rank * inverse) + lost / n) + (1 - damping) / n
    return rank


def _eigenvectors(
    a: sp.csr_array,
    degree: Array,
    k: int,
    rng: np.random.Generator,
    dense_nodes: int = DENSE_NODES,
    lanczos_nodes: int = LANCZOS_NODES,
) -> Array:
    """Return the leading eigenvectors of the normalised adjacency, shape (n, k), largest eigenvalue first; every node has an edge."""
    import scipy.linalg
    import scipy.sparse.linalg

    n = len(degree)
    scale = sp.diags_array(1 / np.sqrt(degree))
    m = sp.csr_array(scale @ a @ scale)
    if n <= dense_nodes or k >= n // 2:
        vectors = scipy.linalg.eigh(m.toarray())[1][:, ::-1][:, :k]
    elif n <= lanczos_nodes:
        try:
            values, vectors = scipy.sparse.linalg.eigsh(
                m, k=k, which="LA", v0=rng.standard_normal(n), ncv=min(n - 1, 3 * k + 20), tol=1e-5, maxiter=200
            )
            vectors = vectors[:, np.argsort(-values)]
        except scipy.sparse.linalg.ArpackNoConvergence:
            vectors = _subspace(m, k, rng)
    else:
        vectors = _subspace(m, k, rng)
    return vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(k)])


def _subspace(m: sp.csr_array, k: int, rng: np.random.Generator, n_steps: int = 20) -> Array:
    """Return approximate leading eigenvectors by subspace iteration on (m + I) / 2, whose spectrum lies in [0, 1]."""
    q = np.linalg.qr(rng.standard_normal((m.shape[0], k + 8)))[0]
    for _ in range(n_steps):
        q = np.linalg.qr((m @ q + q) / 2)[0]
    return (q @ np.linalg.eigh(q.T @ (m @ q))[1])[:, ::-1][:, :k]


def _standardised(columns: Array) -> Array:
    centred = columns - columns.mean(axis=0)
    spread = centred.std(axis=0)
    # Rounding leaves a constant column a tiny spread, which must not be blown up to 1.
    constant = spread <= 1e-12 * np.abs(columns).max(axis=0)
    return np.divide(centred, spread, out=np.zeros_like(centred), where=~constant)
