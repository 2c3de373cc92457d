from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from ccassg.systems.training import minimise, warmup_cosine
from ccassg.training.settings import NonFiniteLossError


class Scalar(nn.Module):
    def __init__(self, start: float) -> None:
        super().__init__()
        self.x = nn.Parameter(torch.tensor(start))


def test_finds_a_minimum_and_records_it() -> None:
    module, seen = Scalar(3.0), []
    history = minimise(
        module,
        lambda step: (module.x - 1) ** 2,
        n_steps=300,
        learning_rate=0.1,
        on_step=lambda step, losses, n_steps: seen.append((step, losses, n_steps)),
    )
    assert module.x.item() == pytest.approx(1, abs=1e-3)
    assert history[0] == 4
    assert seen == [(step, {"loss": loss}, 300) for step, loss in enumerate(history)]
    assert not module.training


def test_patience_takes_back_the_best_weights() -> None:
    module = Scalar(0.0)

    def loss_at(step: int) -> Tensor:
        # The gradient always pushes up; the loss as reported is lowest at step 4.
        return module.x - module.x.detach() + abs(step - 4)

    weights: list[float] = []
    history = minimise(
        module,
        loss_at,
        n_steps=100,
        learning_rate=0.1,
        patience=3,
        after_step=lambda step: weights.append(module.x.item()),
    )
    assert history == [4, 3, 2, 1, 0, 1, 2, 3]
    assert module.x.item() == weights[3]  # the weights that gave the loss of step 4


def test_warmup_and_cosine() -> None:
    assert [warmup_cosine(step, 4, 12) for step in (0, 2, 4, 8)] == pytest.approx([0, 0.5, 1, 0.5])
    assert warmup_cosine(12, 4, 12) == pytest.approx(0)
    assert warmup_cosine(0, 0, 10) == 1


def test_the_first_step_of_a_warmup_changes_nothing() -> None:
    module = Scalar(2.0)
    minimise(module, lambda step: module.x**2, n_steps=1, learning_rate=1.0, n_warmup_steps=10)
    assert module.x.item() == 2


def test_a_loss_that_is_not_a_number() -> None:
    module = Scalar(0.0)
    with pytest.raises(NonFiniteLossError, match="step 0; lower learning_rate"):
        minimise(module, lambda step: module.x / 0 * 0, n_steps=3, learning_rate=0.1)
