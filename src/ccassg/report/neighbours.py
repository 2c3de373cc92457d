"""The nearest rows of every row of an embedding by cosine similarity: exactly, or for many rows nearly so."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.cluster import MiniBatchKMeans

Array: TypeAlias = npt.NDArray[Any]

# Rows per block of a product of all nodes with all nodes: the block stays below about 100 MB for 20 thousand nodes.
BLOCK_ROWS = 1_024
# The most members of a cell that its neighbours are looked for among.
MAX_CELL = 4_096


def nearest_neighbours(embedding: Array, k: int = 10) -> tuple[Array, Array]:
    """The ``k`` nearest other rows of each row by cosine similarity, exactly.

    Returns
    -------
    index : int array of shape (n, min(k, n - 1))
        Nearest first; ties go to the smaller index.
    similarity : float32 array of the same shape
    """
    unit = _unit_rows(embedding)
    n = len(unit)
    k = min(k, n - 1)
    index = np.empty((n, k), dtype=np.int64)
    similarity = np.empty((n, k), dtype=np.float32)
    for start in range(0, n, BLOCK_ROWS):
        block = unit[start : start + BLOCK_ROWS] @ unit.T
        rows = np.arange(len(block))
        block[rows, start + rows] = -np.inf
        near = np.argpartition(block, n - k - 1, axis=1)[:, n - k :]
        near.sort(axis=1)
        order = np.argsort(-np.take_along_axis(block, near, axis=1), axis=1, kind="stable")
        near = np.take_along_axis(near, order, axis=1)
        index[start : start + len(block)] = near
        similarity[start : start + len(block)] = np.take_along_axis(block, near, axis=1)
    return index, np.clip(similarity, -1, 1)


def likely_neighbours(
    embedding: Array, k: int = 10, *, n_probes: int = 16, random_state: int = 0
) -> tuple[Array, Array]:
    """Nearest rows by cosine similarity for large n: looked for in the cells that lie nearest to each row.

    K-means divides the rows into about sqrt(n) cells; a row is compared with the members of the ``n_probes`` cells
    whose centres are nearest to it. On the largest graph of the paper (34 thousand nodes) this finds 99 % of the exact
    neighbours with a tenth of the work. Projecting to fewer dimensions instead finds a third of them: an embedding
    without correlated columns has none to spare.

    Returns
    -------
    index : int array of shape (n, k)
        Nearest first. A row that met fewer than ``k`` others names itself in the rest.
    similarity : float32 array of the same shape
        Exact for the rows that were found.
    """
    unit = _unit_rows(embedding)
    n = len(unit)
    cells = MiniBatchKMeans(
        max(1, int(n**0.5)), batch_size=4_096, max_iter=10, n_init=1, random_state=random_state
    ).fit(unit)
    # Of equal rows k-means leaves cells without members; their centres must not be taken for near ones.
    used, cell_of = np.unique(cells.labels_, return_inverse=True)
    probes = _nearest_cells(unit, cells.cluster_centers_[used], n_probes)
    rng = np.random.default_rng(random_state)
    index = np.repeat(np.arange(n)[:, None], k, axis=1)
    similarity = np.full((n, k), -np.inf, dtype=np.float32)
    for cell in range(len(used)):
        members = np.flatnonzero(cell_of == cell)
        if len(members) > MAX_CELL:  # a crowd of nearly equal rows, of which any are as near as the others
            members = np.sort(rng.choice(members, MAX_CELL, replace=False))
        askers = np.flatnonzero((probes == cell).any(axis=1))
        for start in range(0, len(askers), BLOCK_ROWS):
            rows = askers[start : start + BLOCK_ROWS]
            block = unit[rows] @ unit[members].T
            block[rows[:, None] == members] = -np.inf
            seen = np.concatenate([similarity[rows], block], axis=1)
            names = np.concatenate([index[rows], np.broadcast_to(members, block.shape)], axis=1)
            best = np.argpartition(seen, seen.shape[1] - k, axis=1)[:, -k:]
            similarity[rows] = np.take_along_axis(seen, best, axis=1)
            index[rows] = np.take_along_axis(names, best, axis=1)
    order = np.argsort(-similarity, axis=1, kind="stable")
    index, similarity = np.take_along_axis(index, order, axis=1), np.take_along_axis(similarity, order, axis=1)
    index = np.where(np.isfinite(similarity), index, np.arange(n)[:, None])
    return index, np.clip(similarity, -1, 1)


def _nearest_cells(unit: Array, centres: Array, n_probes: int) -> Array:
    """The cells whose centres point most nearly the way of each row, (n, at most n_probes)."""
    directions = _unit_rows(centres)
    k = min(n_probes, len(directions))
    blocks = (unit[start : start + BLOCK_ROWS] @ directions.T for start in range(0, len(unit), BLOCK_ROWS))
    return np.concatenate([np.argpartition(block, len(directions) - k, axis=1)[:, -k:] for block in blocks])


def _unit_rows(embedding: Array) -> Array:
    """Rows of length 1 in 32 bits; rows of zeros stay zero."""
    largest = np.abs(embedding).max(axis=1, keepdims=True)
    scaled = embedding / np.where(largest > 0, largest, 1)  # squares of huge or tiny values would leave the range
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    return (scaled / np.where(length > 0, length, 1)).astype(np.float32)
