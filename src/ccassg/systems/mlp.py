"""A multi-layer perceptron on the features alone: what the edges are worth to a supervised method."""

from __future__ import annotations

from typing import Any

from torch import nn

from ccassg.graph import Graph
from ccassg.graph.sparse import CSR
from ccassg.systems.classifier import NetworkClassifier, SparseLinear, TwoLayers, torch_csr
from ccassg.systems.encoder import features_of


class MLP(NetworkClassifier):
    """Two linear layers with a ReLU between; the edges are not read."""

    def _module(self) -> nn.Module:
        first = SparseLinear(nn.Linear(self.n_features_in_, self.hidden_dim))
        second = nn.Linear(self.hidden_dim, len(self.classes_))
        return TwoLayers(first, second, nn.ReLU(), self.dropout_rate)

    def _inputs(self, graph: Graph) -> tuple[Any, ...]:
        features = features_of(graph)
        return (torch_csr(features) if isinstance(features, CSR) else features,)
