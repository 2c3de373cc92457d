"""Graph: what every method of this package takes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ccassg.graph.checks import Array, Features, check_features, check_nodes, mapped, shown

EDGES_AT_ONCE = 2**24


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph with node features. Immutable; make one with `as_graph`.

    Attributes
    ----------
    indptr, indices : int arrays, shapes (n + 1,) and (n_edges,)
        The adjacency in compressed rows: node ``i`` points to ``indices[indptr[i]:indptr[i + 1]]``, in increasing
        order, without repeats or self-loops. An undirected edge is stored in both directions.
    weights : float32 array of shape (n_edges,), or None
        Positive edge weights; None means that every edge weighs 1.
    features : float32 array or CSR array of shape (n, n_features), or None
        Sparse features stay sparse.
    ids : array of shape (n,), or None
        The user's own names of the nodes, all different; None means 0 .. n - 1. Strings out of files stay in an Arrow array,
        in memory or in the file; ``node_ids`` is the same for every day.
    directed : bool
        Whether edges may lack their reverse.
    notes : tuple of str
        What was changed on the way in: edges merged, loops removed, directions added.

    Examples
    --------
    >>> import ccassg
    >>> graph = ccassg.as_graph([[0, 1], [1, 2]], features=[[0.5], [1], [2]])
    >>> isinstance(graph, ccassg.Graph), graph.n_nodes, graph.n_edges
    (True, 3, 4)
    >>> graph.subgraph([2, 1]).adjacency().toarray()
    array([[0., 1.],
           [1., 0.]], dtype=float32)
    """

    indptr: Array
    indices: Array
    weights: Array | None = None
    features: Features | None = None
    ids: Any = None
    directed: bool = False
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.indptr) - 1 if _is_flat(self.indptr, "iu") else -1
        if n < 0 or not _is_flat(self.indices, "iu"):
            raise TypeError("indptr and indices must be arrays of whole numbers; make a graph with ccassg.as_graph")
        if self.indptr[0] != 0 or self.indptr[-1] != self.n_edges:
            raise ValueError(
                f"indptr must go from 0 to {self.n_edges}, the number of edges; make a graph with ccassg.as_graph"
            )
        # Those of a store are checked where it is opened.
        if mapped(self.indices) is None and not _are_rows(self.indptr, self.indices, n):
            raise ValueError(
                f"indptr must not fall, and indices must be in 0 .. {n - 1}; make a graph with ccassg.as_graph"
            )
        if self.weights is not None and not (_is_flat(self.weights, "f") and len(self.weights) == self.n_edges):
            raise ValueError(
                f"weights must be an array of {self.n_edges} numbers, one per edge, got {shown(self.weights)}"
            )
        if self.ids is not None and np.shape(self.ids) != (n,):
            raise ValueError(f"ids must be an array of {n} names, one per node, got {shown(self.ids)}")
        features = self.features
        if features is not None and not (
            (sp.issparse(features) or isinstance(features, np.ndarray))
            and features.ndim == 2
            and features.shape[0] == n
            and features.dtype.kind in "biuf"
        ):
            raise ValueError(
                f"features must be a matrix of {n} rows, one per node; graph.with_features brings them to it"
            )

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        """Number of stored edges; an undirected edge counts twice, once per direction."""
        return len(self.indices)

    @property
    def n_features(self) -> int:
        """Number of feature columns, 0 without features."""
        return 0 if self.features is None else int(self.features.shape[1])

    @cached_property
    def node_ids(self) -> Array:
        """The user's ids as a NumPy array, of integers or of objects such as strings, or 0 .. n - 1."""
        return np.arange(self.n_nodes) if self.ids is None else np.asarray(self.ids)

    @property
    def n_isolated(self) -> int:
        """Number of nodes that no edge touches."""
        touched = np.diff(self.indptr) > 0
        if self.directed:
            touched[self.indices] = True
        return int(self.n_nodes - touched.sum())

    def degrees(self) -> Array:
        """Return how many edges touch each node; a directed edge counts at both of its ends."""
        degrees = np.diff(self.indptr)
        for start in range(0, self.n_edges if self.directed else 0, EDGES_AT_ONCE):  # never all of a store at once
            degrees += np.bincount(self.indices[start : start + EDGES_AT_ONCE], minlength=self.n_nodes)
        return degrees

    def counts(self) -> dict[str, int]:
        """Return the numbers that describe the graph: nodes, edges (an undirected one counts once), isolated nodes and features."""
        return {
            "nodes": self.n_nodes,
            "edges": self.n_edges if self.directed else self.n_edges // 2,
            "isolated": self.n_isolated,
            "features": self.n_features,
        }

    def adjacency(self) -> sp.csr_array:
        """Return the adjacency matrix: float32 weights, or ones."""
        data = np.ones(self.n_edges, np.float32) if self.weights is None else self.weights
        return sp.csr_array((data, self.indices, self.indptr), shape=(self.n_nodes, self.n_nodes))

    def with_features(self, features: Any) -> Graph:
        """Return the same graph with other features."""
        return dataclasses.replace(self, features=check_features(features, self.n_nodes))

    def subgraph(self, nodes: npt.ArrayLike) -> Graph:
        """Return the graph of the given nodes, in the given order, and the edges among them."""
        index = check_nodes("nodes", nodes, self.n_nodes)
        adjacency = self.adjacency()[index][:, index]
        adjacency.sort_indices()
        return dataclasses.replace(
            self,
            indptr=adjacency.indptr.astype(np.int64),
            indices=adjacency.indices,
            weights=None if self.weights is None else adjacency.data,
            features=None if self.features is None else self.features[index],
            ids=self.node_ids[index],
        )

    def __repr__(self) -> str:
        kind = "no features"
        if self.features is not None:
            kind = f"{'sparse' if sp.issparse(self.features) else 'dense'} features: {self.n_features:,}"
        direction = "directed" if self.directed else "undirected"
        weighted = "" if self.weights is None else ", weighted"
        return f"Graph(nodes: {self.n_nodes:,}, edges: {self.counts()['edges']:,} ({direction}{weighted}), {kind})"


def _is_flat(array: Any, kinds: str) -> bool:
    return isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in kinds


def _are_rows(indptr: Array, indices: Array, n: int) -> bool:
    """Whether every row begins where the one before ends, and every index is a node."""
    return bool((indptr[1:] >= indptr[:-1]).all()) and (not len(indices) or (indices.min() >= 0 and indices.max() < n))
