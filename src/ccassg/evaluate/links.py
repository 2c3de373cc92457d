"""Missing edges: how well they are found where some were held out, and which are the likeliest.

A pair of nodes is scored by a logistic regression on the product of its two rows, entry by entry, learned from the edges there
are and as many random pairs that are none: a cosine whose dimensions have weights. Edges count in both directions.
"""

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from ccassg.evaluate.checks import check_embedding
from ccassg.evaluate.neighbours import unit_rows
from ccassg.graph import Array, Dataset, Graph, as_graph
from ccassg.graph.checks import check_count, check_nodes, shown
from ccassg.graph.structural import LOCAL, structural_features

Parts: TypeAlias = dict[str, tuple[Array, Array]]  # of each part (2, m) pairs with an edge, and as many without
MIN_EDGES, HITS, HOPS, MAX_K = 40, 50, 3, 1_000_000
# Inverse regularisation (studies/links.py): the embedding has seen the edges that the weights are learned from.
STRENGTH = 1e-4
# Entries of what the weights are learned from (128 MB), half of those of averaged features; what is scored at once: of thinner blocks
# of rows a product waits for memory.
MAX_CELLS, BLOCK_CELLS, BLOCK_PAIRS = 2**25, 2**24, 1024


def suggest_links(z: Any, graph: Any, node: int | None = None, k: int = 20, *, seed: int = 0) -> tuple[Array, Array]:
    """Suggest the most likely missing edges: of one node, or of the whole graph.

    Parameters
    ----------
    z : float array of shape (n, d)
        An embedding of the graph.
    graph : Graph, Dataset, or anything `as_graph` takes
        Its edges are learned from, and never suggested.
    node : int, optional
        Suggest only edges of this node. Without, all pairs are scored, in blocks: a minute for 40,000 nodes.
    k : int
        How many; fewer where there are no more pairs.
    seed : int
        Of the random pairs that stand for no edge.

    Returns
    -------
    pairs : int64 array of shape (k, 2)
        The likeliest first; in each the node that was named, or the lower number, first.
    scores : float32 array of shape (k,)
        Probability that the pair is an edge if half of all pairs were edges: for ranking only.
    """
    graph = as_graph(graph)
    check_count("k", k, 1, MAX_K)
    unit, known, n = unit_rows(check_embedding(z)), _both_ways(graph), graph.n_nodes
    if len(unit) != n:
        raise ValueError(f"z has {len(unit):,} rows, but the graph has {n:,} nodes; give its own embedding")
    rng = np.random.default_rng(check_count("seed", seed))
    edges = rng.permutation(np.stack(sp.triu(known).nonzero()).astype(np.int64), axis=1)
    if not 0 < edges.shape[1] < n * (n - 1) // 2:
        raise ValueError(f"links are learned from pairs with an edge and pairs without; {graph!r} has only one of both")
    weights, bias = learn(unit, edges, _non_edges(edges, n, rng))
    if node is not None:
        here = int(check_nodes("node", [node], n)[0])
        scores = unit @ (weights * unit[here])
        scores[[here, *known[[here]].indices]] = -np.inf
        pairs = np.stack([np.full(n, here), np.arange(n)])
    else:
        pairs, scores = _best_of_all(unit, weights, known, k)
    best = [i for i in np.argsort(-scores, kind="stable")[:k] if np.isfinite(scores[i])]
    return pairs[:, best].T, (1 / (1 + np.exp(-scores[best] - bias))).astype(np.float32)


