"""Nearest nodes in an embedding."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ccassg.graph import Array

EXACT_NODES = 100_000
BLOCK_ROWS = 16_384


def most_similar(z: Any, query_index: npt.ArrayLike, k: int = 10, metric: str = "cosine") -> tuple[Array, Array]:
    """Find the nodes nearest to one node or to several.

    Below 100 thousand nodes the search is exact, in blocks; above, it is faiss's exact flat index if that library is
    installed, which is the same search with better arithmetic, and else the same blocks.

    Parameters
    ----------
    z : float array of shape (n, d)
    query_index : int, or ints of shape (q,)
        Rows of z; none is reported as similar to itself.
    k : int
        How many; at most n - 1 are there.
    metric : {"cosine", "dot", "euclidean"}
        Under "cosine" a row of zeros has similarity 0 to all.

    Returns
    -------
    indices : int64 array of shape (k,) or (q, k)
        Nearest first; of equally near ones the lower index.
    scores : float32 array of the same shape
        Similarities, or distances if the metric is "euclidean".
    """
    if metric not in ("cosine", "dot", "euclidean"):
        raise ValueError(f"metric must be 'cosine', 'dot' or 'euclidean', got {metric!r}")
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    rows = np.ascontiguousarray(z, dtype=np.float32)
    if rows.ndim != 2 or len(rows) < 2:
        raise ValueError(f"z must hold at least two rows of an embedding, got shape {rows.shape}")
    queries = np.atleast_1d(np.asarray(query_index))
    if queries.dtype.kind not in "iu" or queries.ndim != 1:
        raise ValueError(f"query_index must be row numbers, got {query_index!r}")
    if len(queries) and not (queries.min() >= 0 and queries.max() < len(rows)):
        raise ValueError(f"query_index must be in 0 .. {len(rows) - 1}, got {query_index!r}")
    if metric == "cosine":
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    k = min(k, len(rows) - 1)
    index = _faiss_index(rows, metric) if len(rows) > EXACT_NODES else None
    if index is None:
        order, scores = _by_blocks(rows, queries, k, metric == "euclidean")
    else:
        order, scores = _by_faiss(index, rows, queries, k)
    if metric == "euclidean":
        scores = np.sqrt(np.maximum(-scores, 0))
    if np.ndim(query_index) == 0:
        return order[0], scores[0]
    return order, scores


def _by_blocks(rows: Array, queries: Array, k: int, euclidean: bool) -> tuple[Array, Array]:
    """The k best of each block, merged; scores are higher for nearer nodes (negative squared distances)."""
    asked = rows[queries]
    best = np.full((len(queries), k), -np.inf, np.float32)
    where = np.full((len(queries), k), len(rows), np.int64)
    for start in range(0, len(rows), BLOCK_ROWS):
        block = rows[start : start + BLOCK_ROWS]
        scores = asked @ block.T
        if euclidean:
            scores = 2 * scores - (block**2).sum(axis=1) - (asked**2).sum(axis=1)[:, None]
        inside = np.flatnonzero((queries >= start) & (queries < start + len(block)))
        scores[inside, queries[inside] - start] = -np.inf
        merged = np.concatenate([best, scores], axis=1)
        names = np.concatenate([where, np.broadcast_to(np.arange(start, start + len(block)), scores.shape)], axis=1)
        # Blocks come in order, so a stable sort keeps the lower index among equals.
        order = np.argsort(-merged, axis=1, kind="stable")[:, :k]
        best, where = np.take_along_axis(merged, order, 1), np.take_along_axis(names, order, 1)
    return where, best


def _faiss_index(rows: Array, metric: str) -> Any:
    try:
        import faiss
    except ImportError:
        return None
    index = faiss.IndexFlatL2(rows.shape[1]) if metric == "euclidean" else faiss.IndexFlatIP(rows.shape[1])
    index.add(rows)
    return index


def _by_faiss(index: Any, rows: Array, queries: Array, k: int) -> tuple[Array, Array]:
    import faiss

    scores, order = index.search(rows[queries], k + 1)
    if index.metric_type == faiss.METRIC_L2:
        scores = -scores
    # The node itself is usually first, but not always (an equal row, or no longest one under "dot").
    itself = order == queries[:, None]
    itself[~itself.any(axis=1), -1] = True
    shape = (len(queries), k)
    return order[~itself].reshape(shape).astype(np.int64), scores[~itself].reshape(shape)
