"""Algorithm 1 of the paper in plain PyTorch, line by line: read this first.

Dense features, a sparse adjacency, autograd. Every faster form in this package is compared with it: the numbers in the tests,
time and memory in `ccassg bench`. Comments in backquotes are the paper's lines.
"""

import itertools
import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ccassg.graph import Graph


class Algorithm1:
    """One training run of CCA-SSG on a graph with features; settings are those of `ccassg.model.presets`."""

    def __init__(self, graph: Graph, settings: dict[str, Any], seed: int = 0, device: str = "cpu") -> None:
        torch.manual_seed(seed)
        self.settings, self.device = settings, device
        features: Any = graph.features
        self.features = torch.as_tensor(features.toarray() if hasattr(features, "toarray") else features).to(device)
        edges = graph.adjacency().tocoo()
        self.senders = torch.as_tensor(edges.row).to(device)
        self.receivers = torch.as_tensor(edges.col).to(device)
        # `f: encoder network`: a GCN, or an MLP with batch normalisation.
        dims = [graph.n_features, *[settings["hidden_dim"]] * (settings["n_layers"] - 1), settings["embedding_dim"]]
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in itertools.pairwise(dims)])
        self.norms = nn.ModuleList(
            [nn.BatchNorm1d(width) for width in dims[1:-1]] if settings["encoder"] == "mlp" else []
        )
        self.f = nn.ModuleList([self.layers, self.norms]).to(device)
        self.optimizer = torch.optim.Adam(self.f.parameters(), lr=settings["learning_rate"])

    def step(self) -> float:
        """Take one step and return its loss."""
        g1, feat1 = self.augment()  # `g1, feat1 = augment(g, feat)`
        g2, feat2 = self.augment()  # `g2, feat2 = augment(g, feat)`
        z1 = self.encode(g1, feat1)  # `z1 = f(g1, feat1)`
        z2 = self.encode(g2, feat2)  # `z2 = f(g2, feat2)`
        loss = cca_ssg(z1, z2, self.settings["decorrelation"])
        self.optimizer.zero_grad()  # appendix: "Update theta by gradient descent"
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())

    def augment(self) -> tuple[Tensor | None, Tensor]:
        """Drop edges and mask feature columns at random; an MLP has no use for edges."""
        feat = self.features.clone()
        feat[:, torch.rand(feat.shape[1], device=self.device) < self.settings["feature_mask_rate"]] = 0
        if self.settings["encoder"] == "mlp":
            return None, feat
        kept = torch.rand(len(self.senders), device=self.device) >= self.settings["edge_drop_rate"]
        return normalized_adjacency(self.receivers[kept], self.senders[kept], len(feat)), feat

    def encode(self, g: Tensor | None, feat: Tensor) -> Tensor:
        """Apply the encoder that both views share: ``H <- relu(A H W + b)``, the last layer without the ReLU."""
        h = feat
        layer: Any
        for i, layer in enumerate(self.layers):
            h = layer(h) if g is None else torch.sparse.mm(g, h @ layer.weight.T) + layer.bias
            if i + 1 < len(self.layers):
                h = functional.relu(self.norms[i](h) if len(self.norms) else h)
        return h


def cca_ssg(z1: Tensor, z2: Tensor, decorrelation: float) -> Tensor:
    """Return the loss of two views' embeddings (N, D)."""
    n, d = z1.shape
    # `z1_norm = ((z1 - z1.mean(0)) / z1.std(0)) / sqrt(D)`
    # paper: Algorithm 1 says sqrt(D), equation (2) sqrt(N); only with N are the diagonals of C1 and C2 the ones that the loss
    # compares them with. The standard deviation is the biased one for the same reason.
    z1_norm = (z1 - z1.mean(0)) / z1.std(0, correction=0) / math.sqrt(n)
    z2_norm = (z2 - z2.mean(0)) / z2.std(0, correction=0) / math.sqrt(n)
    c1 = torch.mm(z1_norm.T, z1_norm)  # `c1 = torch.mm(z1_norm.T(), z1_norm)`
    c2 = torch.mm(z2_norm.T, z2_norm)  # `c2 = torch.mm(z2_norm.T(), z2_norm)`
    iden = torch.eye(d, device=z1.device)  # `iden = torch.eye(D)`
    # `loss_inv = (z1_norm - z2_norm).pow(2).sum()`
    # paper: that is 2 D - 2 trace(C). The appendix and the released code take -trace(C), to which every published lambda belongs.
    loss_inv = -torch.diagonal(torch.mm(z1_norm.T, z2_norm)).sum()
    loss_dec_1 = (c1 - iden).pow(2).sum()  # `loss_dec_1 = (c1 - iden).pow(2).sum()`
    loss_dec_2 = (c2 - iden).pow(2).sum()  # `loss_dec_2 = (c2 - iden).pow(2).sum()`
    loss_dec = loss_dec_1 + loss_dec_2  # `loss_dec = loss_dec_1 + loss_dec_2`
    return loss_inv + decorrelation * loss_dec  # `loss = loss_inv + lambda * loss_dec`


def normalized_adjacency(receivers: Tensor, senders: Tensor, n: int) -> Tensor:
    """Return D_in^-1/2 (A + I) D_out^-1/2 of a list of edges, sparse (n, n); a row sums over what its node receives."""
    # Self-loops go in after dropping, so that no node loses itself.
    loops = torch.arange(n, device=senders.device)
    rows, cols = torch.cat([receivers, loops]), torch.cat([senders, loops])
    received, sent = torch.bincount(rows), torch.bincount(cols)
    values = received.float().rsqrt()[rows] * sent.float().rsqrt()[cols]
    return torch.sparse_coo_tensor(torch.stack([rows, cols]), values, (n, n)).to_sparse_csr()
