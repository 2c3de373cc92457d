"""GAT (Veličković et al., Graph Attention Networks, ICLR 2018)."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ccassg.graph import Graph, sparse
from ccassg.systems.classifier import NetworkClassifier, SparseLinear, TwoLayers


@dataclass(kw_only=True, eq=False, repr=False)
class GAT(NetworkClassifier):
    """Two of PyG's ``GATConv`` with an ELU between; see `NetworkClassifier` for the other parameters.

    Parameters
    ----------
    hidden_dim : int
        Width per head.
    n_heads, n_output_heads : int
        Attention heads of the hidden and of the output layer; the former are joined, the latter averaged.
    dropout_rate : float
        On the features, the hidden layer and the attention.
    weight_decay : float
        Of all layers.
    """

    hidden_dim: int = 8
    n_heads: int = 8
    n_output_heads: int = 1
    dropout_rate: float = 0.6
    learning_rate: float = 5e-3

    def _module(self) -> nn.Module:
        from torch_geometric.nn import GATConv

        p, width = self.dropout_rate, self.hidden_dim * self.n_heads
        first = GATConv(self.n_features_in_, self.hidden_dim, heads=self.n_heads, dropout=p)
        first.lin = SparseLinear(first.lin)
        second = GATConv(width, len(self.classes_), heads=self.n_output_heads, concat=False, dropout=p)
        return TwoLayers(first, second, nn.ELU(), p)

    def _structure(self, graph: Graph) -> tuple[torch.Tensor, ...]:
        return (edge_index(graph),)

    def _groups(self) -> list[dict[str, Any]]:
        return [{"params": list(self.module_.parameters()), "weight_decay": self.weight_decay}]


def edge_index(graph: Graph) -> torch.Tensor:
    """The edges for PyG, (2, n_edges): senders, then receivers."""
    a = sparse.from_scipy(graph.adjacency())
    return torch.stack([sparse.row_ids(a), a.indices.long()])
