"""MVGRL: contrast the nodes of the graph with the summary of its diffusion, and the reverse (Hassani and Khasahmadi,
Contrastive Multi-View Representation Learning on Graphs, ICML 2020).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional

from ccassg.graph import Graph, draws, sparse
from ccassg.graph.feature_space import edge_fingerprint
from ccassg.graph.sparse import CSR
from ccassg.model import augment
from ccassg.systems.base import NetworkEmbedder, Patience
from ccassg.systems.encoder import GraphEncoder, inputs

Inputs = tuple[Tensor | CSR, CSR, CSR]


@dataclass(kw_only=True, eq=False, repr=False)
class MVGRL(NetworkEmbedder):
    """One encoder on the adjacency A, one on its PPR diffusion S; the embedding is the sum of both.

    S = alpha (I - (1 - alpha) A)^-1,   entries below ``threshold`` left out
    """

    target: ClassVar[str] = "N-G"
    mi_estimator: ClassVar[bool] = True
    asymmetric: ClassVar[bool] = True
    negatives: ClassVar[bool] = True
    space: ClassVar[str] = "O(N)"
    view_source: ClassVar[str] = "Fix-Diff + Cross-scale"
    loss: ClassVar[str] = "NCE/JSD"
    tasks: ClassVar[str] = "Node/Graph"

    embedding_dim: Annotated[int, "Width of the embedding."] = 512
    alpha: Annotated[float, "Restart probability of the diffusion."] = 0.2
    threshold: Annotated[float, "The smallest entry of the diffusion that is kept."] = 0.01
    subgraph_nodes: Annotated[int | None, "Train every step on so many random nodes; None takes the whole graph."] = (
        None
    )
    n_steps: int = 500
    patience: Patience = 20

    def _module(self) -> nn.ModuleDict:
        dims, d = (self.n_features_in_, self.embedding_dim), self.embedding_dim
        discriminator = nn.Bilinear(d, d, 1)
        nn.init.xavier_uniform_(discriminator.weight)
        nn.init.zeros_(discriminator.bias)
        encoders = {name: GraphEncoder(dims, activation="prelu") for name in ("adjacency", "diffusion")}
        return nn.ModuleDict(encoders | {"discriminator": discriminator})

    def _losses(self, graph: Graph) -> Callable[[int], Tensor]:
        s = self._diffusion(graph)
        whole = (*inputs(graph), sparse.from_scipy(s))
        size = self.subgraph_nodes

        def loss_at(step: int) -> Tensor:
            if size is None or size >= graph.n_nodes:
                return self._loss(whole)
            nodes = draws.sample_nodes(graph.n_nodes, size, seed=self.seed_, step=step).numpy()
            return self._loss((*inputs(graph.subgraph(nodes)), sparse.from_scipy(s[nodes][:, nodes])))

        return loss_at

    def _loss(self, views: Inputs) -> Tensor:
        features, a, s = views
        order = torch.randperm(a.shape[0])
        by_a, by_s = self.module_["adjacency"], self.module_["diffusion"]
        # One product for both: a shuffled graph's is the shuffled product.
        projected1, projected2 = by_a.project(features), by_s.project(features)
        h1, h2 = by_a.propagate(projected1, a), by_s.propagate(projected2, s)
        shuffled1, shuffled2 = by_a.propagate(projected1[order], a), by_s.propagate(projected2[order], s)
        summary1, summary2 = h1.mean(0).sigmoid(), h2.mean(0).sigmoid()
        positive = torch.cat([self._score(h2, summary1), self._score(h1, summary2)])
        negative = torch.cat([self._score(shuffled2, summary1), self._score(shuffled1, summary2)])
        # Binary cross-entropy: softplus(-x) is -log sigmoid(x).
        return (functional.softplus(-positive).mean() + functional.softplus(negative).mean()) / 2

    def _score(self, h: Tensor, summary: Tensor) -> Tensor:
        """h' W summary + b for every node; the product with one vector first, not n bilinear forms."""
        discriminator = self.module_["discriminator"]
        return h @ (discriminator.weight[0] @ summary) + discriminator.bias

    def _diffusion(self, graph: Graph) -> sp.csr_array:
        """Compute the diffusion, or take the last one where graph and parameters are the same: training and embedding share it."""
        what = (edge_fingerprint(graph), self.alpha, self.threshold)
        if getattr(self, "_last", (None, None))[0] != what:
            self._last = what, ppr(graph, self.alpha, self.threshold)
        return self._last[1]

    def _embed(self, graph: Graph) -> Any:
        features, a = inputs(graph)
        s = sparse.from_scipy(self._diffusion(graph))
        return self.module_["adjacency"](features, a) + self.module_["diffusion"](features, s)


def ppr(graph: Graph, alpha: float, threshold: float, *, block: int = 256, tolerance: float = 1e-6) -> sp.csr_array:
    """Compute personalised PageRank of every node, sparse (n, n), in blocks of rows.

    S' = alpha I + (1 - alpha) A' S' is solved by fixed-point steps; where A is symmetric each is corrected by the one before, the
    Chebyshev iteration, which takes a third of them.
    """
    c = 1 - alpha
    weights = _series(c, tolerance) if graph.directed else _chebyshev(c, tolerance)
    transposed, rows = sparse.transpose(augment.normalized(graph)), []
    for start in range(0, graph.n_nodes, block):
        size = min(block, graph.n_nodes - start)
        own = torch.arange(size)
        before = torch.zeros(graph.n_nodes, size)
        x = before.clone()
        x[start + own, own] = alpha
        for weight in weights:
            step = sparse.multiply(transposed, x).mul_(c)
            step[start + own, own] += alpha
            before, x = x, torch.lerp(before, step, weight)
        x[x < threshold] = 0
        rows.append(sp.csr_array(x.T.contiguous().numpy()))
    return sp.csr_array(sp.vstack(rows))


def _series(c: float, tolerance: float) -> list[float]:
    """Return the weights of as many plain steps as bring c^k below the tolerance."""
    return [1.0] * int(np.ceil(np.log(tolerance) / np.log(c)))


def _chebyshev(c: float, tolerance: float) -> list[float]:
    """Return the weights w of x_(k+1) = x_(k-1) + w (A' x_k c + b - x_(k-1)), for a spectrum of A in [-1, 1].

    An error is multiplied by less than 2 r^k, r = c / (1 + sqrt(1 - c^2)).
    """
    rate = c / (1 + np.sqrt(1 - c * c))
    weights = [1 / (1 - c * c / 2)]
    for _ in range(int(np.ceil(np.log(tolerance / 2) / np.log(rate)))):
        weights.append(1 / (1 - c * c * weights[-1] / 4))
    return weights
