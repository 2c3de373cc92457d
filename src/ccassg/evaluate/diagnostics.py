"""What an embedding looks like, without labels: rank, redundancy, alignment, uniformity.

All sums run in float64 over blocks of rows, so no second copy of the embedding is made.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ccassg.evaluate.checks import check_embedding

Array: TypeAlias = npt.NDArray[Any]

BLOCK_ROWS = 4096
# A column whose standard deviation is below this part of its root mean square holds nothing but rounding.
CONSTANT = 1e-6


def spectrum(z: Any) -> Array:
    """Eigenvalues of the covariance of the columns, largest first, shape (d,).

    The covariance divides by n. Rounding below zero is cut off.
    """
    return _eigenvalues(_covariance(check_embedding(z))[1])


def effective_rank(z: Any) -> float:
    """Number of dimensions the embedding really uses, between 1 and d; 0 if all rows are equal.

    exp(-sum_i p_i ln p_i), where p_i = s_i / sum_j s_j and s_i are the singular values of the centred embedding, i.e. the
    square roots of its spectrum (Roy and Vetterli, 2007). d equal singular values give d; one gives 1. It does not
    change under rotation, shift or a common scale.
    """
    return _effective_rank(spectrum(z))


def correlation_matrix(z: Any) -> Array:
    """Pearson correlation of the columns, shape (d, d); rows and columns of a constant dimension are 0."""
    mean, covariance = _covariance(check_embedding(z))
    return _correlation(covariance, ~_constant(mean, covariance))


def off_diagonal_correlation(z: Any) -> float:
    """Mean absolute Pearson correlation of two different columns, in [0, 1]; constant columns are left out.

    0 if fewer than two columns vary.
    """
    mean, covariance = _covariance(check_embedding(z))
    return _off_diagonal(covariance, ~_constant(mean, covariance))


def n_constant_columns(z: Any) -> int:
    """Number of columns that are the same for all nodes, up to rounding."""
    return int(_constant(*_covariance(check_embedding(z))).sum())


def alignment(z1: Any, z2: Any, *, alpha: float = 2.0, normalize: bool = True) -> float:
    """Mean distance of two views of the same node: E ||z1_i - z2_i||^alpha, 0 at best (Wang and Isola, 2020).

    Parameters
    ----------
    z1, z2 : arrays of shape (n, d)
        Embeddings of two views, row by row of the same nodes.
    alpha : float
        Positive.
    normalize : bool
        Put each row on the unit sphere first, as the definition has it; a row of zeros stays in the middle.
    """
    first, second = check_embedding(z1, "z1"), check_embedding(z2, "z2")
    if first.shape != second.shape:
        raise ValueError(f"z1 and z2 must have one shape, got {first.shape} and {second.shape}")
    if alpha <= 0:
        raise ValueError(f"alpha must be positive, got {alpha}")
    total = 0.0
    for start in range(0, len(first), BLOCK_ROWS):
        a, b = (z[start : start + BLOCK_ROWS].astype(np.float64) for z in (first, second))
        if normalize:
            a, b = _unit_rows(a), _unit_rows(b)
        total += float((np.linalg.norm(a - b, axis=1) ** alpha).sum())
    return total / len(first)


def uniformity(z: Any, *, t: float = 2.0, n_sample: int = 2048, seed: int = 0) -> float:
    """How evenly the rows cover the unit sphere: ln E exp(-t ||z_i - z_j||^2) over pairs i != j; lower is more even.

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
    rows = _unit_rows(embedding.astype(np.float64))
    lengths = (rows**2).sum(1)
    squared = lengths[:, None] + lengths[None, :] - 2 * rows @ rows.T
    pairs = -t * np.maximum(squared[np.triu_indices(len(rows), 1)], 0)
    top = pairs.max()
    return float(top + np.log(np.mean(np.exp(pairs - top))))


