"""What is there before anything is learned: the features, their averages over the neighbourhood, a network of random weights.

Every embedding has to beat the first, and what training adds is measured against the others.
"""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from ccassg.graph import Graph
from ccassg.model import augment
from ccassg.model.encoder import Encoder, gcn
from ccassg.systems.base import Embedder, dense
from ccassg.training.embedding import embed
from ccassg.training.settings import OnStep


class RawFeatures(Embedder):
    """The node features as they are, dense."""

    def _fit(self, graph: Graph, on_step: OnStep | None) -> list[float]:
        return []

    def _embed(self, graph: Graph) -> Any:
        return dense(graph.features)


@dataclass(kw_only=True, eq=False, repr=False)
class PropagatedFeatures(Embedder):
    """A^k X with the normalised adjacency with self-loops: graph convolution without weights.

    Wu et al., Simplifying Graph Convolutional Networks, ICML 2019.

    Parameters
    ----------
    n_hops : int
        The power k.
    """

    n_hops: int = 2

    def _fit(self, graph: Graph, on_step: OnStep | None) -> list[float]:
        return []

    def _embed(self, graph: Graph) -> Any:
        a = augment.normalized(graph).to_scipy()
        x = graph.features
        for _ in range(self.n_hops):
            x = a @ x
        return dense(x)


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
        return Encoder([gcn((self.n_features_in_, *hidden, self.embedding_dim), seed=self.seed_)])

    def _fit(self, graph: Graph, on_step: OnStep | None) -> list[float]:
        self.module_ = self._module()
        return []

    def _embed(self, graph: Graph) -> Tensor:
        return embed(self.module_, graph)
