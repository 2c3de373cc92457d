"""Many convex logistic regressions at once: several groups of rows, each at several strengths of regularisation.

For each group and each strength C, with the classes y of the n training nodes x,

    minimise  1/2 ||W||^2 + C sum_i -log softmax(W x_i + b)_{y_i}

which is scikit-learn's `LogisticRegression`: the bias b is free, and of two classes only the difference of their weights counts.
L-BFGS solves all problems in one batch, in coordinates in which it needs few steps: rows are centred and turned to their
principal directions, of which there are no more than rows, and each direction is divided by the root of a bound on the
objective's curvature along it (after Böhning). All is in float64: rounding of the objective would spoil the last steps.
"""

from collections.abc import Sequence
from typing import TypeAlias

import torch
from torch import Tensor

# A step, the change of the gradient along it, and the reciprocal of their product.
Pair: TypeAlias = tuple[Tensor, Tensor, Tensor]

# Pairs that the inverse Hessian is made of; fewer where they would fill more than these bytes.
MAX_PAIRS, MIN_PAIRS, PAIR_BYTES = 20, 4, 400_000_000
# Strengths are solved together as long as their logits fit in.
LOGIT_BYTES = 200_000_000
# Thousands of classes would take hours: so many steps as these multiplications allow, minutes on one core, but no fewer than
# the least.
MAX_STEPS, MIN_STEPS, MAX_PRODUCTS = 2000, 20, 4e12
# An objective that falls by less than this part of it has met its rounding error.
STALL = 1e-14
# Squared lengths below this part of the longest are rounding errors.
NEGLIGIBLE = 1e-13
MAX_HALVINGS, SUFFICIENT_DECREASE = 30, 1e-4


