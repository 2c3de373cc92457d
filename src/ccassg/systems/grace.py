"""GRACE: agree on a node's two views, against all other nodes (Zhu et al., Deep Graph Contrastive Representation Learning,
2020).

    L = mean_i ( -s(i, i') / t + log sum_{j != i} exp(s(i, j) / t) )

where i and j run over the 2n rows of both views, i' is the same node in the other view, s the cosine and t the temperature.
All pairs of Coauthor Physics take 19 GB, and autograd would keep several copies; here a tile is alive at a time, each pair is
computed once for both of its ends, and the gradient is formed along with the loss.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from ccassg.graph import draws
from ccassg.systems.encoder import View, projector
from ccassg.systems.two_views import TwoViewEmbedder

# A tile of cosines, a megabyte, stays in the cache while it is worked on.
TILE_ROWS = 512
# Below this many pairs the exponentials of the first pass are kept for the second (a quarter of a gigabyte).
KEEP_PAIRS = 64_000_000


@dataclass(kw_only=True, eq=False, repr=False)
class GRACE(TwoViewEmbedder):
    """InfoNCE on the projections of two views."""

    target: ClassVar[str] = "N-N"
    projector: ClassVar[bool] = True
    negatives: ClassVar[bool] = True
    space: ClassVar[str] = "O(N^2)"
    view_source: ClassVar[str] = "Rand-Aug"
    loss: ClassVar[str] = "InfoNCE"

    projector_dim: Annotated[int, "Hidden width of the projector."] = 256
    temperature: Annotated[float, "What cosines are divided by before the softmax."] = 0.5
    # paper: all nodes. For graphs where all pairs take too long.
    loss_nodes: Annotated[int | None, "Contrast this many random nodes each step; None contrasts all."] = None

    def _module(self) -> nn.ModuleDict:
        head = projector((self.embedding_dim, self.projector_dim, self.embedding_dim))
        return nn.ModuleDict({"encoder": self._new_encoder(), "projector": head})

    def _loss(self, views: tuple[View, View], step: int) -> Tensor:
        n_nodes, nodes = views[0][1].shape[0], None
        if self.loss_nodes is not None and self.loss_nodes < n_nodes:
            nodes = draws.sample_nodes(n_nodes, self.loss_nodes, seed=self.seed_, step=step)
        h1, h2 = self._encoder.both(views, nodes=nodes)
        head = self.module_["projector"]
        z1, z2 = torch.chunk(head(torch.cat([h1, h2])), 2)
        return contrast(z1, z2, self.temperature)


def contrast(
    z1: Tensor, z2: Tensor, temperature: float, *, tile_rows: int = TILE_ROWS, keep_pairs: int = KEEP_PAIRS
) -> Tensor:
    """Return the loss of two views (n, d), a scalar, differentiable in both."""
    both = functional.normalize(torch.cat([z1, z2]))
    loss: Tensor = _Contrast.apply(both, temperature, tile_rows, keep_pairs)
    return loss


class _Contrast(torch.autograd.Function):
    """Loss of unit vectors (2n, d), the two views one above the other."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, temperature: float, tile_rows: int, keep_pairs: int) -> Tensor:
        n = len(u)
        rows = [slice(start, min(start + tile_rows, n)) for start in range(0, n, tile_rows)]
        upper = [(a, b) for i, a in enumerate(rows) for b in rows[i:]]

        def tile(a: slice, b: slice) -> Tensor:
            # Cosines are at most 1, so subtracting 1 / t keeps every exponential in range.
            e = (u[a] @ u[b].T).sub_(1).div_(temperature).exp_()
            if a == b:
                e.diagonal().zero_()
            return e

        sums, kept = u.new_zeros(n), []
        for a, b in upper:
            e = tile(a, b)
            sums[a] += e.sum(1)
            if a != b:
                sums[b] += e.sum(0)
            if n * n / 2 <= keep_pairs:
                kept.append(e)
        # d/du_i = 1 / (n t) ( sum_j E_ij (1 / r_i + 1 / r_j) u_j - 2 u_i' ), with r the sums of the rows of E.
        gradient, inverse = torch.zeros_like(u), 1 / sums
        for k, (a, b) in enumerate(upper):
            e = kept[k] if kept else tile(a, b)
            e *= inverse[a].unsqueeze(1) + inverse[b]
            gradient[a] += e @ u[b]
            if a != b:
                gradient[b] += e.T @ u[a]
        partner = u.roll(n // 2, 0)
        ctx.save_for_backward((gradient - 2 * partner) / (n * temperature))
        return (sums.log() + (1 - (u * partner).sum(1)) / temperature).mean()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        return grads[0] * ctx.saved_tensors[0], None, None, None
