"""What the page shows beyond the records: numbers derived from an embedding by NumPy and scikit-learn.

Arrays in, arrays out; nothing here knows about HTML. What is random has a fixed seed: the same embedding, the same page.
"""

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors

from ccassg.evaluate.diagnostics import Moments, moments
from ccassg.graph import Array

# Above this many nodes a t-SNE of all of them takes minutes; the others are then placed among landmarks.
N_LANDMARKS = 4_000
# Iterations of t-SNE. Half of scikit-learn's default: the picture no longer changes visibly after that.
N_ITERATIONS = 500


def principal_components(embedding: Array, dim: int = 50, *, columns: Moments | None = None) -> Array:
    """Return the first principal components as float32 of shape (n, at most dim), the largest entry 1.

    Each is turned to its heavier side, so that the picture does not flip by chance. ``columns`` are the moments, if known.
    """
    mean, covariance, _ = moments(embedding) if columns is None else columns
    vectors = np.linalg.eigh(covariance)[1][:, ::-1][:, : min(dim, *embedding.shape)]
    heaviest = np.abs(vectors).argmax(axis=0)
    vectors = vectors * np.sign(vectors[heaviest, np.arange(vectors.shape[1])])
    # Subtracting the projected mean instead of the mean saves a copy; 64 bits keep the difference exact enough.
    projected = embedding @ vectors - mean @ vectors
    return (projected / max(float(np.abs(projected).max(initial=0.0)), 1e-300)).astype(np.float32)


def map_2d(reduced: Array, *, n_landmarks: int = N_LANDMARKS, n_iterations: int = N_ITERATIONS) -> tuple[Array, str]:
    """Place nodes, given by principal components (n, m), in the plane so that near ones stay near.

    Up to ``n_landmarks`` nodes: t-SNE. Beyond: t-SNE of that many nodes drawn at random, and every other node at the
    weighted mean of the places of its five nearest landmarks. Fewer than eight nodes: the first two principal components.
    Returns the places (n, 2), and how they came about in a sentence for the reader of the picture.
    """
    n = len(reduced)
    if n < 8 or not reduced.any():
        flat = np.zeros((n, 2))
        flat[:, : min(2, reduced.shape[1])] = reduced[:, :2]
        return flat, "The first two principal components of the embedding."
    rng = np.random.default_rng(0)
    chosen = np.arange(n) if n <= n_landmarks else np.sort(rng.choice(n, n_landmarks, replace=False))
    landmarks = reduced[chosen]
    # The PCA start keeps the large-scale order; its smallest scale is t-SNE's own convention.
    start = np.zeros((len(chosen), 2))
    start[:, : min(2, reduced.shape[1])] = landmarks[:, :2]
    start *= 1e-4 / max(float(start[:, 0].std()), 1e-12)
    start += rng.normal(scale=1e-6, size=start.shape)  # equal rows would otherwise never part
    perplexity = min(30.0, (len(chosen) - 1) / 3)
    # The coarse angle takes a third off the time; how well neighbours are kept changes in the third digit only.
    tsne = TSNE(perplexity=perplexity, init=start, max_iter=n_iterations, angle=0.8, random_state=0)
    placed = np.asarray(tsne.fit_transform(landmarks), dtype=np.float64)
    how = (
        f"t-SNE of the first {reduced.shape[1]} principal components: near nodes are alike; distances between groups mean "
        f"little."
    )
    if len(chosen) == n:
        return placed, how
    distance, nearest = NearestNeighbors(n_neighbors=5).fit(landmarks).kneighbors(reduced)
    weight = 1 / np.maximum(distance, 1e-9)
    positions = np.einsum("nk,nkc->nc", weight / weight.sum(1, keepdims=True), placed[nearest])
    return positions, f"{how} Computed on {len(chosen):,} nodes; the others lie at the mean of their nearest of these."


def clusters(reduced: Array, n_clusters: int) -> Array:
    """Find groups of nodes by k-means, as int array of shape (n,); cluster 0 is the largest."""
    k = max(1, min(n_clusters, len(np.unique(reduced, axis=0))))
    method = KMeans if len(reduced) <= 20_000 else MiniBatchKMeans
    found = method(n_clusters=k, n_init=3, random_state=0).fit_predict(reduced)
    by_size = np.argsort(-np.bincount(found, minlength=k), kind="stable")
    return np.argsort(by_size)[found]
