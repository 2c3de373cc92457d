"""GAE: reconstruct the edges from inner products (Kipf and Welling, Variational Graph Auto-Encoders, 2016)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor

from ccassg.graph import Graph, sparse
from ccassg.systems.base import NetworkEmbedder
from ccassg.systems.encoder import GraphEncoder, inputs


@dataclass(kw_only=True, eq=False, repr=False)
class GAE(NetworkEmbedder):
    """PyG's ``GAE`` on two graph convolutions."""

    package: ClassVar[str | None] = "torch_geometric"
    negatives: ClassVar[bool] = True
    needs_edges: ClassVar[bool] = True

    hidden_dim: Annotated[int, "Width of the hidden layer."] = 32
    embedding_dim: Annotated[int, "Width of the embedding."] = 16
    learning_rate: float = 1e-2

    def _module(self) -> Any:
        from torch_geometric.nn import GAE as Autoencoder

        dims = (self.n_features_in_, self.hidden_dim, self.embedding_dim)
        return Autoencoder(GraphEncoder(dims, activate_last=False))

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

    def _embed(self, graph: Graph) -> Any:
        return self.module_.encode(*inputs(graph))
