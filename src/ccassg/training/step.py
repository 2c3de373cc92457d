"""One training step, exactly: loss and gradients of a `Encoder` on two views, without autograd.

The same numbers as ``cca_ssg_loss(encoder(view 1), encoder(view 2))`` and its backward pass, to float32 rounding, for a
fraction of the time and memory:

- features stay sparse, masks act on rows of the first weight, and the columns that both views keep are multiplied once
  for both (`ccassg.training.products`);
- the last layer and the loss are one operation (`ccassg.training.head`);
- biases and activations are applied to blocks of a product while they are in the cache;
- the large buffers are reused from step to step.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ccassg.graph import sparse
from ccassg.graph.sparse import CSR
from ccassg.model.encoder import Encoder
from ccassg.model.loss import Objective, Terms
from ccassg.training.buffers import Buffer, ViewBuffers, step_buffers
from ccassg.training.distributed import Total, no_sharing
from ccassg.training.halo import HaloExchange
from ccassg.training.head import Head
from ccassg.training.products import FirstProduct, SeparateProducts

Layers = Sequence[tuple[CSR, CSR] | None]


@dataclass(frozen=True)
class StepView:
    """One random view: which feature columns stay, and each layer's aggregation with its transpose.

    A layer is None in an MLP, and where what comes in is aggregated already.
    """

    columns: Tensor | None
    layers: Layers


# Features, the two views, and the number of nodes in the loss, over all shards.
StepInputs = tuple[FirstProduct | SeparateProducts, tuple[StepView, StepView], int]


class ExactStep:
    """Loss and gradients of one encoder, step after step, in the same buffers.

    The ``grad`` of the encoder's parameters is written, and the running statistics of its batch norms are updated. ``total`` and
    ``smooth`` are those of `Head`; ``exchange`` brings the rows of other shards that aggregations after the first need (the
    first finds all it needs in ``features``).
    """

    def __init__(
        self,
        encoder: Encoder,
        objective: Objective,
        *,
        total: Total = no_sharing,
        smooth: Total | None = None,
        exchange: HaloExchange | None = None,
    ) -> None:
        self.encoder, self.total, self.exchange = encoder, total, exchange
        self.n_halo = 0 if exchange is None else exchange.n_halo
        self.buffers = step_buffers(len(encoder.weights) - 1, like=encoder.weights[0])
        self.head = Head(objective, self.buffers, total, smooth)

    @torch.no_grad()
    def __call__(
        self, features: FirstProduct | SeparateProducts, views: tuple[StepView, StepView], n_total: int
    ) -> Terms:
        """Compute the loss on two views, of ``n_total`` nodes over all shards, and leave the gradients in ``encoder``."""
        encoder, buffers = self.encoder, self.buffers
        inputs = features.forward(encoder.weights[0], (views[0].columns, views[1].columns), buffers)
        tapes = [self._hidden(*given, n_total) for given in zip(buffers.views, views, inputs, strict=True)]
        (m1, mean1), (m2, mean2) = (
            self._centred(mine, view, tape[-1].h, n_total)
            for mine, view, tape in zip(buffers.views, views, tapes, strict=True)
        )
        m, means = (m1, m2), (mean1, mean2)
        grad_weight = None
        if len(encoder.weights) == 1:
            terms, grads = self.head.direct(m, means, n_total)
        else:
            terms, grads, grad_weight = self.head.linear(m, means, encoder.weights[-1], n_total)
        for parameter in encoder.parameters():
            parameter.grad = None
        g1, g2 = (self._backward(*given, n_total) for given in zip(buffers.views, views, tapes, grads, strict=True))
        _add_grad(encoder.weights[0], features.backward(g1, g2, buffers))
        for parameter in encoder.parameters():
            if parameter.grad is not None:
                self.total(parameter.grad)
        if grad_weight is not None:
            encoder.weights[-1].grad = grad_weight  # a sum over all shards already
        # Standardising the columns takes any constant off again, so the last bias never moves.
        encoder.biases[-1].grad = torch.zeros_like(encoder.biases[-1])
        return terms

    def _hidden(self, mine: ViewBuffers, view: StepView, y: Tensor, n_total: int) -> list[_Tape]:
        """Forward through the hidden layers from ``y`` = X W of the first; without any, ``y`` itself."""
        encoder = self.encoder
        tapes: list[_Tape] = []
        for i in range(len(encoder.weights) - 1):
            if i > 0:
                y = self._with_room(mine.product, len(y), encoder.dims[i + 1])
                torch.mm(tapes[-1].h, encoder.weights[i], out=y)
            bias, norm = encoder.biases[i], encoder.norms[i] if encoder.norms else None
            aggregation = view.layers[i]
            if aggregation is None:
                h = torch.add(y, bias, out=self._with_room(mine.hidden[i], *y.shape))
                if norm is None:
                    h.relu_()
            else:
                a = aggregation[0]
                finish = _adder(bias, relu=norm is None)
                y = y if i == 0 else self._spread(mine.product, y)
                h = sparse.multiply(a, y, self._with_room(mine.hidden[i], a.shape[0], y.shape[1]), finish)
            tapes.append(_Tape(h) if norm is None else self._normalize(i, mine.unit[i], h, n_total))
            y = tapes[-1].h
        return tapes or [_Tape(y)]

    def _normalize(self, i: int, buffer: Buffer, h: Tensor, n_total: int) -> _Tape:
        """Batch norm and relu of ``h`` in place; what the backward pass needs of it goes on the tape."""
        norm: Any = self.encoder.norms[i]
        mean = self.total(h.sum(0)).div_(n_total)
        h.sub_(mean)
        unit = buffer(*h.shape)
        variance = self.total(torch.mul(h, h, out=unit).sum(0)).div_(n_total)
        scale = (variance + norm.eps).rsqrt_()
        torch.mul(h, scale, out=unit)
        torch.addcmul(norm.bias, unit, norm.weight, out=h).relu_()
        norm.running_mean.lerp_(mean, norm.momentum)
        norm.running_var.lerp_(variance * (n_total / max(1, n_total - 1)), norm.momentum)
        norm.num_batches_tracked += 1
        return _Tape(h, unit, scale)

    def _centred(self, mine: ViewBuffers, view: StepView, h: Tensor, n_total: int) -> tuple[Tensor, Tensor]:
        """Return what the head sees: the last hidden layer (or first product), aggregated, less its column means."""
        aggregation = view.layers[-1]
        if aggregation is None:
            mean = self.total(h.sum(0)).div_(n_total)
            return torch.sub(h, mean, out=mine.product(*h.shape)), mean
        a = aggregation[0]
        if mine.hidden:
            h = self._spread(mine.hidden[-1], h)
        # The column sums of A H are those of A, times H: no pass over the product itself.
        mean = self.total(sparse.column_sums(a) @ h).div_(n_total)
        # The first product may still lie in `product`, and rows of it are read while others are written.
        out = (mine.product if mine.hidden else mine.embedding)(a.shape[0], h.shape[1])
        return sparse.multiply(a, h, out, lambda block, _, centred: torch.sub(block, mean, out=centred)), mean

    def _backward(self, mine: ViewBuffers, view: StepView, tapes: list[_Tape], g: Tensor, n_total: int) -> Tensor:
        """Go from the gradient at the head's input to that at the first product X W."""
        encoder = self.encoder
        last = len(encoder.weights) - 1
        if last == 0:
            return self._pull(iter((mine.embedding,)), view, 0, g)
        # The head leaves ``g`` in `gradient` and needs its input in `product` no more. Whatever moves ``g`` takes the next.
        spare = itertools.cycle((mine.product, mine.gradient))
        g = self._pull(spare, view, last, g, mask=tapes[-1].h)
        for i in range(last - 1, -1, -1):
            if encoder.norms:
                g = self._normalize_backward(i, g, tapes[i], n_total)
            _add_grad(encoder.biases[i], g.sum(0))
            g = self._pull(spare, view, i, g)
            if i > 0:
                below = tapes[i - 1].h
                _add_grad(encoder.weights[i], below.T @ g)
                g = torch.mm(g, encoder.weights[i].T, out=next(spare)(len(g), below.shape[1]))
                _relu_backward(g, below, out=g)
        return g

    def _pull(self, spare: Iterator[Buffer], view: StepView, i: int, g: Tensor, mask: Tensor | None = None) -> Tensor:
        """Backward through layer i's aggregation and, if ``mask`` is given, the relu below it."""
        aggregation = view.layers[i]
        if aggregation is not None:
            at = aggregation[1]
            out = next(spare)(at.shape[0], g.shape[1])
            if self.exchange is None or i == 0:
                finish = None if mask is None else lambda block, rows, out: _relu_backward(block, mask[rows], out)
                return sparse.multiply(at, g, out, finish)
            g = self.exchange.collect(sparse.multiply(at, g, out))
        return g if mask is None else _relu_backward(g, mask, out=g)

    def _with_room(self, buffer: Buffer, rows: int, columns: int) -> Tensor:
        """So many rows of a buffer, with room behind them for those of other shards."""
        return buffer(rows + self.n_halo, columns)[:rows]

    def _spread(self, buffer: Buffer, rows: Tensor) -> Tensor:
        """``rows``, which came from `_with_room` of that buffer, followed by those of other shards."""
        if self.exchange is None:
            return rows
        return self.exchange.spread(buffer(len(rows) + self.n_halo, rows.shape[1]))

    def _normalize_backward(self, i: int, g: Tensor, tape: _Tape, n_total: int) -> Tensor:
        """Backward through batch norm, in place."""
        norm: Any = self.encoder.norms[i]
        unit, scale = tape.unit, tape.scale
        assert unit is not None
        assert scale is not None
        grad_bias, grad_weight = g.sum(0), torch.mul(g, unit).sum(0)
        _add_grad(norm.bias, grad_bias)
        _add_grad(norm.weight, grad_weight)
        mean_g = self.total(grad_bias.clone()).div_(n_total)
        mean_gu = self.total(grad_weight.clone()).div_(n_total)
        g.sub_(mean_g).addcmul_(unit, mean_gu.expand_as(unit), value=-1)
        return g.mul_(norm.weight * scale)


@dataclass(frozen=True)
class _Tape:
    """What the backward pass needs of a hidden layer: its output, and the batch norm's normalised input and scale."""

    h: Tensor
    unit: Tensor | None = None
    scale: Tensor | None = None


def _adder(bias: Tensor, *, relu: bool) -> sparse.Epilogue:
    if relu:
        return lambda block, _, out: torch.add(block, bias, out=out).relu_()
    return lambda block, _, out: torch.add(block, bias, out=out)


def _relu_backward(g: Tensor, h: Tensor, out: Tensor) -> Tensor:
    """Return ``g`` where the relu's output ``h`` is above zero, zero elsewhere; ``out`` may be ``g``."""
    torch.ops.aten.threshold_backward.grad_input(g, h, 0, grad_input=out)
    return out


def _add_grad(parameter: Tensor, grad: Tensor) -> None:
    parameter.grad = grad if parameter.grad is None else parameter.grad + grad
