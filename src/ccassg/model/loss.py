"""The objective of CCA-SSG and its terms, written as in the paper.

    L = -trace(Z1' Z2) + lambda (||Z1' Z1 - I||^2 + ||Z2' Z2 - I||^2)

where Z1 and Z2 are the two views' embeddings with every column at mean 0 and standard deviation 1/sqrt(n). This is the
appendix's form; the main text's, with ||Z1 - Z2||^2 and twice this lambda, is 2 L + 2 d. Every published lambda belongs here.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

# A column whose variance is below this fraction of its squared mean is constant to float32 rounding.
CONSTANT = 1e-10
TINY = 1e-30


class Terms(NamedTuple):
    """The loss and its two parts; ``loss = invariance + lambda * decorrelation``."""

    loss: Tensor
    invariance: Tensor
    decorrelation: Tensor


@dataclass(frozen=True)
class Objective:
    """The weights of the two terms: ``decorrelation`` is lambda, ``invariance`` is 1 but in ablations."""

    decorrelation: float
    invariance: float = 1.0


def standardize(h: Tensor) -> Tensor:
    """Bring columns to mean 0 and standard deviation 1/sqrt(n); a constant column becomes 0, not 0/0.

    The standard deviation is the biased one, so that the diagonal of Z'Z is 1 for any n.
    """
    mean = h.mean(0)
    centered = h - mean
    return centered * inverse_std(centered.square().mean(0), mean) / len(h) ** 0.5


def inverse_std(variance: Tensor, mean: Tensor) -> Tensor:
    """Return 1 / standard deviation, and 0 for a column that is constant up to rounding."""
    varies = variance > CONSTANT * mean.square() + TINY
    return torch.where(varies, variance, torch.inf).rsqrt()


def cca_ssg_loss(h1: Tensor, h2: Tensor, objective: Objective) -> Terms:
    """Return the objective on two encoder outputs (n, d) of the same nodes, differentiable."""
    z1, z2 = standardize(h1), standardize(h2)
    invariance = -(z1 * z2).sum()
    identity = torch.eye(z1.shape[1], device=z1.device)
    decorrelation = (z1.T @ z1 - identity).square().sum() + (z2.T @ z2 - identity).square().sum()
    loss = objective.invariance * invariance + objective.decorrelation * decorrelation
    return Terms(loss, invariance, decorrelation)
