"""The paper's pseudo-code in plain PyTorch, as a competent user would write it: what we compare our speed with.

Dense features, cloned and masked; `torch.sparse` products for the aggregation; autograd; three full Grams.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ccassg.graph import Graph


class Textbook:
    """One CCA-SSG training run; call it once per step."""

    def __init__(self, graph: Graph, settings: dict[str, Any], seed: int = 0, device: str = "cpu") -> None:
        torch.manual_seed(seed)
        self.settings, self.device = settings, device
        assert graph.features is not None
        dense = graph.features.toarray() if hasattr(graph.features, "toarray") else graph.features
        self.features = torch.as_tensor(dense).to(device)
        coo = graph.adjacency().tocoo()
        self.rows = torch.as_tensor(coo.row, dtype=torch.int64).to(device)
        self.cols = torch.as_tensor(coo.col, dtype=torch.int64).to(device)
        dims = [graph.n_features] + [settings["hidden_dim"]] * (settings["n_layers"] - 1) + [settings["embedding_dim"]]
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in itertools.pairwise(dims)]).to(device)
        self.norm = nn.BatchNorm1d(settings["hidden_dim"]).to(device) if settings["encoder"] == "mlp" else None
        parameters = [*self.layers.parameters(), *(self.norm.parameters() if self.norm else ())]
        self.optimizer = torch.optim.Adam(parameters, lr=settings["learning_rate"])

    def step(self) -> float:
        """One step of Algorithm 1; returns the loss."""
        (x1, a1), (x2, a2) = self.augment(), self.augment()
        self.optimizer.zero_grad()
        h1, h2 = self.encode(x1, a1), self.encode(x2, a2)
        n, d = h1.shape
        z1 = (h1 - h1.mean(0)) / h1.std(0) / math.sqrt(n)
        z2 = (h2 - h2.mean(0)) / h2.std(0) / math.sqrt(n)
        c, c1, c2 = z1.T @ z2, z1.T @ z1, z2.T @ z2
        identity = torch.eye(d, device=self.device)
        loss = -torch.diagonal(c).sum()
        loss = loss + self.settings["decorrelation"] * ((identity - c1).pow(2).sum() + (identity - c2).pow(2).sum())
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())

    def augment(self) -> tuple[Tensor, Tensor | None]:
        """A masked copy of the features and the normalised adjacency of the edges that stay."""
        x = self.features.clone()
        x[:, torch.rand(x.shape[1], device=self.device) < self.settings["feature_mask_rate"]] = 0
        if self.norm is not None:
            return x, None
        n = len(x)
        keep = torch.rand(len(self.rows), device=self.device) >= self.settings["edge_drop_rate"]
        loops = torch.arange(n, device=self.device)
        rows, cols = torch.cat([self.rows[keep], loops]), torch.cat([self.cols[keep], loops])
        received = torch.bincount(rows, minlength=n).float().rsqrt()
        sent = torch.bincount(cols, minlength=n).float().rsqrt()
        values = received[rows] * sent[cols]
        return x, torch.sparse_coo_tensor(torch.stack([rows, cols]), values, (n, n)).to_sparse_csr()

    def encode(self, x: Tensor, a: Tensor | None) -> Tensor:
        """The shared encoder."""
        layer: Any
        for i, layer in enumerate(self.layers):
            if a is None:
                x = layer(x)
            else:
                x = torch.sparse.mm(a, x @ layer.weight.T) + layer.bias
            if i + 1 < len(self.layers):
                x = functional.relu(self.norm(x) if self.norm is not None else x)
        return x