def link_scores(model: Any, data: Any, seed: int = 0) -> dict[str, dict[str, Any]]:
    """Hold out edges, fit a model without them, and score how well it finds them, beside simple rules.

    Of the edges 5 % are held out at random to choose on and 10 % to score, each with a random pair without an edge. Features
    that were made from the edges (`Dataset.structural`) are made again from those that are kept.

    Parameters
    ----------
    model : estimator with ``fit_transform``, of which a clone is fitted
    data : Dataset, Graph, or anything `as_graph` takes
    seed : int
        Of what is held out and of the random pairs.

    Returns
    -------
    dict of dicts
        By ``embedding`` (as `suggest_links` scores), its ``cosine``, ``common neighbours``, ``Adamic-Adar``, ``cosine of A^k X`` (k
        chosen on the 5 %): ``auc``, ``average_precision``, ``hits@50``, the share of edges above all but 49 other pairs, or None.
    """
    from sklearn.base import clone

    if not hasattr(model, "fit_transform"):
        raise TypeError(f"model must be an estimator with fit_transform, such as ccassg.CCASSG(), got {shown(model)}")
    graph, parts = hold_out(as_graph(data), seed)
    kept: Any = graph
    if isinstance(data, Dataset):
        if data.structural:
            graph = graph.with_features(structural_features(graph, graph.n_features - len(LOCAL)))
        kept = replace(data, graph=graph)
    return compare(clone(model).fit_transform(kept), graph, parts)


