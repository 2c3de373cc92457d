"""DGI: tell the nodes of the graph from those of a shuffled one, given a summary (Veličković et al., Deep Graph Infomax,
ICLR 2019).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor

from ccassg.graph import Graph
from ccassg.graph.sparse import CSR
from ccassg.systems.base import NetworkEmbedder, Patience
from ccassg.systems.encoder import GraphEncoder, inputs


@dataclass(kw_only=True, eq=False, repr=False)
class DGI(NetworkEmbedder):
    """PyG's ``DeepGraphInfomax`` on one graph convolution with PReLU."""

    package: ClassVar[str | None] = "torch_geometric"
    target: ClassVar[str] = "N-G"
    mi_estimator: ClassVar[bool] = True
    negatives: ClassVar[bool] = True
    space: ClassVar[str] = "O(N)"
    view_source: ClassVar[str] = "Cross-scale"
    loss: ClassVar[str] = "NCE"

    embedding_dim: Annotated[int, "Width of the embedding."] = 512
    n_steps: int = 1000
    patience: Patience = 20

    def _module(self) -> Any:
        from torch_geometric.nn import DeepGraphInfomax

        encoder = GraphEncoder((self.n_features_in_, self.embedding_dim), activation="prelu")
        # What it calls by itself, summary and corruption, is called in `_loss`.
        return DeepGraphInfomax(self.embedding_dim, encoder, None, None)

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

    def _embed(self, graph: Graph) -> Any:
        return self.module_.encoder(*inputs(graph))
