"""The loss of VICReg against its definition."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ccassg.systems.vicreg import terms


@pytest.fixture
def views() -> tuple[Tensor, Tensor]:
    h1, h2 = torch.randn(2, 9, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    return h1.requires_grad_(), h2.requires_grad_()


def test_vicreg_by_loops(views: tuple[Tensor, Tensor]) -> None:
    invariance, variance, covariance = terms(*views)
    assert torch.allclose(invariance, (views[0] - views[1]).square().mean())
    expected_variance, expected_covariance = 0.0, 0.0
    for z in views:
        c = torch.cov(z.T)
        expected_variance += torch.relu(1 - (c.diagonal() + 1e-4).sqrt()).mean().item() / 2
        expected_covariance += (c.square().sum() - c.diagonal().square().sum()).item() / 4
    assert variance.item() == pytest.approx(expected_variance)
    assert covariance.item() == pytest.approx(expected_covariance)


def test_gradient(views: tuple[Tensor, Tensor]) -> None:
    assert torch.autograd.gradcheck(lambda a, b: sum(terms(a, b)), views)
