"""Divide a graph's nodes into parts that few edges cross, and say what such a division costs.

A part is a range of nodes if the graph lies in a store that was written part by part (`ccassg convert --parts`), otherwise
whatever Metis, or the order of the nodes, gives.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

import numpy as np

from ccassg import optional
from ccassg.graph.checks import Array
from ccassg.graph.graph import Graph


@dataclass(frozen=True)
class PartitionCost:
    """What a partition costs: all counts over all parts.

    ``cut`` counts stored edges between parts, ``halo`` the pairs (part, node of another part it receives from): rows that
    are sent in every layer. ``largest`` is the size of the largest part, ``largest_halo`` the most that one part receives.
    """

    cut: int
    halo: int
    largest: int
    largest_halo: int


def partition(graph: Graph, n_parts: int, *, method: Literal["auto", "metis", "contiguous"] = "auto") -> Array:
    """Assign every node to a part, int32 (n,); every part has at least one node.

    Metis (needs pymetis, and several times the memory of the edges) finds parts of equal size with few edges between them.
    "contiguous" cuts the order of the nodes into equal ranges. "auto" is Metis where pymetis is installed.
    """
    n = graph.n_nodes
    if isinstance(n_parts, bool) or not isinstance(n_parts, (int, np.integer)) or not 1 <= n_parts <= n:
        raise ValueError(f"the number of parts must be an integer between 1 and the {n} nodes, got {n_parts!r}")
    if method not in ("auto", "metis", "contiguous"):
        raise ValueError(f"method must be 'auto', 'metis' or 'contiguous', got {method!r}")
    if n_parts > 1 and method != "contiguous":
        parts = _metis(graph, int(n_parts), required=method == "metis")
        if parts is not None:
            return parts
    return ranges_to_parts(even_bounds(n, int(n_parts)))


def even_bounds(n: int, n_parts: int) -> list[int]:
    """Return where equal ranges of n nodes begin and end: n_parts + 1 numbers."""
    return [n * k // n_parts for k in range(n_parts + 1)]


def ranges_to_parts(bounds: list[int]) -> Array:
    """Return the part of every node from the bounds of the parts."""
    return np.repeat(np.arange(len(bounds) - 1, dtype=np.int32), np.diff(bounds))


def cost(graph: Graph, parts: Array, *, edges_at_once: int = 2**24) -> PartitionCost:
    """Count edges cut and rows to be sent under a partition, some edges at a time."""
    n, n_parts = graph.n_nodes, int(parts.max()) + 1
    cut = 0
    received = np.zeros((n_parts, -(-n // 8)), np.uint8)  # one bit per part and node
    for start in range(0, graph.n_edges, edges_at_once):
        stop = min(start + edges_at_once, graph.n_edges)
        first, last = np.searchsorted(graph.indptr, (start, stop - 1), side="right") - 1
        pointers = np.clip(graph.indptr[first : last + 2], start, stop)
        senders = np.repeat(np.arange(first, last + 1), np.diff(pointers))
        receivers = np.asarray(graph.indices[start:stop])
        crosses = parts[senders] != parts[receivers]
        cut += int(crosses.sum())
        source, target = senders[crosses], parts[receivers[crosses]]
        np.bitwise_or.at(received, (target, source // 8), (1 << (source % 8)).astype(np.uint8))
    halos = np.array([np.unpackbits(bits).sum() for bits in received])
    return PartitionCost(cut, int(halos.sum()), int(np.bincount(parts).max()), int(halos.max()))


def _metis(graph: Graph, n_parts: int, *, required: bool) -> Array | None:
    """Metis' parts; None where pymetis is not installed and not insisted on."""
    if not required and find_spec("pymetis") is None:
        return None
    optional.require("pymetis", "a Metis partition")
    import pymetis

    indptr, indices = graph.indptr, graph.indices
    if graph.directed:  # Metis wants both directions of every edge
        pattern = graph.adjacency()
        both = (pattern + pattern.T).tocsr()
        indptr, indices = both.indptr, both.indices
    # Metis reads both arrays in its own index type; anything else it would copy number by number.
    index = np.int32 if len(indices) < 2**31 else np.int64
    csr = pymetis.CSRAdjacency(adj_starts=np.asarray(indptr, index), adjacent=np.asarray(indices, index))
    _, parts = pymetis.part_graph(n_parts, csr)
    return _without_empty_parts(np.asarray(parts, np.int32), n_parts)


def _without_empty_parts(parts: Array, n_parts: int) -> Array:
    """Give every empty part a node of the largest one: with nearly as many parts as nodes Metis leaves some empty."""
    sizes = np.bincount(parts, minlength=n_parts)
    for empty in np.flatnonzero(sizes == 0):
        largest = int(sizes.argmax())
        parts[np.flatnonzero(parts == largest)[-1]] = empty
        sizes[largest] -= 1
        sizes[empty] = 1
    return parts
