"""Synthetic graphs whose structure and features are as informative as one likes, at any size."""

import dataclasses
from typing import Any

import numpy as np
import scipy.sparse as sp

from ccassg.graph import Features, as_graph
from ccassg.graph.dataset import Dataset, Indices


def stochastic_block_graph(
    n_nodes: int = 1000,
    n_classes: int = 5,
    mean_degree: float = 10.0,
    homophily: float = 0.8,
    n_features: int = 64,
    feature_noise: float = 0.5,
    *,
    seed: int = 0,
    sparse_features: bool = False,
    words_per_node: int = 16,
) -> Dataset:
    """Draw an attributed stochastic block model.

    Classes are of equal size (to within one) and in random order. Of ``n_nodes * mean_degree / 2`` different undirected
    edges the share ``homophily`` joins two random nodes of one class, the rest two random nodes of different classes.

    Parameters
    ----------
    n_nodes : int
        Size of the graph.
    n_classes : int
        Number of blocks.
    mean_degree : float
        Mean number of neighbours.
    homophily : float in [0, 1]
        Share of edges within a class; ``1 / n_classes`` makes the edges tell nothing about the classes.
    n_features : int
        Width of the features.
    feature_noise : float in [0, 1]
        0: the features of a node depend on its class alone; 1: they tell nothing about it. Dense features are
        sqrt(1 - noise) x (a fixed normal vector per class) + sqrt(noise) x (a normal vector per node). Sparse ones are
        a binary bag of words: each word is drawn from all columns with this probability, else from those of the class
        (column ``j`` belongs to class ``j mod n_classes``).
    seed : int
        The same seed gives the same dataset.
    sparse_features : bool
        A bag of words in CSR form rather than dense vectors.
    words_per_node : int
        Draws per node for sparse features; repeated words count once.

    Returns
    -------
    Dataset
        With random splits, under the name ``stochastic-block``.
    """
    if not 1 <= n_classes <= n_nodes:
        raise ValueError(f"n_classes must be between 1 and n_nodes, got {n_classes} for {n_nodes} nodes")
    if not 0 <= mean_degree < n_nodes:
        raise ValueError(f"mean_degree must be in [0, n_nodes), got {mean_degree} for {n_nodes} nodes")
    if n_features < 1 or words_per_node < 1:
        raise ValueError(f"n_features and words_per_node must be at least 1, got {n_features} and {words_per_node}")
    for name, value in (("homophily", homophily), ("feature_noise", feature_noise)):
        if not 0 <= value <= 1:
            raise ValueError(f"{name} must be in [0, 1], got {value}")
    if sparse_features and n_features < n_classes:
        raise ValueError(f"sparse features need a column per class: n_features {n_features} < n_classes {n_classes}")
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_nodes, dtype=np.int64) % n_classes)
    features: Features
    if sparse_features:
        features = _bag_of_words(y, n_classes, n_features, feature_noise, words_per_node, rng)
    else:
        features = _class_vectors(y, n_classes, n_features, feature_noise, rng)
    graph = as_graph(_edges(y, n_classes, round(n_nodes * mean_degree / 2), homophily, rng), features)
    # Each undirected edge was handed over once; that its reverse was added is no news to anyone.
    graph = dataclasses.replace(graph, notes=())
    names = tuple(f"block {i}" for i in range(n_classes))
    return Dataset(graph, y, names, name="stochastic-block")


def _edges(y: Indices, n_classes: int, n_edges: int, homophily: float, rng: np.random.Generator) -> Indices:
    """Draw different undirected edges, each once, as an edge index; the given share of them is within a class."""
    sizes = np.bincount(y, minlength=n_classes)
    n_within = round(n_edges * homophily)
    pairs_within = int((sizes * (sizes - 1) // 2).sum())
    pairs_between = len(y) * (len(y) - 1) // 2 - pairs_within
    for wanted, pairs, where in ((n_within, pairs_within, "within"), (n_edges - n_within, pairs_between, "between")):
        if wanted > pairs:
            raise ValueError(
                f"mean_degree and homophily ask for {wanted:,} edges {where} classes, but there are only {pairs:,} "
                "pairs of nodes; lower mean_degree, change homophily or add nodes"
            )
    within = _distinct_pairs(y, sizes, n_within, pairs_within, True, rng)
    between = _distinct_pairs(y, sizes, n_edges - n_within, pairs_between, False, rng)
    codes = np.concatenate([within, between])
    return np.stack(np.divmod(codes, len(y)))


def _distinct_pairs(
    y: Indices, sizes: Indices, wanted: int, n_pairs: int, within: bool, rng: np.random.Generator
) -> Indices:
    """Draw ``wanted`` different pairs u < v of the ``n_pairs`` there are, as sorted codes u * n + v."""
    # The nodes of class c are by_class[starts[c] : starts[c] + sizes[c]].
    by_class, starts = np.argsort(y, kind="stable"), np.cumsum(sizes) - sizes
    codes = np.empty(0, np.int64)
    while len(codes) < wanted:
        # As many draws as, given the pairs already taken, will about suffice; a few more save a round.
        free = 1 - len(codes) / n_pairs
        n_draws = int(1.02 * (wanted - len(codes)) / free) + 16
        u = rng.integers(len(y), size=n_draws)
        target = y[u]
        if not within:
            target = (target + rng.integers(1, len(sizes), size=n_draws)) % len(sizes)
        v = by_class[starts[target] + rng.integers(sizes[target])]
        low, high = np.minimum(u, v), np.maximum(u, v)
        codes = np.union1d(codes, (low * len(y) + high)[low != high])
    surplus = rng.choice(len(codes), len(codes) - wanted, replace=False, shuffle=False)
    return np.delete(codes, surplus)


def _class_vectors(y: Indices, n_classes: int, n_features: int, noise: float, rng: np.random.Generator) -> Any:
    centres = rng.standard_normal((n_classes, n_features), dtype=np.float32) * np.float32(np.sqrt(1 - noise))
    features = rng.standard_normal((len(y), n_features), dtype=np.float32)
    features *= np.float32(np.sqrt(noise))
    features += centres[y]
    return features


def _bag_of_words(
    y: Indices, n_classes: int, n_features: int, noise: float, n_words: int, rng: np.random.Generator
) -> sp.csr_array:
    shape = (len(y), n_words)
    vocabulary = (n_features - y + n_classes - 1) // n_classes  # columns y, y + n_classes, ...
    own = y[:, None] + n_classes * rng.integers(vocabulary[:, None], size=shape)
    words = np.where(rng.random(shape, dtype=np.float32) < noise, rng.integers(n_features, size=shape), own)
    starts = np.arange(len(y) + 1) * n_words
    features = sp.csr_array((np.ones(words.size, np.float32), words.ravel(), starts), shape=(len(y), n_features))
    features.sum_duplicates()
    features.data[:] = 1
    return features
