"""A graph's arrays as tensors, whole or some rows at a time; they may lie on disk, and a row is read when it is taken."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ccassg.graph import Graph, sparse
from ccassg.graph.sparse import CSR


@dataclass(frozen=True)
class Rows:
    """A sparse matrix to take rows of: CSR arrays that may lie on disk; ``weights`` is None where every entry is 1."""

    indptr: Tensor
    indices: Tensor
    weights: Tensor | None
    n_columns: int

    def __getitem__(self, nodes: Tensor) -> CSR:
        """Some of the rows."""
        first = self.indptr[nodes]
        counts = self.counts(nodes)
        indptr = torch.zeros(len(nodes) + 1, dtype=torch.int64)
        torch.cumsum(counts, 0, out=indptr[1:])
        entries = torch.arange(int(indptr[-1])) + torch.repeat_interleave(first - indptr[:-1], counts)
        values = torch.ones(1).expand(len(entries)) if self.weights is None else self.weights[entries]
        return CSR(indptr, self.indices[entries], values, (len(nodes), self.n_columns))

    def counts(self, nodes: Tensor) -> Tensor:
        """Count the entries of some rows."""
        return self.indptr[nodes + 1] - self.indptr[nodes]


def neighbours(graph: Graph) -> tuple[Rows, Rows]:
    """Return whom every node receives from and whom it sends to; the same arrays, still on disk, of an undirected graph."""
    weights = None if graph.weights is None else torch.from_numpy(graph.weights)
    sent = Rows(torch.from_numpy(graph.indptr), torch.from_numpy(graph.indices), weights, graph.n_nodes)
    if not graph.directed:
        return sent, sent
    by_receiver = graph.adjacency().tocsc()
    received = Rows(
        torch.from_numpy(by_receiver.indptr.astype(np.int64)),
        torch.from_numpy(by_receiver.indices),
        None if weights is None else torch.from_numpy(by_receiver.data),
        graph.n_nodes,
    )
    return received, sent


def rows_of_features(graph: Graph) -> Tensor | Rows:
    """Return features to take rows of, still where they lie."""
    features = _features(graph)
    if isinstance(features, np.ndarray):
        return torch.from_numpy(features)
    indptr = torch.from_numpy(features.indptr.astype(np.int64))
    return Rows(indptr, torch.from_numpy(features.indices), torch.from_numpy(features.data), features.shape[1])


def feature_tensor(graph: Graph, device: torch.device | str) -> Tensor | CSR:
    """Return all features on a device, sparse ones sparse."""
    features = _features(graph)
    if isinstance(features, torch.Tensor) or hasattr(features, "__array__"):
        return torch.as_tensor(features).to(device)
    return sparse.from_scipy(features).to(device)


def _features(graph: Graph) -> Any:
    if graph.features is None:
        raise ValueError("the graph has no features; pass features=, or make structural ones")
    return graph.features
