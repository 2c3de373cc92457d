"""GCN (Kipf and Welling, Semi-Supervised Classification with Graph Convolutional Networks, ICLR 2017)."""

from __future__ import annotations

from typing import Any

from torch import nn

from ccassg.graph import Graph
from ccassg.graph.sparse import CSR
from ccassg.systems.classifier import NetworkClassifier, SparseLinear, TwoLayers, torch_csr
from ccassg.systems.encoder import inputs


class GCN(NetworkClassifier):
    """Two of PyG's ``GCNConv`` with a ReLU between."""

    def _module(self) -> nn.Module:
        from torch_geometric.nn import GCNConv

        # The adjacency comes in normalised, once for all steps.
        first = GCNConv(self.n_features_in_, self.hidden_dim, normalize=False)
        first.lin = SparseLinear(first.lin)
        second = GCNConv(self.hidden_dim, len(self.classes_), normalize=False)
        return TwoLayers(first, second, nn.ReLU(), self.dropout_rate)

    def _inputs(self, graph: Graph) -> tuple[Any, ...]:
        features, a = inputs(graph)
        return (torch_csr(features) if isinstance(features, CSR) else features), torch_csr(a)
