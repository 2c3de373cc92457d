"""The contrast of GRACE and GCA: every node of one view against every node of both, in blocks of rows.

    l(u_i, v_i) = -s(u_i, v_i) / t + log( sum_j exp(s(u_i, v_j) / t) + sum_{j != i} exp(s(u_i, u_j) / t) )

where s is the cosine and t the temperature; the loss is the mean over all nodes and both directions. An N x N matrix
of Coauthor Physics takes 4.8 GB and autograd would keep eight; here a block of rows is alive at a time, and its part of the
gradient is added up before the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from ccassg import augment
from ccassg.baselines.encoder import projector
from ccassg.baselines.two_views import TwoViewEmbedder, View

BLOCK_ENTRIES = 4_000_000


@dataclass(kw_only=True, eq=False, repr=False)
class ContrastiveEmbedder(TwoViewEmbedder):
    """InfoNCE on the projections of two views, abstract; see `TwoViewEmbedder` for the other parameters.

    Parameters
    ----------
    projector_dim : int
        Hidden width of the projector.
    temperature : float
    loss_nodes : int or None
        Contrast this many random nodes each step: not in the paper, for graphs where all pairs take too long. None
        contrasts all.
    """

    target: ClassVar[str] = "N-N"
    projector: ClassVar[bool] = True
    negatives: ClassVar[bool] = True
    space: ClassVar[str] = "O(N^2)"

    projector_dim: int = 256
    temperature: float = 0.5
    loss_nodes: int | None = None

    def _module(self) -> nn.ModuleDict:
        head = projector((self.embedding_dim, self.projector_dim, self.embedding_dim))
        return nn.ModuleDict({"encoder": self._new_encoder(), "projector": head})

    def _loss(self, views: tuple[View, View], step: int) -> Tensor:
        h1, h2 = self._encoder(*views[0]), self._encoder(*views[1])
        if self.loss_nodes is not None and self.loss_nodes < len(h1):
            nodes = augment.sample_nodes(len(h1), self.loss_nodes, seed=self.seed_, step=step)
            h1, h2 = h1[nodes], h2[nodes]
        head = self.module_["projector"]
        z1, z2 = torch.chunk(head(torch.cat([h1, h2])), 2)
        return contrast(z1, z2, self.temperature)


def contrast(z1: Tensor, z2: Tensor, temperature: float) -> Tensor:
    """The loss of two views (n, d), a scalar, differentiable in both."""
    loss: Tensor = _Contrast.apply(functional.normalize(z1), functional.normalize(z2), temperature)
    return loss


class _Contrast(torch.autograd.Function):
    """Loss of unit vectors; the gradient is computed with it, as the loss is a scalar."""

    @staticmethod
    def forward(ctx: Any, u1: Tensor, u2: Tensor, temperature: float) -> Tensor:
        gradients = (torch.zeros_like(u1), torch.zeros_like(u2))
        scale = 1 / (2 * len(u1))  # mean over nodes and directions
        positive = (u1 * u2).sum(1) / temperature
        loss = -2 * positive.sum()
        loss += _one_direction(u1, u2, temperature, gradients[0], gradients[1])
        loss += _one_direction(u2, u1, temperature, gradients[1], gradients[0])
        for gradient, other in zip(gradients, (u2, u1), strict=True):
            gradient.sub_(other, alpha=2).mul_(scale / temperature)
        ctx.save_for_backward(*gradients)
        return loss * scale

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        first, second = ctx.saved_tensors
        return grads[0] * first, grads[0] * second, None


def _one_direction(u: Tensor, v: Tensor, temperature: float, grad_u: Tensor, grad_v: Tensor) -> Tensor:
    """Sum over i of the logarithm; adds temperature times its gradient to ``grad_u`` and ``grad_v``."""
    n = len(u)
    total = u.new_zeros(())
    block = max(1, BLOCK_ENTRIES // n)
    for start in range(0, n, block):
        rows = u[start : start + block]
        # Cosines are at most 1, so subtracting 1 / t keeps every exponential in range.
        within = (rows @ u.T).sub_(1).div_(temperature).exp_()
        within.diagonal(offset=start).zero_()
        between = (rows @ v.T).sub_(1).div_(temperature).exp_()
        sums = within.sum(1) + between.sum(1)
        total += sums.log().sum() + len(rows) / temperature
        within /= sums.unsqueeze(1)
        between /= sums.unsqueeze(1)
        grad_u[start : start + block] += within @ u + between @ v
        grad_u += within.T @ rows
        grad_v += between.T @ rows
    return total
