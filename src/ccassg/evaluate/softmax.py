"""Many softmax regressions trained at once, each keeping the weights of its first best validation epoch.

The runs of an evaluation share shapes, so one batched product per epoch serves them all. Three things make it fast:

* Classes come before nodes: weights are (classes, width), logits (classes, nodes). A product with a handful of
  columns is several times slower than the same product with a handful of rows, and the softmax runs over a strided
  axis, i.e. vectorised over nodes.
* The gradient of the cross entropy is written out: X^T (softmax - onehot) / n_train. No graph is recorded.
* Validation follows in blocks of epochs: the weights of a block are kept and multiplied with the validation rows in
  one wide product. It is the same accuracy after every epoch, but the rows are read once per block, and nothing
  crosses to Python before the end.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
# Floats in the validation logits of one block of epochs: 16 MB stay near the cache and bound the memory.
BLOCK_FLOATS = 4_000_000
MAX_BLOCK, MIN_BLOCK = 32, 8


@dataclass(frozen=True)
class Fitted:
    """What training chose, per run.

    Attributes
    ----------
    weights : Tensor of shape (g, s, c, d + 1)
        The last column is the bias.
    epochs : int64 Tensor of shape (g, s)
        The chosen epoch, counted from 1.
    val_accuracies : float64 Tensor of shape (g, s)
    """

    weights: Tensor
    epochs: Tensor
    val_accuracies: Tensor


def initial_weights(seed: int, n_classes: int, dim: int) -> Tensor:
    """Draw weights and bias, float32 (n_classes, dim + 1), as ``torch.nn.Linear`` does after ``torch.manual_seed(seed)``."""
    generator = torch.Generator().manual_seed(seed)
    bound = 1 / math.sqrt(dim)
    parts = [torch.empty(n_classes, dim), torch.empty(n_classes, 1)]
    return torch.cat([part.uniform_(-bound, bound, generator=generator) for part in parts], dim=1)


def with_ones(rows: Tensor) -> Tensor:
    """Append the constant column that the bias multiplies: (..., d) -> (..., d + 1)."""
    return functional.pad(rows, (0, 1), value=1.0)


def train(
    weights: Tensor,
    train_rows: Tensor,
    train_y: Tensor,
    val_rows: Tensor,
    val_y: Tensor,
    *,
    learning_rate: float,
    weight_decay: float,
    epochs: int,
    last_only: bool = False,
    block: int | None = None,
) -> Fitted:
    """Minimise the mean cross entropy by full-batch Adam, every run on its own, all in one batch.

    There are g groups of s runs; the runs of a group share their rows and differ in the initial weights.

    Parameters
    ----------
    weights : Tensor of shape (g, s, c, d + 1)
        Initial weights; the bias is the last column. Weight decay adds to the gradient of both, as in
        ``torch.optim.Adam``.
    train_rows, val_rows : Tensors of shapes (g, n_train, d + 1) and (g, n_val, d + 1)
        The last column is 1. Shorter groups are padded with rows of zeros.
    train_y, val_y : int64 Tensors of shapes (g, n_train) and (g, n_val)
        Classes; -1 marks padding.
    learning_rate, weight_decay : float
    epochs : int
        At least 1.
    last_only : bool
        Choose the last epoch instead of the best one.
    block : int, optional
        Epochs whose validation follows at once; by default as many as fit near the cache.
    """
    g, s, c, width = weights.shape
    w = weights.reshape(g, s * c, width).clone()
    first, second, scratch = torch.zeros_like(w), torch.zeros_like(w), torch.empty_like(w)
    gradient = torch.empty_like(w)
    share, target = _targets(train_y, c, w.dtype)
    logits = w.new_empty(g, s * c, train_rows.shape[1])
    by_class = logits.view(g, s, c, -1)
    train_columns = train_rows.transpose(1, 2).contiguous()  # the faster layout for both products
    train_rows = train_columns.transpose(1, 2)

    first_seen = epochs if last_only else 1
    if block is None:
        fits = BLOCK_FLOATS // (g * s * c * val_rows.shape[1])
        block = min(max(fits, MIN_BLOCK), MAX_BLOCK)
    choice = _Choice(weights, val_rows, val_y, first_seen, min(block, epochs - first_seen + 1))
    for epoch in range(epochs):
        torch.bmm(w, train_columns, out=logits)
        torch.softmax(by_class, dim=2, out=by_class)
        by_class.mul_(share).sub_(target)
        torch.bmm(logits, train_rows, out=gradient)
        gradient.add_(w, alpha=weight_decay)

        first.lerp_(gradient, 1 - BETA1)
        second.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
        torch.sqrt(second, out=scratch)
        scratch.div_(math.sqrt(1 - BETA2 ** (epoch + 1))).add_(EPSILON)
        w.addcdiv_(first, scratch, value=-learning_rate / (1 - BETA1 ** (epoch + 1)))

        if epoch + 1 >= first_seen:
            choice.see(w)
    return choice.result()


def best(fits: list[Fitted]) -> Fitted:
    """Return for every run the one of several trainings with the highest validation accuracy, the earliest of those that share it."""
    if len(fits) == 1:
        return fits[0]
    accuracies = torch.stack([fit.val_accuracies for fit in fits])
    # Accuracies of one run are counts over one number of nodes, so equal ones are equal bits.
    which = accuracies.argmax(0)
    g, s = (torch.arange(n, device=which.device) for n in which.shape)
    runs = g[:, None], s
    return Fitted(
        torch.stack([fit.weights for fit in fits])[which, *runs],
        torch.stack([fit.epochs for fit in fits])[which, *runs],
        accuracies[which, *runs],
    )


def _targets(y: Tensor, n_classes: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return 1 / n_train on real nodes and 0 on padding, (g, 1, 1, n); the same on the true class, (g, 1, c, n)."""
    real = y >= 0
    share = (real / real.sum(1, keepdim=True)).to(dtype)[:, None, None, :]
    classes = torch.arange(n_classes, device=y.device)
    return share, (y[:, None, :] == classes[:, None]).to(dtype)[:, None] * share


