"""Graph: what every method of this package takes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ccassg.graph.checks import Array, Features, check_features


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

    def counts(self) -> dict[str, int]:
        """Return the numbers that describe the graph: nodes, edges, isolated nodes and features."""
        return {
            "nodes": self.n_nodes,
            "edges": self.n_edges,
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
        index = np.asarray(nodes)
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
        return f"Graph(nodes: {self.n_nodes:,}, edges: {self.n_edges:,} ({direction}{weighted}), {kind})"
