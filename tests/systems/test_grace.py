from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from ccassg.systems.grace import contrast


def reference(z1: Tensor, z2: Tensor, temperature: float) -> Tensor:
    """The definition, with every N x N matrix in sight."""
    u1, u2 = functional.normalize(z1), functional.normalize(z2)

    def one(u: Tensor, v: Tensor) -> Tensor:
        between = torch.exp(u @ v.T / temperature)
        within = torch.exp(u @ u.T / temperature)
        return -torch.log(between.diagonal() / (between.sum(1) + within.sum(1) - within.diagonal()))

    return (one(u1, u2) + one(u2, u1)).mean() / 2


@pytest.fixture
def views() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    z1, z2 = torch.randn(2, 11, 4, dtype=torch.float64, generator=generator)
    return z1.requires_grad_(), z2.requires_grad_()


@pytest.mark.parametrize("tile_rows", [1, 7, 11, 100])
@pytest.mark.parametrize("keep_pairs", [0, 10_000])
def test_equals_the_definition_in_any_tiles(views: tuple[Tensor, Tensor], tile_rows: int, keep_pairs: int) -> None:
    expected = reference(*views, 0.3)
    loss = contrast(*views, 0.3, tile_rows=tile_rows, keep_pairs=keep_pairs)
    assert torch.allclose(loss, expected, rtol=1e-12)
    for ours, theirs in zip(torch.autograd.grad(loss, views), torch.autograd.grad(expected, views), strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-9, atol=1e-14)


def test_gradient(views: tuple[Tensor, Tensor]) -> None:
    assert torch.autograd.gradcheck(lambda a, b: 3 * contrast(a, b, 0.5), views)


def test_symmetric_in_the_views(views: tuple[Tensor, Tensor]) -> None:
    assert torch.allclose(contrast(views[0], views[1], 0.4), contrast(views[1], views[0], 0.4))


def test_by_hand() -> None:
    # Two orthogonal nodes, identical views, temperature 1: -1 + log(e + 1 + 1) for every node and direction.
    z = torch.eye(2, dtype=torch.float64)
    expected = -1 + torch.log(torch.e + torch.tensor(2.0, dtype=torch.float64))
    assert torch.allclose(contrast(z, z, 1.0), expected)


def test_low_temperature_stays_finite() -> None:
    z = torch.randn(6, 3, generator=torch.Generator().manual_seed(1))
    assert torch.isfinite(contrast(z, z.flip(0), 1e-3))
