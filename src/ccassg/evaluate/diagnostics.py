"""What an embedding looks like, without labels: rank, redundancy, uniformity.

All sums run in float64 over blocks of rows, so no second copy of the embedding is made.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ccassg.evaluate.checks import check_embedding
from ccassg.evaluate.neighbours import unit_rows
from ccassg.graph import Array
from ccassg.graph.checks import check_count

# Rows of one block of a sum over all nodes.
BLOCK_ROWS = 4096
# A column whose standard deviation is below this part of its mean holds nothing but rounding.
CONSTANT = 1e-6
# Nodes x columns x columns in a covariance, about five seconds on one core; of more nodes it is that of a sample.
MAX_PRODUCTS = 100_000_000_000


def diagnose(z: Any) -> dict[str, Any]:
    """Return the label-free measures of one embedding (n, d), and warnings in plain language.

    Of very many nodes and columns they are those of nodes drawn at random, about 36 thousand of 1664 columns.

    Returns
    -------
    dict
        ``n_nodes``, ``n_dims``, ``n_constant_columns`` (the same for all nodes, up to rounding), ``effective_rank`` (how
        many dimensions the embedding really uses, between 1 and d; 0 if all rows are equal),
        ``off_diagonal_correlation`` (mean absolute Pearson correlation of two different columns that vary, in [0, 1]),
        ``top_variance_share`` (of the first principal direction), ``uniformity`` (None for a single node), ``spectrum``
        (list of the d eigenvalues of the covariance, largest first) and ``warnings`` (list of str, empty if nothing is
        wrong). Goes to JSON as it is.
    """
    embedding = check_embedding(z)
    return measures_of(embedding, moments(embedding))


def measures_of(embedding: Array, columns: "Moments") -> dict[str, Any]:
    """Return what `diagnose` does, where the moments are known already."""
    n, d = embedding.shape
    eigenvalues = _eigenvalues(columns)
    total = float(eigenvalues.sum())
    measures = {
        "n_nodes": n,
        "n_dims": d,
        "n_constant_columns": int((columns.scale == 0).sum()),
        "effective_rank": _effective_rank(eigenvalues),
        "off_diagonal_correlation": _off_diagonal(columns),
        "top_variance_share": float(eigenvalues[0]) / total if total > 0 else 0.0,
        "uniformity": uniformity(embedding) if n > 1 else None,
        "spectrum": eigenvalues.tolist(),
    }
    return {**measures, "warnings": warnings_about(measures)}


def correlation_matrix(z: Any) -> Array:
    """Return the Pearson correlation of the columns, shape (d, d); rows and columns of a constant dimension are 0."""
    return correlation(moments(check_embedding(z)))


def warnings_about(measures: Mapping[str, Any], settings: Mapping[str, Any] | None = None) -> list[str]:
    """Say in plain language what is wrong with an embedding of these measures, with advice that fits its ``settings``.

    Without settings nothing is known of how it was made.
    """
    n, d, constant = measures["n_nodes"], measures["n_dims"], measures["n_constant_columns"]
    if n == 1:
        return []
    trained = settings is None or ("learning_rate" in settings and settings.get("encoder") != "canonical")
    if constant == d:
        advice = "lower the learning rate" if trained else "look at the features"
        return [f"Complete collapse: every node has the same embedding, which says nothing; {advice}."]
    found = []
    if measures["uniformity"] > -0.05:
        found.append("Near-complete collapse: the embeddings of all nodes point almost the same way.")
    if constant:
        found.append(
            f"{constant} of {d} dimensions {'is' if constant == 1 else 'are'} constant: the same value for every node "
            "says nothing; a smaller width loses nothing."
        )
    spread = "" if settings is not None and not (trained and "decorrelation" in settings) else "decorrelation weight"
    if settings is not None and settings.get("encoder") == "canonical":
        return found  # its parts tell the same in several ways, and their widths are nobody's choice
    # Centred rows span at most n - 1 directions, so this is what could have been filled.
    possible = min(d - constant, n - 1)
    rank = measures["effective_rank"]
    if possible > 1 and rank < 0.1 * possible:
        found.append(
            f"Collapsed dimensions: the embedding uses about {rank:.1f} of {possible} possible dimensions; a smaller "
            f"width may do{f' (in CCA-SSG, a larger {spread} or longer training spreads it)' if spread else ''}."
        )
    if possible > 1 and measures["off_diagonal_correlation"] > 0.5:
        found.append(
            f"Redundant dimensions: two of them correlate by {measures['off_diagonal_correlation']:.2f} on average; a "
            f"smaller width may do{f' (in CCA-SSG, also a larger {spread})' if spread else ''}."
        )
    if settings is not None and "embedding_dim" in settings and d >= n:  # else nobody is known to have chosen it
        found.append(f"{d} dimensions for {n} nodes: more than the nodes can fill; use a smaller width.")
    return found


def uniformity(z: Any, *, n_sample: int = 2048, seed: int = 0) -> float:
    """Say how evenly the rows cover the unit sphere: ln E exp(-2 ||z_i - z_j||^2) over pairs i != j; lower is more even.

    0 if all rows point the same way (complete collapse); about -4 for directions spread over a sphere of many dimensions
    (Wang and Isola, 2020).

    Parameters
    ----------
    z : array of shape (n, d)
        At least two rows; each is put on the unit sphere, a row of zeros stays in the middle.
    n_sample : int
        All pairs among this many nodes, drawn without replacement; all nodes if there are no more.
    seed : int
        Of that draw.
    """
    embedding = check_embedding(z)
    check_count("seed", seed)
    check_count("n_sample", n_sample)
    if len(embedding) < 2 or n_sample < 2:
        raise ValueError(
            f"uniformity needs pairs: at least 2 rows and n_sample >= 2, got {len(embedding)} and {n_sample}"
        )
    if len(embedding) > n_sample:
        embedding = embedding[np.random.default_rng(seed).choice(len(embedding), n_sample, replace=False)]
    rows = unit_rows(embedding.astype(np.float64))
    lengths = (rows**2).sum(1)
    squared = lengths[:, None] + lengths[None, :] - 2 * rows @ rows.T
    pairs = -2.0 * np.maximum(squared[np.triu_indices(len(rows), 1)], 0)
    top = pairs.max()
    return float(top + np.log(np.mean(np.exp(pairs - top))))


class Moments(NamedTuple):
    """Of the columns: mean (d,), covariance (d, d) divided by n, and 1 / standard deviation (d,), 0 where constant."""

    mean: Array
    covariance: Array
    scale: Array


def moments(z: Array, block_rows: int = BLOCK_ROWS) -> Moments:
    """Return mean, covariance and scale of the columns of an embedding (n, d), or of as many of its rows as can be worked on."""
    most = max(MAX_PRODUCTS // z.shape[1] ** 2, 4 * z.shape[1])
    if len(z) > most:
        z = z[np.sort(np.random.default_rng(0).choice(len(z), most, replace=False))]
    mean = z.mean(0, dtype=np.float64)
    covariance = np.zeros((z.shape[1], z.shape[1]))
    for block in row_blocks(len(z), block_rows):
        rows = z[block] - mean
        covariance += rows.T @ rows
    covariance /= len(z)
    variance = np.diag(covariance)
    varies = variance > (CONSTANT * mean) ** 2
    return Moments(mean, covariance, np.divide(1, np.sqrt(variance), out=np.zeros_like(mean), where=varies))


def correlation(columns: Moments) -> Array:
    """Return the Pearson correlations (d, d), 0 where a column is constant."""
    return np.clip(columns.covariance * columns.scale * columns.scale[:, None], -1, 1)


def row_blocks(n: int, block_rows: int = BLOCK_ROWS) -> Iterator[slice]:
    """Yield the slices that cover ``n`` rows block by block."""
    for start in range(0, n, block_rows):
        yield slice(start, start + block_rows)


def _off_diagonal(columns: Moments) -> float:
    m = int((columns.scale > 0).sum())
    if m < 2:
        return 0.0
    absolute = np.abs(correlation(columns))
    return float((absolute.sum() - np.trace(absolute)) / (m * (m - 1)))


def _eigenvalues(columns: Moments) -> Array:
    if not columns.scale.any():
        return np.zeros(len(columns.scale))
    values = np.linalg.eigvalsh(columns.covariance)[::-1]
    # Directions of about 1e-16 of the largest are rounding; their roots would add up to a rank that is not there.
    rounding = len(values) * np.finfo(np.float64).eps * abs(values[0])
    return np.where(values > rounding, values, 0.0)


def _effective_rank(eigenvalues: Array) -> float:
    """Return exp(-sum_i p_i ln p_i), p_i = s_i / sum_j s_j, of the singular values s_i (Roy and Vetterli, 2007).

    They are those of the centred embedding, the square roots of its spectrum. d equal ones give d; one gives 1. It does not
    change under rotation, shift or a common scale.
    """
    singular = np.sqrt(eigenvalues[eigenvalues > 0])
    if singular.size == 0:
        return 0.0
    p = singular / singular.sum()
    return float(np.exp(-(p * np.log(p)).sum()))
