"""What is there before anything is learned: the features, their averages over the neighbourhood, a network of random weights.

Every embedding has to beat the first, and what training adds is measured against the others.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from torch import Tensor

from ccassg.graph import Graph
from ccassg.model import augment
from ccassg.model.encoder import Encoder, gcn
from ccassg.systems.base import Embedder, dense
from ccassg.training.embedding import embed


class RawFeatures(Embedder):
    """The node features as they are, dense."""

    def _embed(self, graph: Graph) -> Any:
        return dense(graph.features)


@dataclass(kw_only=True, eq=False, repr=False)
class PropagatedFeatures(Embedder):
    """A^k X with the normalised adjacency with self-loops: graph convolution without weights.

    Wu et al., Simplifying Graph Convolutional Networks, ICML 2019.
    """

    n_hops: Annotated[int, "The power k."] = 2

    def _embed(self, graph: Graph) -> Any:
        a = augment.normalized(graph).to_scipy()
        x = graph.features
        for _ in range(self.n_hops):
            x = a @ x
        return dense(x)


@dataclass(kw_only=True, eq=False, repr=False)
class UntrainedGCN(Embedder):
    """The encoder of CCA-SSG before its first step."""

    n_layers: Annotated[int, "Layers of the encoder; with one, its width is the embedding's."] = 2
    hidden_dim: Annotated[int, "Width of the hidden layers."] = 512
    embedding_dim: Annotated[int, "Width of the embedding."] = 512

    def _module(self) -> Encoder:
        hidden = [self.hidden_dim] * (self.n_layers - 1)
        return gcn((self.n_features_in_, *hidden, self.embedding_dim), seed=self.seed_)

    def _embed(self, graph: Graph) -> Tensor:
        return embed(self.module_, graph)
