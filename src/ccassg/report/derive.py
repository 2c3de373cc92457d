"""What the page shows beyond the records: numbers derived from an embedding by NumPy and scikit-learn.

Arrays in, arrays out; nothing here knows about HTML. Everything random takes a seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors

Array: TypeAlias = npt.NDArray[Any]

# Above this many nodes a t-SNE of all of them takes minutes; the others are then placed among landmarks.
N_LANDMARKS = 4_000
# Iterations of t-SNE. Half of scikit-learn's default: the picture no longer changes visibly after that.
N_ITERATIONS = 500
# Rows per block of a sum over all nodes.
BLOCK_ROWS = 8_192
# A column whose standard deviation is below this part of its root mean square holds nothing but rounding.
CONSTANT = 1e-6
# The heat map shows at most this many columns, evenly spaced, so that a cell stays visible.
N_SHOWN_COLUMNS = 128


def map_2d(
    embedding: Array, *, n_landmarks: int = N_LANDMARKS, n_iterations: int = N_ITERATIONS, random_state: int = 0
) -> tuple[Array, str]:
    """Place the nodes in the plane so that near nodes stay near.

    Up to ``n_landmarks`` nodes: the first 50 principal components, then t-SNE. Beyond: t-SNE of that many nodes drawn
    at random, and every other node at the weighted mean of the places of its five nearest landmarks. Fewer than eight
    nodes: the first two principal components.

    Parameters
    ----------
    embedding : array of shape (n, d)
    n_landmarks, n_iterations, random_state : int

    Returns
    -------
    positions : float64 array of shape (n, 2)
    how : str
        One sentence for the reader of the picture.
    """
    n = len(embedding)
    reduced = _principal_components(embedding, 50)
    if n < 8 or not reduced.any():
        flat = np.zeros((n, 2))
        flat[:, : min(2, reduced.shape[1])] = reduced[:, :2]
        return flat, "The first two principal components of the embedding."
    rng = np.random.default_rng(random_state)
    chosen = np.arange(n) if n <= n_landmarks else np.sort(rng.choice(n, n_landmarks, replace=False))
    landmarks = reduced[chosen]
    # The PCA start keeps the large-scale order; its smallest scale is t-SNE's own convention.
    start = np.zeros((len(chosen), 2))
    start[:, : min(2, reduced.shape[1])] = landmarks[:, :2]
    start *= 1e-4 / max(float(start[:, 0].std()), 1e-12)
    start += rng.normal(scale=1e-6, size=start.shape)  # equal rows would otherwise never part
    perplexity = min(30.0, (len(chosen) - 1) / 3)
    # The coarse angle takes a third off the time; how well neighbours are kept changes in the third digit only.
    tsne = TSNE(perplexity=perplexity, init=start, max_iter=n_iterations, angle=0.8, random_state=random_state)
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


def clusters(embedding: Array, n_clusters: int, *, random_state: int = 0) -> Array:
    """K-means of the rows, as int array of shape (n,); cluster 0 is the largest."""
    reduced = _principal_components(embedding, 50)
    k = max(1, min(n_clusters, len(np.unique(reduced, axis=0))))
    method = KMeans if len(reduced) <= 20_000 else MiniBatchKMeans
    found = method(n_clusters=k, n_init=3, random_state=random_state).fit_predict(reduced)
    by_size = np.argsort(-np.bincount(found, minlength=k), kind="stable")
    return np.argsort(by_size)[found]


@dataclass(frozen=True)
class Spectrum:
    """How the variance of an embedding spreads over its directions.

    Attributes
    ----------
    variance : float64 array of shape (min(n, d),)
        Share of each principal direction in the total variance, in decreasing order; all 0 if the rows are equal.
    effective_rank : float
        ``exp(-sum_i p_i log p_i)`` with ``p_i`` the share of the i-th singular value of the centred embedding in their
        sum (Roy and Vetterli, 2007): 1 for a line, d for d equal directions, 0 if all rows are equal.
    """

    variance: Array
    effective_rank: float


def spectrum(embedding: Array) -> Spectrum:
    """Spectrum of the centred embedding."""
    mean, covariance = _moments(embedding)
    values = np.clip(np.linalg.eigvalsh(covariance)[::-1][: len(embedding)], 0, None)
    total = values.sum()
    if not _varies(mean, covariance).any():
        return Spectrum(np.zeros(len(values)), 0.0)
    # Rounding leaves directions of about 1e-16 of the largest; their roots would add up to a rank that is not there.
    values[values <= len(covariance) * np.finfo(np.float64).eps * values[0]] = 0
    share = np.sqrt(values[values > 0])
    share /= share.sum()
    return Spectrum(values / total, float(np.exp(-(share * np.log(share)).sum())))


@dataclass(frozen=True)
class Correlation:
    """Correlation of the embedding's columns.

    Attributes
    ----------
    matrix : float64 array of shape (m, m)
        Of the columns in ``columns``; a constant column correlates with nothing, not even itself (0).
    columns : int array of shape (m,)
    mean_absolute : float
        Mean absolute correlation of two different columns, over all columns that vary.
    n_constant : int
        Number of columns that do not vary.
    """

    matrix: Array
    columns: Array
    mean_absolute: float
    n_constant: int


def correlation(embedding: Array, n_shown: int = N_SHOWN_COLUMNS) -> Correlation:
    """Correlate all columns; keep ``n_shown`` evenly spaced ones for the picture."""
    mean, covariance = _moments(embedding)
    varies = _varies(mean, covariance)
    scale = np.zeros(len(mean))
    scale[varies] = 1 / np.sqrt(np.diag(covariance)[varies])
    full = np.clip(covariance * scale[:, None] * scale, -1, 1)
    n_varying, d = int(varies.sum()), len(full)
    pairs = n_varying * (n_varying - 1)
    off_diagonal = np.abs(full).sum() - np.abs(np.diag(full)).sum()
    columns = np.unique(np.linspace(0, d - 1, min(d, n_shown)).round().astype(int))
    mean_absolute = float(off_diagonal / pairs) if pairs else 0.0
    return Correlation(full[np.ix_(columns, columns)], columns, mean_absolute, d - n_varying)


def warnings(
    embedding: Array,
    shape: Spectrum,
    columns: Correlation,
    graph: Mapping[str, Any],
    history: Mapping[str, list[float]],
    *,
    joined: bool = False,
) -> list[str]:
    """What a reader should know before trusting the embedding, in plain sentences; none if nothing is wrong.

    The parts of a ``joined`` encoder describe the same features several times, so that its width may exceed their number.
    """
    n, d = embedding.shape
    found: list[str] = []
    # Centred rows span at most n - 1 directions, so this is what could have been filled.
    rank, possible = shape.effective_rank, min(d - columns.n_constant, n - 1)
    if rank == 0 and n > 1:
        found.append("All nodes have the same embedding (complete collapse): it says nothing. Lower the learning rate.")
    elif possible > 1 and rank < 0.1 * possible:
        found.append(
            f"Collapsed dimensions: the {d} columns behave like {rank:.1f} independent ones. "
            f"Raise the decorrelation weight, train longer, or choose a smaller width."
        )
    if columns.n_constant and rank > 0:
        found.append(
            f"{_count(columns.n_constant, 'column')} of {d} {'is' if columns.n_constant == 1 else 'are'} constant: "
            f"the same value for every node, hence useless. A smaller width loses nothing."
        )
    if possible > 1 and columns.mean_absolute > 0.5:
        found.append(
            f"The columns repeat each other: two of them correlate by {columns.mean_absolute:.2f} on average. "
            f"Raise the decorrelation weight or choose a smaller width."
        )
    if d >= n > 1:
        found.append(f"{d} columns for {_count(n, 'node')}: more than the nodes can fill. Choose a smaller width.")
    nodes, isolated, features = (graph.get(key) for key in ("nodes", "isolated", "features"))
    if nodes and isolated and isolated >= 0.1 * nodes:
        found.append(
            f"{_count(isolated, 'node')} of {nodes:,} ({isolated / nodes:.0%}) "
            f"{'has' if isolated == 1 else 'have'} no edge: their embedding rests on their own features alone."
        )
    if features and features < d and not joined:
        found.append(
            f"The graph has {_count(features, 'feature')}, fewer than the {d} columns of the embedding: "
            f"they can hardly all be independent. Try a width of at most {features}."
        )
    loss = np.asarray(history.get("loss", []), dtype=np.float64)
    if loss.size and not np.isfinite(loss).all():
        step = int(np.flatnonzero(~np.isfinite(loss))[0]) + 1
        found.append(
            f"The loss was not a finite number at step {step}: the training diverged. Lower the learning rate."
        )
    elif loss.size > 1:
        few = max(1, loss.size // 10)  # single steps are noisy: every one has views of its own
        first, last = float(loss[:few].mean()), float(loss[-few:].mean())
        if last > first:
            found.append(
                f"The loss ended above its start ({first:.4g} to {last:.4g}): the training did not converge. "
                f"Bring the features to one scale, or lower the learning rate."
            )
    return found


def _moments(embedding: Array) -> tuple[Array, Array]:
    """Mean (d,) and covariance (d, d) in 64 bits, block by block: never a second copy of the embedding."""
    n, d = embedding.shape
    mean = embedding.mean(axis=0, dtype=np.float64)
    covariance = np.zeros((d, d))
    for start in range(0, n, BLOCK_ROWS):
        block = embedding[start : start + BLOCK_ROWS] - mean
        covariance += block.T @ block
    return mean, covariance / n


def _varies(mean: Array, covariance: Array) -> Array:
    """Which columns are more than one constant and its rounding, bool of shape (d,)."""
    variance = np.diag(covariance)
    return variance > CONSTANT**2 * (mean**2 + variance)


def _principal_components(embedding: Array, dim: int) -> Array:
    """The first principal components, float32 of shape (n, at most dim), turned to their heavier side, the largest entry 1."""
    mean, covariance = _moments(embedding)
    vectors = np.linalg.eigh(covariance)[1][:, ::-1][:, : min(dim, *embedding.shape)]
    heaviest = np.abs(vectors).argmax(axis=0)
    vectors = vectors * np.sign(vectors[heaviest, np.arange(vectors.shape[1])])
    # Subtracting the projected mean instead of the mean saves a copy; 64 bits keep the difference exact enough.
    projected = embedding @ vectors - mean @ vectors
    return (projected / max(float(np.abs(projected).max(initial=0.0)), 1e-300)).astype(np.float32)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
