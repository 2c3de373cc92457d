"""The large buffers of a step, which live from step to step: fresh pages would cost more than the arithmetic on them."""

from dataclasses import dataclass

import torch
from torch import Tensor


class Buffer:
    """Memory for one matrix at a time; it grows when a larger one is asked for. Taken at first use."""

    def __init__(self, device: torch.device, dtype: torch.dtype) -> None:
        self._memory = torch.empty(0, device=device, dtype=dtype)

    def __call__(self, rows: int, columns: int) -> Tensor:
        """Return an uninitialised (rows, columns) tensor, over whatever was here before."""
        size, had = rows * columns, self._memory.numel()
        if had < size:
            # A tenth of slack, as the rows that a random subset needs vary from step to step.
            self._memory = self._memory.new_empty(size + size // 10 if had else size)
        return self._memory[:size].view(rows, columns)


@dataclass(frozen=True)
class ViewBuffers:
    """The buffers of one of the two views."""

    # Forward, in turn: X W of the first layer (`products`), H W of every further hidden layer, each until its aggregation is
    # done, then M, the centred input of the head, until the head is done. Backward: takes turns with `gradient`.
    product: Buffer
    # The output of each hidden layer; valid until the backward pass has gone through it. Has room for the halo.
    hidden: list[Buffer]
    # Each batch norm's normalised input; valid until the backward pass has gone through it.
    unit: list[Buffer]
    # Forward, of the first view: the part of X W that both views share, until both have been aggregated. Head, of the second
    # view: M1 + M2, until its own gradient replaces it. After the head: the gradient at M, from where it moves to `product`,
    # back here, and so on, down to the gradient at X W.
    gradient: Buffer
    # Z, of a head that forms it; valid within the head. With one layer Z is M, and the gradient at X W comes here after it.
    embedding: Buffer
    # The gradient at Z; before that, of the first view, Z1 * Z2. Valid until the backward pass moves on.
    embedding_gradient: Buffer


@dataclass(frozen=True)
class StepBuffers:
    """All large buffers of an `ExactStep`."""

    views: tuple[ViewBuffers, ViewBuffers]
    # Dense features: the columns kept by both views, by the first only, by the second only, from the first product to its
    # gradient.
    columns: tuple[Buffer, Buffer, Buffer]
    # The gradient of the first weight; valid until the next step, as the parameter's `grad`.
    weight_gradient: Buffer


def step_buffers(n_hidden: int, like: Tensor) -> StepBuffers:
    """Make the buffers of a encoder with so many hidden layers, on the device and of the precision of ``like``."""

    def buffers(n: int) -> list[Buffer]:
        return [Buffer(like.device, like.dtype) for _ in range(n)]

    def view() -> ViewBuffers:
        product, gradient, embedding, embedding_gradient = buffers(4)
        return ViewBuffers(product, buffers(n_hidden), buffers(n_hidden), gradient, embedding, embedding_gradient)

    both, first, second, weight = buffers(4)
    return StepBuffers((view(), view()), (both, first, second), weight)