def hold_out(graph: Graph, seed: int = 0) -> tuple[Graph, Parts]:
    """Hold out 5 % of the edges to choose on and 10 % to score, both directions of each; the graph is that of the others."""
    known, rng = _both_ways(graph), np.random.default_rng(check_count("seed", seed))
    edges = rng.permutation(np.stack(sp.triu(known).nonzero()).astype(np.int64), axis=1)
    n_edges, n_pairs = edges.shape[1], graph.n_nodes * (graph.n_nodes - 1) // 2
    if not MIN_EDGES <= n_edges <= n_pairs / 3:
        needed = f"{MIN_EDGES} edges or more, on a third of all {n_pairs:,} pairs of nodes or less"
        raise ValueError(f"holding out edges takes a graph with {needed}, got {n_edges:,} edges")
    cuts = [n_edges // 20, n_edges // 20 + n_edges // 10]
    both = (np.split(pairs, cuts, axis=1) for pairs in (edges, _non_edges(edges, graph.n_nodes, rng)))
    parts = dict(zip(("val", "test", "train"), zip(*both, strict=True), strict=True))
    upper = sp.coo_array((known[tuple(parts["train"][0])], tuple(parts["train"][0])), shape=known.shape)
    kept = (upper + upper.T).tocsr()
    kept.sort_indices()
    weights = None if graph.weights is None else kept.data
    return replace(graph, indptr=kept.indptr, indices=kept.indices, weights=weights, directed=False), parts


def compare(z: Any, graph: Graph, parts: Parts) -> dict[str, dict[str, Any]]:
    """Score an embedding (n, d) of the graph of kept edges beside simple rules; see `link_scores`."""
    from sklearn.preprocessing import normalize

    unit, a = unit_rows(check_embedding(z)), _both_ways(graph)
    a.data[:] = 1
    rare = a @ sp.diags_array(1 / np.log(np.maximum(np.diff(a.indptr), 2)))
    found = {
        "embedding": measure(unit * learn(unit, *parts["train"])[0], unit, parts["test"]),
        "cosine": measure(unit, unit, parts["test"]),
        "common neighbours": measure(a, a, parts["test"]),
        "Adamic-Adar": measure(rare, a, parts["test"]),
    }
    x: Any = graph.features
    loops, chosen = a + sp.eye_array(graph.n_nodes, dtype=np.float32), -1.0
    root = sp.diags_array(1 / np.sqrt(loops.sum(axis=1)))
    for k in range(0 if x is None else HOPS + 1):
        rows = normalize(x)
        if (auc := measure(rows, rows, parts["val"])["auc"]) > chosen:
            chosen, found["cosine of A^k X"] = auc, measure(rows, rows, parts["test"]) | {"k": k}
        if sp.issparse(x) and min((loops @ np.diff(x.indptr)).sum(), np.prod(x.shape)) > 2 * MAX_CELLS:
            break  # averages would fill up
        x = root @ (loops @ (root @ x))
    return found


def learn(unit: Array, edges: Array, others: Array, strength: float = STRENGTH) -> tuple[Array, float]:
    """Return the weights (d,) of the entries of a product of two rows, and the bias, that tell edges from other pairs."""
    from sklearn.linear_model import LogisticRegression

    most = max(MAX_CELLS // (2 * unit.shape[1]), 1)
    products = np.concatenate([unit[pairs[0, :most]] * unit[pairs[1, :most]] for pairs in (edges, others)])
    scale = np.sqrt(np.mean(products**2, axis=0)) + np.finfo(np.float32).tiny  # of a column of zeros
    truth = np.arange(len(products)) < min(edges.shape[1], most)
    # More steps than scikit-learn's, where the penalty is weak: nobody is to read of a solver that gave up.
    fitted = LogisticRegression(C=strength, max_iter=500).fit(products / scale, truth)
    return (fitted.coef_[0] / scale).astype(unit.dtype), float(fitted.intercept_[0])


def measure(left: Any, right: Any, pairs: tuple[Array, Array]) -> dict[str, Any]:
    """Tell pairs with an edge from pairs without by the inner product of a row of each matrix: AUC, average precision, hits@50."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    edges, others = (_inner(left, right, part) for part in pairs)
    scores, truth = np.concatenate([edges, others]), np.arange(len(edges) + len(others)) < len(edges)
    return {
        "auc": float(roc_auc_score(truth, scores)),
        "average_precision": float(average_precision_score(truth, scores)),
        "hits@50": float(np.mean(edges > np.sort(others)[-HITS])) if len(others) >= HITS else None,
    }


def _inner(left: Any, right: Any, pairs: Array) -> Array:
    """Return the inner product of a row of each matrix, dense or sparse, for every pair, in blocks."""
    blocks = (pairs[:, i : i + BLOCK_PAIRS] for i in range(0, pairs.shape[1], BLOCK_PAIRS))
    return np.concatenate([np.asarray((left[i] * right[j]).sum(axis=1)).ravel() for i, j in blocks] or [np.zeros(0)])


def _both_ways(graph: Graph) -> sp.csr_array:
    a = graph.adjacency()
    return a.maximum(a.T).tocsr() if graph.directed else a.copy()


def _non_edges(edges: Array, n: int, rng: np.random.Generator) -> Array:
    """Draw as many pairs without an edge, all different, but at most half of all such: then drawing ends soon."""
    found, known = np.zeros(0, np.int64), edges[0] * n + edges[1]
    m = min(len(known), (n * (n - 1) // 2 - len(known) + 1) // 2)
    while len(found) < m:
        first, second = np.sort(rng.integers(n, size=(2, 2 * m)), axis=0)
        drawn = np.concatenate([found, np.setdiff1d((first * n + second)[first < second], known)])
        found = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
    return np.stack(np.divmod(rng.permutation(found)[:m], n))


def _best_of_all(unit: Array, weights: Array, known: sp.csr_array, k: int) -> tuple[Array, Array]:
    """Score every pair, some rows at a time, and return the k best that are no edge."""
    n = len(unit)
    pairs, best = np.zeros((2, 0), np.int64), np.zeros(0, unit.dtype)
    for start in range(0, n, step := max(BLOCK_CELLS // n, 1)):
        scores = (unit[start : start + step] * weights) @ unit[start:].T  # earlier columns were met from the other end
        scores[np.tri(*scores.shape, dtype=np.bool_)] = -np.inf
        scores[known[start : start + step, start:].nonzero()] = -np.inf
        # Few pairs reach the k best so far; only before there are so many is a block worth sorting for itself.
        first, second = np.nonzero(scores >= (best[-1] if len(best) == k else _highest(scores, k)))
        pairs = np.concatenate([pairs, np.stack([first, second]) + start], axis=1)
        best = np.concatenate([best, scores[first, second]])
        order = np.argsort(-best, kind="stable")[:k]
        pairs, best = pairs[:, order], best[order]
    return pairs, best


def _highest(scores: Array, k: int) -> float:
    """Return the k-th highest score, or minus infinity if there are no more."""
    return float(np.partition(scores, -k, axis=None)[-k]) if k < scores.size else -np.inf
