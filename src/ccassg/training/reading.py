"""What a process is about to read of a graph, checked before: of several processes, each its own part of a store."""

import math
from typing import Any

import scipy.sparse as sp

from ccassg.graph import Graph
from ccassg.graph.checks import require_finite
from ccassg.graph.scaling import PIECE_ENTRIES
from ccassg.io import store
from ccassg.training import distributed
from ccassg.training.shards import bounds_for_ranks


def own_part(graph: Graph) -> tuple[int, int]:
    """Return the range of nodes of a store that this process of several works on; of any other graph, all."""
    if not distributed.is_shared() or store.location(graph) is None:
        return 0, graph.n_nodes
    bounds = bounds_for_ranks(graph, distributed.n_processes())
    return bounds[distributed.rank()], bounds[distributed.rank() + 1]


def require_sound(graph: Graph, start: int = 0, stop: int | None = None) -> None:
    """Refuse features and weights of some nodes that are not finite, a piece at a time: they may lie in a store that anyone wrote.

    In a session of several processes a store is also compared with its hashes here, as none of them reads all of it; the first
    process compares ids and labels.
    """
    stop = graph.n_nodes if stop is None else stop
    folder = store.location(graph)
    if folder is not None and distributed.is_shared():
        store.verify_rows(folder, start, stop, names=distributed.speaks())
    features: Any = graph.features
    ends = int(graph.indptr[start]), int(graph.indptr[stop])
    arrays: list[tuple[str, Any, int, int]] = [("weights", graph.weights, *ends)]
    if sp.issparse(features):
        arrays.insert(0, ("features", features.data, int(features.indptr[start]), int(features.indptr[stop])))
    else:
        arrays.insert(0, ("features", features, start, stop))
    for name, array, first, last in arrays:
        if array is None:
            continue
        step = max(1, PIECE_ENTRIES // max(1, math.prod(array.shape[1:])))
        for piece in range(first, last, step):
            require_finite(name, array[piece : min(piece + step, last)], piece)
            store.release(array)