@torch.no_grad()
def fit(rows: Tensor, y: Tensor, n_classes: int, strengths: Sequence[float], *, tolerance: float = 1e-3) -> Tensor:
    """Fit every group of rows at every strength.

    Parameters
    ----------
    rows : Tensor of shape (g, n, d)
        Shorter groups are padded with any finite rows.
    y : int64 Tensor of shape (g, n)
        Classes; -1 marks padding.
    n_classes : int
        c, also of classes that no row has; those have a bias of minus infinity and are never predicted.
    strengths : sequence of k floats
        Inverse strengths of the regularisation, C. Rising ones serve best where they do not fit into memory together: each
        then starts from the one before.
    tolerance : float
        A problem is solved when its weights are known to this part of their length.

    Returns
    -------
    float64 Tensor of shape (g, k, c, d + 1)
        Weights of each problem; the last column is the bias.
    """
    rows, real = rows.double(), (y >= 0).unsqueeze(2)
    mean = (rows * real).sum(1, keepdim=True) / real.sum(1, keepdim=True)
    turned, directions = _principal((rows - mean) * real)
    data = _Data(turned, y, n_classes)
    together = max(LOGIT_BYTES // (data.n_logits * turned.itemsize), 1)
    solved: list[Tensor] = []
    for start in range(0, len(strengths), together):
        block = torch.tensor(strengths[start : start + together], dtype=rows.dtype, device=rows.device)
        steps = int(MAX_PRODUCTS / (len(strengths) * data.n_logits * data.columns.shape[1]))
        objective = _Objective(data, block)
        solved.append(objective.minimize(tolerance, max(steps, MIN_STEPS), solved[-1][:, -1:] if solved else None))
    inner = torch.cat(solved, 1)
    # Flat, because a product that is broadcast over strengths copies the directions for each.
    weights = inner[..., :-1].flatten(1, 2) @ directions.transpose(1, 2)
    bias = inner[..., -1:] - (weights @ mean.transpose(1, 2)).view(*inner.shape[:3], 1)
    return torch.cat([weights.view(*inner.shape[:3], -1), bias + data.absent], 3)


def _principal(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return coordinates (g, n, r) and orthonormal directions (g, d, r) whose product is x, with r the lesser of n and d."""
    if x.shape[1] >= x.shape[2]:
        directions = torch.linalg.eigh(x.transpose(1, 2) @ x)[1]
    else:
        squares, left = torch.linalg.eigh(x @ x.transpose(1, 2))
        met = squares > NEGLIGIBLE * squares[:, -1:].clamp(min=0)
        directions = x.transpose(1, 2) @ (left * torch.where(met, squares, 1).rsqrt().mul(met).unsqueeze(1))
    return x @ directions, directions


class _Data:
    """What all strengths share: columns (g, r + 1, n), of which the last is 1, and classes."""

    def __init__(self, x: Tensor, y: Tensor, n_classes: int) -> None:
        self.real = (y >= 0).to(x.dtype)
        # The faster layout for both products, as in `softmax`.
        self.columns = torch.cat([x, self.real.unsqueeze(2)], 2).transpose(1, 2).contiguous()
        self.true = y.clamp(min=0)[:, None, None, :]
        counts = self.real.new_zeros(len(y), n_classes).scatter_add_(1, y.clamp(min=0), self.real)
        self.n_present = (counts > 0).sum(1)
        self.absent = torch.where(counts > 0, 0.0, -torch.inf)[:, None, :, None].to(x.dtype)
        self.n_classes, self.n_logits = n_classes, y.numel() * n_classes


class _Objective:
    """The objectives of all groups at some strengths, in scaled coordinates of shape (g, k, c, r + 1)."""

    def __init__(self, data: _Data, strengths: Tensor) -> None:
        self.data = data
        # Two classes share one weight in scikit-learn, which is then regularised half as much.
        self.strengths = strengths * torch.where(data.n_present == 2, 0.5, 1.0).to(strengths)[:, None]
        self.penalty = strengths.new_ones(data.columns.shape[1])
        self.penalty[-1] = 0
        per_class = (self.strengths / data.n_present[:, None]).unsqueeze(2)
        curvature = self.penalty + data.columns.square().sum(2)[:, None, :] * per_class
        self.scale = curvature.rsqrt().unsqueeze(2)

    def minimize(self, tolerance: float, max_steps: int, start: Tensor | None) -> Tensor:
        """Return the best weights (g, k, c, r + 1) in the coordinates of the columns."""
        shape = (*self.strengths.shape, self.data.n_classes, len(self.penalty))
        theta = self.scale.new_zeros(shape) if start is None else start / self.scale
        max_pairs = min(max(PAIR_BYTES // (2 * theta.nbytes), MIN_PAIRS), MAX_PAIRS)
        solved = theta.clone()
        open_ = torch.arange(shape[1], device=theta.device)  # the strengths that some group has not solved yet
        value, gradient = self(theta, open_)
        done = torch.zeros_like(value, dtype=torch.bool)
        pairs: list[Pair] = []
        for _ in range(min(max_steps, MAX_STEPS)):
            direction = _direction(gradient, pairs).masked_fill_(done[:, :, None, None], 0)
            step, new_value, new_gradient = self._search(theta, value, gradient, direction, open_)
            pairs = [*pairs[1 - max_pairs :], _pair(step, new_gradient - gradient)]
            theta = theta + step
            solved[:, open_] = theta
            # The objective curves by at least 1 along every weight, so these are no farther from the best than their gradient is
            # long.
            scale = self.scale[:, open_]
            done |= _norm(new_gradient / scale) <= tolerance * _norm(theta * scale)
            done |= value - new_value <= STALL * value
            value, gradient = new_value, new_gradient
            left = ~done.all(0)
            if not left.any():
                break
            if not left.all():
                open_, done = open_[left], done[:, left]
                theta, value, gradient = theta[:, left], value[:, left], gradient[:, left]
                pairs = [(s[:, left], g[:, left], r[:, left]) for s, g, r in pairs]
        return solved * self.scale

    def __call__(self, theta: Tensor, which: Tensor) -> tuple[Tensor, Tensor]:
        """Return the objectives (g, k) and their gradients at ``theta``, for some of the strengths."""
        g, k, c, width = theta.shape
        data, scale = self.data, self.scale[:, which]
        weights = theta * scale
        logits = torch.bmm(weights.view(g, k * c, width), data.columns).view(g, k, c, -1).add_(data.absent)
        logits.sub_(logits.amax(2, keepdim=True))
        true = data.true.expand(g, k, 1, -1)
        at_true = logits.gather(2, true)
        total = logits.exp_().sum(2, keepdim=True)
        share = data.real[:, None, None, :] * self.strengths[:, which, None, None]  # 0 on padding
        penalised = weights * self.penalty
        value = (share * (total.log() - at_true)).sum((2, 3)) + penalised.square().sum((2, 3)) / 2
        error = logits.mul_(share / total).scatter_add_(2, true, -share)
        gradient = torch.bmm(error.view(g, k * c, -1), data.columns.transpose(1, 2)).view(theta.shape)
        return value, gradient.add_(penalised).mul_(scale)

    def _search(
        self, theta: Tensor, value: Tensor, gradient: Tensor, direction: Tensor, which: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Halve the step of each problem until its objective falls enough; a problem that cannot fall stays where it is."""
        slope = (gradient * direction).sum((2, 3))
        length = torch.ones_like(value)
        for _ in range(MAX_HALVINGS):
            step = direction * length[:, :, None, None]
            new_value, new_gradient = self(theta + step, which)
            enough = (new_value <= value + SUFFICIENT_DECREASE * length * slope) | (slope == 0)
            if enough.all():
                return step, new_value, new_gradient
            length = torch.where(enough, length, length / 2)
        stuck = ~enough[:, :, None, None]
        return step.masked_fill(stuck, 0), torch.where(enough, new_value, value), gradient.where(stuck, new_gradient)


def _direction(gradient: Tensor, pairs: list[Pair]) -> Tensor:
    """Return minus the estimated inverse Hessian times the gradient: the two loops of L-BFGS, problem by problem."""
    q = -gradient
    shares: list[Tensor] = []
    for step, change, reciprocal in reversed(pairs):
        shares.append(reciprocal * (step * q).sum((2, 3), keepdim=True))
        q.addcmul_(shares[-1], change, value=-1)
    if pairs:
        _, change, reciprocal = pairs[-1]
        scale = 1 / (reciprocal * change.square().sum((2, 3), keepdim=True))
        q.mul_(torch.where(torch.isfinite(scale), scale, 1.0))
    for step, change, reciprocal in pairs:
        q.addcmul_(shares.pop() - reciprocal * (change * q).sum((2, 3), keepdim=True), step)
    return q


def _pair(step: Tensor, change: Tensor) -> Pair:
    """Return a step, the change of the gradient and the reciprocal of their product; 0 where that is no curvature."""
    product = (step * change).sum((2, 3), keepdim=True)
    return step, change, torch.where(product > 0, 1 / product, 0.0)


def _norm(x: Tensor) -> Tensor:
    return x.square().sum((2, 3)).sqrt()
