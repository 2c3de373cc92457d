"""ChebNet (Defferrard, Bresson, Vandergheynst, Convolutional Neural Networks on Graphs with Fast Localized Spectral
Filtering, NeurIPS 2016).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ccassg.baselines.base import dense
from ccassg.baselines.classifier import NetworkClassifier, TwoLayers
from ccassg.baselines.gat import edge_index
from ccassg.graph import Graph


@dataclass(kw_only=True, eq=False, repr=False)
class ChebNet(NetworkClassifier):
    """Two of PyG's ``ChebConv`` with a ReLU between; see `NetworkClassifier` for the other parameters.

    PyG's layer aggregates the features before it projects them, so they are made dense: n_edges x n_features floats.

    Parameters
    ----------
    n_terms : int
        Chebyshev polynomials per filter: the order plus one.
    """

    n_terms: int = 3

    def _module(self) -> nn.Module:
        from torch_geometric.nn import ChebConv

        first = ChebConv(self.n_features_in_, self.hidden_dim, K=self.n_terms)
        second = ChebConv(self.hidden_dim, len(self.classes_), K=self.n_terms)
        return TwoLayers(first, second, nn.ReLU(), self.dropout_rate)

    def _inputs(self, graph: Graph) -> tuple[Any, ...]:
        return torch.from_numpy(dense(graph.features)), edge_index(graph)
