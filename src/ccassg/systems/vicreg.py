"""VICReg on graphs: variance, invariance, covariance (Bardes, Ponce, LeCun, VICReg, ICLR 2022) with a GCN encoder."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from ccassg.systems.encoder import projector
from ccassg.systems.two_views import TwoViewEmbedder, View


@dataclass(kw_only=True, eq=False, repr=False)
class VICReg(TwoViewEmbedder):
    """Keep every column's deviation above 1, the views close and the columns uncorrelated, on an expander's output.

        L = invariance |Z1 - Z2|^2 / (n d) + variance sum_v mean_j max(0, 1 - std_j) + covariance sum_v |off(C_v)|^2 / d

    Parameters
    ----------
    expander_dim : int
        Width of the expander's hidden layer and output.
    invariance, variance, covariance : float
        Weights of the terms.
    """

    target: ClassVar[str] = "F-F"
    projector: ClassVar[bool] = True
    space: ClassVar[str] = "O(D^2)"

    expander_dim: int = 512
    invariance: float = 25.0
    variance: float = 25.0
    covariance: float = 1.0

    def _module(self) -> nn.ModuleDict:
        head = projector((self.embedding_dim, self.expander_dim, self.expander_dim), "relu", batch_norm=True)
        return nn.ModuleDict({"encoder": self._new_encoder(activate_last=False), "expander": head})

    def _loss(self, views: tuple[View, View], step: int) -> Tensor:
        expander = self.module_["expander"]
        z1, z2 = (expander(self._encoder(*view)) for view in views)
        invariance, variance, covariance = terms(z1, z2)
        return self.invariance * invariance + self.variance * variance + self.covariance * covariance


def terms(z1: Tensor, z2: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Invariance, variance and covariance of two views (n, d)."""
    n, d = z1.shape
    variance, covariance = z1.new_zeros(()), z1.new_zeros(())
    for z in (z1, z2):
        centred = z - z.mean(0)
        gram = centred.T @ centred / max(1, n - 1)
        variance = variance + functional.relu(1 - (gram.diagonal() + 1e-4).sqrt()).mean()
        covariance = covariance + (gram.square().sum() - gram.diagonal().square().sum()) / d
    return functional.mse_loss(z1, z2), torch.as_tensor(variance / 2), covariance
