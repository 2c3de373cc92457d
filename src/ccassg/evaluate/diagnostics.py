"""What an embedding looks like, without labels: rank, redundancy, alignment, uniformity.

All sums run in float64 over blocks of rows, so no second copy of the embedding is made.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ccassg.evaluate.checks import check_embedding
from ccassg.evaluate.neighbours import unit_rows
from ccassg.graph import Array

# Rows of one block of a sum over all nodes.
BLOCK_ROWS = 4096
# A column whose standard deviation is below this part of its root mean square holds nothing but rounding.
CONSTANT = 1e-6


def spectrum(z: Any) -> Array:
    """Return the eigenvalues of the covariance of the columns, largest first, shape (d,).

    The covariance divides by n. What is rounding is 0; all are 0 if the rows are equal.
    """
    return _eigenvalues(moments(check_embedding(z)))


def effective_rank(z: Any) -> float:
    """Return the number of dimensions the embedding really uses, between 1 and d; 0 if all rows are equal.

    exp(-sum_i p_i ln p_i), where p_i = s_i / sum_j s_j and s_i are the singular values of the centred embedding, i.e. the
    square roots of its spectrum (Roy and Vetterli, 2007). d equal singular values give d; one gives 1. It does not
    change under rotation, shift or a common scale.
    """
    return _effective_rank(spectrum(z))


def correlation_matrix(z: Any) -> Array:
    """Return the Pearson correlation of the columns, shape (d, d); rows and columns of a constant dimension are 0."""
    return correlation(moments(check_embedding(z)))


def off_diagonal_correlation(z: Any) -> float:
    """Return the mean absolute Pearson correlation of two different columns, in [0, 1]; constant columns are left out.

    0 if fewer than two columns vary.
    """
    return _off_diagonal(moments(check_embedding(z)))


def n_constant_columns(z: Any) -> int:
    """Count the columns that are the same for all nodes, up to rounding."""
    return _n_constant(moments(check_embedding(z)))


def alignment(z1: Any, z2: Any) -> float:
    """Return the mean squared distance of two views of a node, E ||z1_i - z2_i||^2, 0 at best (Wang and Isola, 2020).

    Parameters
    ----------
    z1, z2 : arrays of shape (n, d)
        Embeddings of two views, row by row of the same nodes. Each row is put on the unit sphere first; a row of zeros
        stays in the middle.
    """
    first, second = check_embedding(z1, "z1"), check_embedding(z2, "z2")
    if first.shape != second.shape:
        raise ValueError(f"z1 and z2 must have one shape, got {first.shape} and {second.shape}")
    total = 0.0
    for rows in row_blocks(len(first)):
        a, b = (unit_rows(z[rows].astype(np.float64)) for z in (first, second))
        total += float(((a - b) ** 2).sum())
    return total / len(first)


def uniformity(z: Any, *, t: float = 2.0, n_sample: int = 2048, seed: int = 0) -> float:
    """Say how evenly the rows cover the unit sphere: ln E exp(-t ||z_i - z_j||^2) over pairs i != j; lower is more even.

    0 if all rows point the same way (complete collapse); about ``-2 t`` for directions spread over a sphere of many
    dimensions (Wang and Isola, 2020).

    Parameters
    ----------
    z : array of shape (n, d)
        At least two rows; each is put on the unit sphere, a row of zeros stays in the middle.
    t : float
        Positive.
    n_sample : int
        All pairs among this many nodes, drawn without replacement; all nodes if there are no more.
    seed : int
        Of that draw.
    """
    embedding = check_embedding(z)
    if len(embedding) < 2 or n_sample < 2:
        raise ValueError(
            f"uniformity needs pairs: at least 2 rows and n_sample >= 2, got {len(embedding)} and {n_sample}"
        )
    if t <= 0:
        raise ValueError(f"t must be positive, got {t}")
    if len(embedding) > n_sample:
        embedding = embedding[np.random.default_rng(seed).choice(len(embedding), n_sample, replace=False)]
    rows = unit_rows(embedding.astype(np.float64))
    lengths = (rows**2).sum(1)
    squared = lengths[:, None] + lengths[None, :] - 2 * rows @ rows.T
    pairs = -t * np.maximum(squared[np.triu_indices(len(rows), 1)], 0)
    top = pairs.max()
    return float(top + np.log(np.mean(np.exp(pairs - top))))


def diagnose(z: Any, *, seed: int = 0) -> dict[str, Any]:
    """Return the label-free measures of one embedding, and warnings in plain language.

    Parameters
    ----------
    z : array of shape (n, d)
    seed : int
        For the sample of nodes behind `uniformity`.

    Returns
    -------
    dict
        ``n_nodes``, ``n_dims``, ``n_constant_columns``, ``effective_rank``, ``off_diagonal_correlation``,
        ``top_variance_share`` (of the first principal direction), ``uniformity`` (None for a single node), ``spectrum``
        (list) and ``warnings`` (list of str, empty if nothing is wrong). Goes to JSON as it is.
    """
    embedding = check_embedding(z)
    n, d = embedding.shape
    columns = moments(embedding)
    eigenvalues = _eigenvalues(columns)
    total = float(eigenvalues.sum())
    measures = {
        "n_nodes": n,
        "n_dims": d,
        "n_constant_columns": _n_constant(columns),
        "effective_rank": _effective_rank(eigenvalues),
        "off_diagonal_correlation": _off_diagonal(columns),
        "top_variance_share": float(eigenvalues[0]) / total if total > 0 else 0.0,
        "uniformity": uniformity(embedding, seed=seed) if n > 1 else None,
        "spectrum": eigenvalues.tolist(),
    }
    return {**measures, "warnings": _warnings(measures)}


class Moments(NamedTuple):
    """What the columns of an embedding have in common.

    Attributes
    ----------
    mean : float64 array of shape (d,)
    covariance : float64 array of shape (d, d)
        Divided by n.
    scale : float64 array of shape (d,)
        1 / standard deviation; 0 for a constant column.
    """

    mean: Array
    covariance: Array
    scale: Array


def moments(z: Array, block_rows: int = BLOCK_ROWS) -> Moments:
    """Return mean, covariance and scale of the columns of an embedding (n, d)."""
    mean = z.mean(0, dtype=np.float64)
    covariance = np.zeros((z.shape[1], z.shape[1]))
    for block in row_blocks(len(z), block_rows):
        rows = z[block] - mean
        covariance += rows.T @ rows
    covariance /= len(z)
    variance = np.diag(covariance)
    varies = variance > CONSTANT**2 * (mean**2 + variance)
    return Moments(mean, covariance, np.divide(1, np.sqrt(variance), out=np.zeros_like(mean), where=varies))


def correlation(columns: Moments) -> Array:
    """Return the Pearson correlations (d, d), 0 where a column is constant."""
    return np.clip(columns.covariance * columns.scale * columns.scale[:, None], -1, 1)


def row_blocks(n: int, block_rows: int = BLOCK_ROWS) -> Iterator[slice]:
    """Yield the slices that cover ``n`` rows block by block."""
    for start in range(0, n, block_rows):
        yield slice(start, start + block_rows)


def _n_constant(columns: Moments) -> int:
    return int((columns.scale == 0).sum())


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
    singular = np.sqrt(eigenvalues[eigenvalues > 0])
    if singular.size == 0:
        return 0.0
    p = singular / singular.sum()
    return float(np.exp(-(p * np.log(p)).sum()))


def _warnings(measures: dict[str, Any]) -> list[str]:
    n, d, constant = measures["n_nodes"], measures["n_dims"], measures["n_constant_columns"]
    if n == 1:
        return []
    if constant == d:
        return ["Complete collapse: every node has the same embedding, which says nothing; lower the learning rate."]
    found = []
    if measures["uniformity"] > -0.05:
        found.append("Near-complete collapse: the embeddings of all nodes point almost the same way.")
    if constant:
        found.append(
            f"{constant} of {d} dimensions {'is' if constant == 1 else 'are'} constant: the same value for every node "
            "says nothing; a smaller width loses nothing."
        )
    # Centred rows span at most n - 1 directions, so this is what could have been filled.
    possible = min(d - constant, n - 1)
    rank = measures["effective_rank"]
    if possible > 1 and rank < 0.1 * possible:
        found.append(
            f"Collapsed dimensions: the embedding uses about {rank:.1f} of {possible} possible dimensions; a smaller "
            "width may do (in CCA-SSG, a larger decorrelation weight or longer training spreads it)."
        )
    if possible > 1 and measures["off_diagonal_correlation"] > 0.5:
        found.append(
            f"Redundant dimensions: two of them correlate by {measures['off_diagonal_correlation']:.2f} on average; a "
            "smaller width may do (in CCA-SSG, also a larger decorrelation weight)."
        )
    if d >= n:
        found.append(f"{d} dimensions for {n} nodes: more than the nodes can fill; use a smaller width.")
    return found
