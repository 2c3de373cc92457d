"""The one training loop of the systems: each says only what its loss is at a given step."""

import copy
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ccassg.training.settings import NonFiniteLossError, OnStep


def minimise(
    module: nn.Module,
    loss_at: Callable[[int], Tensor],
    *,
    n_steps: int,
    learning_rate: float,
    weight_decay: float = 0.0,
    groups: list[dict[str, Any]] | None = None,
    patience: int | None = None,
    n_warmup_steps: int | None = None,
    after_step: Callable[[int], None] | None = None,
    on_step: OnStep | None = None,
) -> list[float]:
    """Train a module in place, by Adam, leave it in evaluation mode, and return the loss of every step.

    ``groups`` are parameter groups with decays of their own, instead of one for all. With ``patience``, training stops when
    the loss has not improved for so many steps, and takes back the weights that gave the lowest. With ``n_warmup_steps`` the
    learning rate rises linearly, then falls along a cosine to 0, and decay is decoupled from the gradient (AdamW): the
    schedule of BGRL and Graph Barlow Twins.
    """
    adam = torch.optim.Adam if n_warmup_steps is None else torch.optim.AdamW
    optimizer = adam(groups or module.parameters(), lr=learning_rate, weight_decay=weight_decay)
    history: list[float] = []
    best, best_weights, since = math.inf, None, 0
    module.train()
    for step in range(n_steps):
        if n_warmup_steps is not None:
            for group in optimizer.param_groups:
                group["lr"] = learning_rate * warmup_cosine(step, n_warmup_steps, n_steps)
        optimizer.zero_grad()
        loss = loss_at(step)
        value = loss.item()
        if not math.isfinite(value):
            raise NonFiniteLossError(f"the loss is not finite at step {step}; lower learning_rate ({learning_rate:g})")
        if patience is not None:
            since += 1
            if value < best:
                best, best_weights, since = value, copy.deepcopy(module.state_dict()), 0
        loss.backward()
        optimizer.step()
        history.append(value)
        if after_step is not None:
            after_step(step)
        if on_step is not None:
            on_step(step, {"loss": value}, n_steps)
        if patience is not None and since >= patience:
            break
    if best_weights is not None:
        module.load_state_dict(best_weights)
    module.eval()
    return history


def warmup_cosine(step: int, n_warmup_steps: int, n_steps: int) -> float:
    """Return a factor in [0, 1]: linear rise over the warm-up, then half a cosine down to 0 at ``n_steps``."""
    if step < n_warmup_steps:
        return step / n_warmup_steps
    return (1 + math.cos(math.pi * (step - n_warmup_steps) / max(1, n_steps - n_warmup_steps))) / 2
