"""Graph Barlow Twins (Bielak, Kajdanowicz, Chawla, Graph Barlow Twins: A Self-Supervised Representation Learning Framework
for Graphs, 2022).
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from ccassg.systems.two_views import TwoViewEmbedder, View

EPS = 1e-8


@dataclass(kw_only=True, eq=False, repr=False)
class GraphBarlowTwins(TwoViewEmbedder):
    """Make the cross-correlation of the two views' columns the identity.

        L = sum_i (1 - C_ii)^2 + 1/d sum_{i != j} C_ij^2,   C = Z1' Z2 / n

    Parameters
    ----------
    n_warmup_steps : int
        Steps in which the learning rate rises; afterwards it falls along a cosine.
    """

    target: ClassVar[str] = "F-F"
    space: ClassVar[str] = "O(D^2)"

    n_warmup_steps: int = 20

    def _module(self) -> nn.ModuleDict:
        return nn.ModuleDict({"encoder": self._new_encoder(batch_norm=True, activate_last=False)})

    def _loss(self, views: tuple[View, View], step: int) -> Tensor:
        return barlow_twins(self._encoder(*views[0]), self._encoder(*views[1]))


def barlow_twins(h1: Tensor, h2: Tensor) -> Tensor:
    """The loss of two views' embeddings (n, d)."""
    z1, z2 = ((h - h.mean(0)) / (h.std(0, correction=0) + EPS) for h in (h1, h2))
    correlation = z1.T @ z2 / len(z1)
    diagonal = correlation.diagonal()
    off_diagonal = correlation.square().sum() - diagonal.square().sum()
    return (1 - diagonal).square().sum() + off_diagonal / len(diagonal)