def diagnose(z: Any, *, seed: int = 0) -> dict[str, Any]:
    """The label-free measures of one embedding, and warnings in plain language.

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
    mean, covariance = _covariance(embedding)
    constant = _constant(mean, covariance)
    eigenvalues = _eigenvalues(covariance)
    total = float(eigenvalues.sum())
    measures = {
        "n_nodes": n,
        "n_dims": d,
        "n_constant_columns": int(constant.sum()),
        "effective_rank": _effective_rank(eigenvalues) if not constant.all() else 0.0,
        "off_diagonal_correlation": _off_diagonal(covariance, ~constant),
        "top_variance_share": float(eigenvalues[0]) / total if total > 0 else 0.0,
        "uniformity": uniformity(embedding, seed=seed) if n > 1 else None,
        "spectrum": eigenvalues.tolist(),
    }
    return {**measures, "warnings": _warnings(measures)}


def _warnings(measures: dict[str, Any]) -> list[str]:
    n, d, constant = measures["n_nodes"], measures["n_dims"], measures["n_constant_columns"]
    if constant == d:
        return ["Complete collapse: every node has the same embedding."]
    found = []
    if measures["uniformity"] is not None and measures["uniformity"] > -0.05:
        found.append("Near-complete collapse: the embeddings of all nodes point almost the same way.")
    if constant:
        found.append(f"{constant} of {d} dimensions are constant: they say nothing about the nodes.")
    # Centred rows span at most n - 1 directions, so this is what could have been filled.
    possible = min(d - constant, n - 1)
    rank = measures["effective_rank"]
    if possible > 1 and rank < 0.1 * possible:
        found.append(
            f"Collapsed dimensions: the embedding uses about {rank:.1f} of {possible} possible dimensions (in CCA-SSG a "
            "larger decorrelation weight spreads it)."
        )
    if possible > 1 and measures["off_diagonal_correlation"] > 0.5:
        found.append(
            f"Redundant dimensions: two of them correlate by {measures['off_diagonal_correlation']:.2f} on average; a "
            "smaller width may do (in CCA-SSG, also a larger decorrelation weight)."
        )
    if d >= n:
        found.append(f"{d} dimensions for {n} nodes: more than the nodes can fill; use a smaller width.")
    return found


def _covariance(z: Array) -> tuple[Array, Array]:
    """Column means (d,) and covariance (d, d), divided by n, in float64."""
    mean = z.mean(0, dtype=np.float64)
    total = np.zeros((z.shape[1], z.shape[1]))
    for start in range(0, len(z), BLOCK_ROWS):
        rows = z[start : start + BLOCK_ROWS] - mean
        total += rows.T @ rows
    return mean, total / len(z)


def _constant(mean: Array, covariance: Array) -> Array:
    variance = np.diag(covariance)
    return variance <= CONSTANT**2 * (mean**2 + variance)


def _correlation(covariance: Array, varies: Array) -> Array:
    scale = np.zeros(len(covariance))
    scale[varies] = 1 / np.sqrt(np.diag(covariance)[varies])
    return np.clip(covariance * scale * scale[:, None], -1, 1)


def _off_diagonal(covariance: Array, varies: Array) -> float:
    m = int(varies.sum())
    if m < 2:
        return 0.0
    absolute = np.abs(_correlation(covariance, varies))
    return float((absolute.sum() - np.trace(absolute)) / (m * (m - 1)))


def _eigenvalues(covariance: Array) -> Array:
    values = np.linalg.eigvalsh(covariance)[::-1]
    rounding = len(values) * np.finfo(np.float64).eps * abs(values[0])
    return np.where(values > rounding, values, 0.0)


def _effective_rank(eigenvalues: Array) -> float:
    singular = np.sqrt(eigenvalues[eigenvalues > 0])
    if singular.size == 0:
        return 0.0
    p = singular / singular.sum()
    return float(np.exp(-(p * np.log(p)).sum()))


def _unit_rows(z: Array) -> Array:
    lengths = np.linalg.norm(z, axis=1, keepdims=True)
    return z / np.where(lengths > 0, lengths, 1)
