"""Bring numeric columns to one scale: each minus its mean, divided by its standard deviation.

Both are measured on the graph that a model is trained on and kept with it, so that new nodes get the same numbers. A deviation
of 0 marks a column that was constant there: it becomes 0, for new nodes too, since training learned nothing from it.
"""

import math
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ccassg.graph.checks import Array

PIECE_ENTRIES = 2**20
CENTRED = 1e-4


class Scaling(NamedTuple):
    """Mean and standard deviation of each feature; 0 and 1 for those that stay as they are."""

    means: tuple[float, ...]
    deviations: tuple[float, ...]


def means_and_deviations(matrix: Array, piece: int = PIECE_ENTRIES) -> tuple[Array, Array]:
    """Return means and standard deviations of the columns of a float32 array, in float64, a piece of it at a time."""
    n = len(matrix) or math.inf  # of no rows, means and squares are 0
    # Counted from the first row, so that a constant column has exactly its value as mean, and deviation 0.
    first = matrix[0].astype(np.float64) if len(matrix) else np.zeros(matrix.shape[1])
    means, squares = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[1])
    for rows in _pieces(matrix, piece):
        means += (rows - first).sum(axis=0)
    means = first + means / n
    for rows in _pieces(matrix, piece):
        squares += np.square(rows - means).sum(axis=0)
    return means, np.sqrt(squares / n)


def scale_columns(matrix: Array, means: Array, deviations: Array, piece: int = PIECE_ENTRIES) -> None:
    """Scale the columns of a float32 array in place."""
    divisors = np.where(deviations > 0, deviations, np.inf)
    with np.errstate(over="ignore"):  # what is infinite in 32 bits is refused with all other features
        for rows in _pieces(matrix, piece):
            rows[:] = (rows - means) / divisors


def unscale_columns(matrix: Array, means: Array, deviations: Array, piece: int = PIECE_ENTRIES) -> None:
    """Undo `scale_columns` in place, up to rounding."""
    with np.errstate(over="ignore"):
        for rows in _pieces(matrix, piece):
            rows[:] = rows * deviations + means


def column_sizes(matrix: Array, piece: int = PIECE_ENTRIES) -> Array:
    """Return the root mean square of what is not 0 in each column of a float32 array; 0 where nothing is.

    Zeros do not count: a rare word is of size 1 like a frequent one.
    """
    squares, counts = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[1], np.int64)
    for rows in _pieces(matrix, piece):
        squares += np.square(rows, dtype=np.float64).sum(axis=0)
        counts += np.count_nonzero(rows, axis=0)
    return np.sqrt(squares / np.maximum(1, counts))


def are_components(matrix: Array) -> bool:
    """Whether columns look like principal components: three or more, each with mean 0, the largest first.

    Their sizes say how much each counts, and one scale would take that away.
    """
    means, deviations = means_and_deviations(matrix)
    is_centred = (np.abs(means) <= CENTRED * deviations).all()
    return bool(len(means) > 2 and is_centred and (np.diff(deviations) <= CENTRED * deviations[:-1]).all())


def as_scaling(means: Array, deviations: Array) -> Scaling:
    """Return means and deviations as plain numbers."""
    return Scaling(tuple(means.tolist()), tuple(deviations.tolist()))


def check_scaling(value: Any, n_features: int | None = None) -> Scaling | None:
    """Return a scaling, or None, from a file that anyone may have written; ValueError unless it holds finite numbers for each feature."""
    if value is None:
        return None
    lists: list[Any] = [value.get(key) for key in Scaling._fields] if isinstance(value, dict) else []
    if not lists or not all(isinstance(numbers, list) for numbers in lists):
        raise ValueError("scaling must hold two lists, means and deviations")
    n = len(lists[0]) if n_features is None else n_features
    for what, numbers in zip(Scaling._fields, lists, strict=True):
        if len(numbers) != n:
            raise ValueError(f"scaling must hold {n:,} {what}, one per feature, got {len(numbers):,}")
        for number in numbers:
            if type(number) not in (int, float) or not abs(number) <= sys.float_info.max:
                raise ValueError(f"scaling must hold finite numbers, got {str(number)[:40]!r} among its {what}")
    scaling = Scaling(*(tuple(map(float, numbers)) for numbers in lists))
    if any(deviation < 0 for deviation in scaling.deviations):
        raise ValueError(f"scaling must hold no negative deviation, got {min(scaling.deviations):g}")
    return scaling


def _pieces(matrix: Array, piece: int) -> Iterator[Array]:
    """Yield views of some rows at a time: what is computed of them in float64 stays small."""
    step = max(1, piece // max(1, matrix.shape[1]))
    for start in range(0, len(matrix), step):
        yield matrix[start : start + step]
