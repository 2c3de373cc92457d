"""A graph convolutional network with random weights: what training adds is measured against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from ccassg.graph import Graph
from ccassg.model.encoder import Encoder, gcn
from ccassg.systems.base import Embedder, OnStep
from ccassg.training import loop


@dataclass(kw_only=True, eq=False, repr=False)
class UntrainedGCN(Embedder):
    """The encoder of CCA-SSG before its first step.

    Parameters
    ----------
    n_layers, hidden_dim, embedding_dim : int
        Shape of the encoder; with one layer, its width is the embedding's.
    random_state : int, RandomState or None
        Of the weights.
    """

    n_layers: int = 2
    hidden_dim: int = 512
    embedding_dim: int = 512

    def _module(self) -> Encoder:
        hidden = [self.hidden_dim] * (self.n_layers - 1)
        return gcn((self.n_features_in_, *hidden, self.embedding_dim), seed=self.seed_)

    def _fit(self, graph: Graph, on_step: OnStep | None) -> list[float]:
        self.module_: Any = self._module()
        return []

    def _embed(self, graph: Graph) -> Tensor:
        return loop.embed(self.module_, graph)
