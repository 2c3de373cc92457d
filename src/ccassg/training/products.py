"""The first product of a training step, X W, for two feature masks at once, and its gradient.

Features stay sparse below `DENSE_FROM`, masks act on rows of W, and the columns that both views keep are multiplied once.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ccassg.graph import sparse
from ccassg.graph.sparse import CSR
from ccassg.training.buffers import StepBuffers

# Density above which dense features are faster (measured on two cores: Pubmed at 10 % is faster sparse, Amazon at
# 35 % dense).
DENSE_FROM = 0.2


class FirstProduct:
    """X W of the first layer for two feature masks at once, and the gradient of W.

    Columns that both views keep are multiplied once; columns that neither keeps, not at all. Build it with `first_product`.
    """

    def __init__(self, x: CSR | Tensor, x_t: CSR | Tensor) -> None:
        self.x, self.x_t = x, x_t

    @property
    def n_rows(self) -> int:
        """Number of nodes."""
        return self.x_t.shape[1]

    def rows(self, nodes: Tensor) -> FirstProduct:
        """Return the same for some of the nodes only."""
        if isinstance(self.x, Tensor):
            x_t = self.x.T[:, nodes]
            return FirstProduct(x_t.T, x_t)
        x = sparse.select_rows(self.x, nodes)
        return FirstProduct(x, sparse.transpose(x))

    def forward(self, weight: Tensor, keeps: tuple[Tensor | None, Tensor | None], buffers: StepBuffers) -> list[Tensor]:
        """Return both views' products, (n, d) each; one and the same tensor if no column is masked."""
        self._groups = _column_groups(keeps, weight.shape[0], weight.device)
        shape = (self.n_rows, weight.shape[1])
        shared = buffers.views[0].gradient(*shape)
        if self._groups is None:
            return [_product(self.x, weight, shared)] * 2
        code, columns = self._groups
        if isinstance(self.x, Tensor):
            self._parts = [
                torch.index_select(self.x.T, 0, c, out=buffer(len(c), self.n_rows))
                for buffer, c in zip(buffers.columns, columns, strict=True)
            ]
            torch.mm(self._parts[0].T, weight[columns[0]], out=shared)
            return [
                torch.addmm(shared, part.T, weight[c], out=view.product(*shape))
                for view, part, c in zip(buffers.views, self._parts[1:], columns[1:], strict=True)
            ]
        group = code[self.x.indices]
        sparse.multiply(sparse.select_entries(self.x, group == 3), weight, shared)
        return [
            sparse.multiply(
                sparse.select_entries(self.x, group == v + 1),
                weight,
                view.product(*shape),
                lambda block, rows, out: torch.add(block, shared[rows], out=out),
            )
            for v, view in enumerate(buffers.views)
        ]

    def backward(self, g1: Tensor, g2: Tensor, buffers: StepBuffers) -> Tensor:
        """Return the gradient of W from the gradients at the two products, of the last `forward`."""
        grad = buffers.weight_gradient(self.x_t.shape[0], g1.shape[1])
        if self._groups is None:
            return _product(self.x_t, torch.add(g1, g2, out=g1), grad)
        grad.zero_()
        _, columns = self._groups
        for v, g in ((1, g1), (2, g2), (0, None)):
            if len(columns[v]) == 0:
                continue
            g = torch.add(g1, g2, out=g1) if g is None else g
            part = sparse.select_rows(self.x_t, columns[v]) if isinstance(self.x_t, CSR) else self._parts[v]
            grad[columns[v]] = _product(part, g)
        return grad


class SeparateProducts:
    """The same interface for two views whose features differ in more than a mask."""

    def __init__(self, products: list[FirstProduct]) -> None:
        self.products = products

    def rows(self, nodes: Tensor) -> SeparateProducts:
        """Return the same for some of the nodes only."""
        return SeparateProducts([product.rows(nodes) for product in self.products])

    def forward(self, weight: Tensor, keeps: tuple[Tensor | None, Tensor | None], buffers: StepBuffers) -> list[Tensor]:
        """Return both views' products, (n, d) each."""
        self._keeps = keeps
        masked = [weight if keep is None else weight * keep.unsqueeze(1) for keep in keeps]
        return [_product(p.x, w) for p, w in zip(self.products, masked, strict=True)]

    def backward(self, g1: Tensor, g2: Tensor, buffers: StepBuffers) -> Tensor:
        """Return the gradient of W from the gradients at the two products."""
        grads = [_product(p.x_t, g) for p, g in zip(self.products, (g1, g2), strict=True)]
        first, second = (g if k is None else g * k.unsqueeze(1) for g, k in zip(grads, self._keeps, strict=True))
        return first + second


def _product(x: Tensor | CSR, dense: Tensor, out: Tensor | None = None) -> Tensor:
    return sparse.multiply(x, dense, out) if isinstance(x, CSR) else torch.mm(x, dense, out=out)


def in_faster_form(features: Tensor | CSR) -> Tensor | CSR:
    """Return the same features, dense if so many of them are stored that a dense product is faster."""
    if isinstance(features, CSR) and features.nnz >= DENSE_FROM * math.prod(features.shape):
        return features.to_dense()
    return features


def first_product(features: Tensor | CSR) -> FirstProduct:
    """Choose sparse or dense by density, and build the transpose once."""
    features = in_faster_form(features)
    if isinstance(features, CSR):
        return FirstProduct(features, sparse.transpose(features))
    x_t = features.T.contiguous()  # a group of columns is then a group of whole rows
    return FirstProduct(x_t.T, x_t)


def _column_groups(
    keeps: tuple[Tensor | None, Tensor | None], n_columns: int, device: torch.device
) -> tuple[Tensor, list[Tensor]] | None:
    """Return per column: 3 kept by both views, 1 or 2 by one, 0 by none; and the columns of groups 3, 1, 2."""
    if keeps[0] is None and keeps[1] is None:
        return None
    code = torch.zeros(n_columns, dtype=torch.uint8, device=device)
    for v, kept in enumerate(keeps):
        code += (v + 1) * (torch.ones_like(code) if kept is None else kept.to(torch.uint8))
    return code, [(code == group).nonzero().squeeze(1) for group in (3, 1, 2)]
