"""GAE: reconstruct the edges from inner products (Kipf and Welling, Variational Graph Auto-Encoders, 2016)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from ccassg.graph import Graph, sparse
from ccassg.systems.base import NetworkEmbedder
from ccassg.systems.encoder import GraphEncoder, inputs


@dataclass(kw_only=True, eq=False, repr=False)
class GAE(NetworkEmbedder):
    """PyG's ``GAE`` on two graph convolutions; see `NetworkEmbedder` for the other parameters.

    Parameters
    ----------
    hidden_dim, embedding_dim : int
    """

    negatives: ClassVar[bool] = True
    needs_edges: ClassVar[bool] = True

    hidden_dim: int = 32
    embedding_dim: int = 16
    learning_rate: float = 1e-2

    def _module(self) -> nn.Module:
        from torch_geometric.nn import GAE as Autoencoder

        dims = (self.n_features_in_, self.hidden_dim, self.embedding_dim)
        model: nn.Module = Autoencoder(GraphEncoder(dims, activate_last=False))
        return model

    def _losses(self, graph: Graph) -> Callable[[int], Tensor]:
        features, a = inputs(graph)
        edges = torch.stack([a.indices.long(), sparse.row_ids(a)])  # self-loops too, as in the paper
        n = graph.n_nodes

        def loss_at(step: int) -> Tensor:
            # PyG would draw its negatives from Python's global generator.
            negatives = torch.randint(n, edges.shape)
            loss: Tensor = self.module_.recon_loss(self.module_.encode(features, a), edges, negatives)
            return loss

        return loss_at

    def _embed(self, graph: Graph) -> Tensor:
        z: Tensor = self.module_.encode(*inputs(graph))
        return z