class _Choice:
    """The first epoch with the highest validation accuracy, per run; sees the weights after each from ``first`` on."""

    def __init__(self, weights: Tensor, val_rows: Tensor, val_y: Tensor, first: int, block: int) -> None:
        g, s, c, width = weights.shape
        n_val = val_rows.shape[1]
        self._rows, self._shape = val_rows.transpose(1, 2), (g, s, c, width)
        self._n_val = (val_y >= 0).sum(1, keepdim=True)
        self._true = val_y.clamp(min=0)[:, None, None, None, :].expand(g, block, s, 1, n_val)
        self._real = (val_y >= 0)[:, None, None, None, :]
        self._history = weights.new_empty(g, block, s * c, width)
        self._logits = weights.new_empty(g, block * s * c, n_val)
        self._filled, self._seen = 0, first - 1
        self._weights = weights.clone()
        self._correct = torch.full((g, s), -1, device=weights.device)
        self._epochs = torch.zeros_like(self._correct)

    def see(self, w: Tensor) -> None:
        """Keep the weights (g, s * c, width); score the block once it is full."""
        self._history[:, self._filled].copy_(w)
        self._filled += 1
        if self._filled == self._history.shape[1]:
            self._score()

    def result(self) -> Fitted:
        """Score what is left and return the choice."""
        if self._filled:
            self._score()
        return Fitted(self._weights, self._epochs, self._correct / self._n_val)

    def _score(self) -> None:
        g, s, c, width = self._shape
        block = self._history.shape[1]
        torch.bmm(self._history.view(g, block * s * c, width), self._rows, out=self._logits)
        logits = self._logits.view(g, block, s, c, -1)
        # Right where no class beats the true one; an index of the maximum would cost a hundred times as much.
        right = (logits.gather(3, self._true) >= logits.amax(3, keepdim=True)) & self._real
        correct = right.sum((3, 4))
        # The earliest of those that share it. A last, shorter block still holds weights scored before, which cannot be better.
        best, slot = correct.max(1)
        better = best > self._correct
        picked = self._history.view(g, block, s, c, width).gather(
            1, slot[:, None, :, None, None].expand(g, 1, s, c, width)
        )
        self._weights = torch.where(better[:, :, None, None], picked[:, 0], self._weights)
        self._epochs = torch.where(better, slot + self._seen + 1, self._epochs)
        self._correct = torch.where(better, best, self._correct)
        self._seen += self._filled
        self._filled = 0
