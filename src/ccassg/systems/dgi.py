"""DGI: tell the nodes of the graph from those of a shuffled one, given a summary (Veličković et al., Deep Graph Infomax,
ICLR 2019).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from ccassg.graph import Graph
from ccassg.graph.sparse import CSR
from ccassg.systems.base import NetworkEmbedder
from ccassg.systems.encoder import GraphEncoder, inputs


@dataclass(kw_only=True, eq=False, repr=False)
class DGI(NetworkEmbedder):
    """PyG's ``DeepGraphInfomax`` on one graph convolution with PReLU; see `NetworkEmbedder` for the other parameters.

    Parameters
    ----------
    embedding_dim : int
    patience : int or None
        Stop when the loss has not improved for so many steps; the best weights count.
    """

    target: ClassVar[str] = "N-G"
    mi_estimator: ClassVar[bool] = True
    negatives: ClassVar[bool] = True
    space: ClassVar[str] = "O(N)"

    embedding_dim: int = 512
    n_steps: int = 1000
    patience: int | None = 20

    def _module(self) -> nn.Module:
        from torch_geometric.nn import DeepGraphInfomax

        encoder = GraphEncoder((self.n_features_in_, self.embedding_dim), activation="prelu")
        # What it calls by itself, summary and corruption, is called in `_loss`.
        model: nn.Module = DeepGraphInfomax(self.embedding_dim, encoder, None, None)
        return model

    def _losses(self, graph: Graph) -> Callable[[int], Tensor]:
        features, a = inputs(graph)
        return lambda step: self._loss(features, a)

    def _loss(self, features: Tensor | CSR, a: CSR) -> Tensor:
        encoder = self.module_.encoder
        # One product for both: a shuffled graph's is the shuffled product.
        projected = encoder.project(features)
        shuffled = projected[torch.randperm(len(projected))]
        real, corrupted = encoder.propagate(projected, a), encoder.propagate(shuffled, a)
        loss: Tensor = self.module_.loss(real, corrupted, real.mean(0).sigmoid())
        return loss

    def _embed(self, graph: Graph) -> Tensor:
        z: Tensor = self.module_.encoder(*inputs(graph))
        return z
