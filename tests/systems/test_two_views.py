"""The losses of Graph Barlow Twins and VICReg against their definitions."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ccassg.systems.two_views import barlow_twins, vicreg_terms


@pytest.fixture
def views() -> tuple[Tensor, Tensor]:
    h1, h2 = torch.randn(2, 9, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    return h1.requires_grad_(), h2.requires_grad_()


def test_barlow_twins_by_loops(views: tuple[Tensor, Tensor]) -> None:
    z1, z2 = ((h - h.mean(0)) / h.std(0, correction=0) for h in views)
    expected = torch.zeros((), dtype=torch.float64)
    for i in range(4):
        for j in range(4):
            c = (z1[:, i] * z2[:, j]).mean()
            expected = expected + ((1 - c) ** 2 if i == j else c**2 / 4)
    assert torch.allclose(barlow_twins(*views), expected, rtol=1e-6)


def test_barlow_twins_is_zero_at_its_aim() -> None:
    # Columns of a Hadamard matrix: mean 0, deviation 1, uncorrelated.
    z = torch.tensor([[1, 1, 1], [-1, 1, -1], [1, -1, -1], [-1, -1, 1]], dtype=torch.float64)
    assert barlow_twins(z, z).item() == pytest.approx(0, abs=1e-6)


def test_barlow_twins_survives_a_constant_column(views: tuple[Tensor, Tensor]) -> None:
    flat = torch.cat([views[0], torch.ones(9, 1, dtype=torch.float64)], 1)
    assert torch.isfinite(barlow_twins(flat, flat))


def test_vicreg_by_loops(views: tuple[Tensor, Tensor]) -> None:
    invariance, variance, covariance = vicreg_terms(*views)
    assert torch.allclose(invariance, (views[0] - views[1]).square().mean())
    expected_variance, expected_covariance = 0.0, 0.0
    for z in views:
        c = torch.cov(z.T)
        expected_variance += torch.relu(1 - (c.diagonal() + 1e-4).sqrt()).mean().item() / 2
        expected_covariance += (c.square().sum() - c.diagonal().square().sum()).item() / 4
    assert variance.item() == pytest.approx(expected_variance)
    assert covariance.item() == pytest.approx(expected_covariance)


def test_gradient(views: tuple[Tensor, Tensor]) -> None:
    assert torch.autograd.gradcheck(barlow_twins, views)
    assert torch.autograd.gradcheck(lambda a, b: sum(vicreg_terms(a, b)), views)
