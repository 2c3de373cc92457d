"""A graph's arrays as tensors, still where they lie: those of a store are read when rows are taken (`sparse.select_rows`)."""

import numpy as np
import torch
from torch import Tensor

from ccassg.graph import Graph, sparse
from ccassg.graph.sparse import CSR


def neighbours(graph: Graph) -> tuple[CSR, CSR]:
    """Return whom every node receives from and whom it sends to; the same arrays, still on disk, of an undirected graph."""
    indices = torch.from_numpy(graph.indices)
    # Without weights one number in memory stands for all.
    weights = torch.ones(1).expand(len(indices)) if graph.weights is None else torch.from_numpy(graph.weights)
    sent = CSR(torch.from_numpy(graph.indptr), indices, weights, (graph.n_nodes, graph.n_nodes))
    if not graph.directed:
        return sent, sent
    by_receiver = graph.adjacency().tocsc()
    indptr = torch.from_numpy(by_receiver.indptr.astype(np.int64))
    received = weights if graph.weights is None else torch.from_numpy(by_receiver.data)
    return CSR(indptr, torch.from_numpy(by_receiver.indices), received, sent.shape), sent


def feature_tensor(graph: Graph, device: torch.device | str) -> Tensor | CSR:
    """Return all features on a device, sparse ones sparse; on the CPU they are not copied."""
    features = graph.features
    if features is None:
        raise ValueError("the graph has no features; pass features=, or make structural ones")
    if isinstance(features, np.ndarray):
        return torch.from_numpy(features).to(device)
    return sparse.from_scipy(features).to(device)


def take_rows(features: Tensor | CSR, nodes: Tensor) -> Tensor | CSR:
    """Return the features of some nodes."""
    return sparse.select_rows(features, nodes) if isinstance(features, CSR) else features[nodes]


def window(rows: CSR, start: int, stop: int) -> CSR:
    """Return consecutive rows without reading or copying them, for `sparse.select_rows` and nothing else."""
    return CSR(rows.indptr[start : stop + 1], rows.indices, rows.values, (stop - start, rows.shape[1]))
