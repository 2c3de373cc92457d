"""Many convex logistic regressions at once: several groups of rows, each at several strengths of regularisation.

For each group and each strength C, with the classes y of the n training nodes x,

    minimise  1/2 ||W||^2 + C sum_i -log softmax(W x_i + b)_{y_i}

which is scikit-learn's `LogisticRegression`: the bias b is free, and of two classes only the difference of their weights counts.
L-BFGS solves all groups in one batch, strength after strength: each starts where the line through the two before, over log C,
points to. It needs few steps because of its coordinates: rows are centred and turned to their principal directions, of which
there are no more than rows (the weights lie in the span of the rows), and every weight is divided by the root of the
objective's curvature along it at the start. Small problems are in float64, as rounding of the objective would spoil the last
steps; large ones in float32.
"""

import math
from collections.abc import Sequence
from typing import TypeAlias

import torch
from torch import Tensor

# A step, the change of the gradient along it, and the reciprocal of their product.
Pair: TypeAlias = tuple[Tensor, Tensor, Tensor]

# Pairs that the inverse Hessian is made of; fewer where they would fill more than these bytes.
MAX_PAIRS, MIN_PAIRS, PAIR_BYTES = 20, 4, 400_000_000
# Beyond so many multiplications in one gradient, single precision.
SINGLE_PRODUCTS = 1e9
# Thousands of classes would take hours: each strength gets as many gradients as these multiplications allow, a quarter of a
# minute on one core, but no fewer than the least.
MIN_GRADIENTS, MAX_PRODUCTS = 5, 2e11
# The bound on the curvature (Böhning's) counts for this part, lest a weight without curvature at the start take any step.
BOUND_PART = 0.01
# Squared lengths below this part of the longest are rounding errors.
NEGLIGIBLE = 1e-13
MAX_HALVINGS, SUFFICIENT_DECREASE = 30, 1e-4
# Differences of so many units in the last place are rounding; so many steps without progress end a search.
ROUNDING, MAX_IDLE = 10, 5


@torch.no_grad()
def fit(
    rows: Tensor, y: Tensor, n_classes: int, strengths: Sequence[float], *, tolerance: float = 1e-3
) -> tuple[Tensor, Tensor]:
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
        Inverse strengths of the regularisation, C. Rising ones take the fewest steps.
    tolerance : float
        A problem is solved when its weights are known to this part of their length.

    Returns
    -------
    weights : float64 Tensor of shape (g, k, c, d + 1)
        Of each problem; the last column is the bias.
    solved : bool Tensor of shape (g, k)
        False where the work that is allowed did not suffice.
    """
    rows, real = rows.double(), (y >= 0).unsqueeze(2)
    mean = (rows * real).sum(1, keepdim=True) / real.sum(1, keepdim=True)
    turned, directions = _principal((rows - mean) * real)
    products = 2 * y.shape[1] * n_classes * (turned.shape[2] + 1)
    objective = _Objective(turned if products < SINGLE_PRODUCTS else turned.float(), y, n_classes)
    most = max(int(MAX_PRODUCTS / (len(strengths) * products)), MIN_GRADIENTS)
    found: list[Tensor] = []
    done: list[Tensor] = []
    for at in range(len(strengths)):
        start = _start(found, done, strengths[: at + 1]) if found else objective.zeros()
        objective.regularise(strengths[at], start)
        weights, solved = objective.minimize(start, tolerance, most)
        found.append(weights)
        done.append(solved)
    inner = torch.stack(found, 1).to(rows)
    # Flat, because a product that is broadcast over strengths copies the directions for each.
    weights = inner[..., :-1].flatten(1, 2) @ directions.transpose(1, 2)
    bias = inner[..., -1:] - (weights @ mean.transpose(1, 2)).view(*inner.shape[:3], 1)
    absent = objective.absent[:, None].to(rows)
    return torch.cat([weights.view(*inner.shape[:3], -1), bias + absent], 3), torch.stack(done, 1)


def _principal(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return coordinates (g, n, r) and orthonormal directions (g, d, r) whose product is x, with r the lesser of n and d."""
    if x.shape[1] >= x.shape[2]:
        directions = torch.linalg.eigh(x.transpose(1, 2) @ x)[1]
        return x @ directions, directions
    squares, left = torch.linalg.eigh(x @ x.transpose(1, 2))
    met = squares > NEGLIGIBLE * squares[:, -1:].clamp(min=0)
    lengths = torch.where(met, squares, 1).sqrt().unsqueeze(1)
    left = left * met.unsqueeze(1)
    return left * lengths, x.transpose(1, 2) @ (left / lengths)


def _start(found: list[Tensor], done: list[Tensor], strengths: Sequence[float]) -> Tensor:
    """Return where to start from at the last of the strengths: on the line through the two solutions before, over log C."""
    if len(found) < 2 or not strengths[-3] < strengths[-2] < strengths[-1] or not (done[-2] & done[-1]).all():
        return found[-1]
    before, last, now = (math.log(c) for c in strengths[-3:])
    return torch.lerp(found[-2], found[-1], 1 + (now - last) / (last - before))


class _Objective:
    """The objectives of all groups at one strength, in scaled coordinates of shape (g, c, r + 1)."""

    def __init__(self, x: Tensor, y: Tensor, n_classes: int) -> None:
        self.real = (y >= 0).to(x).unsqueeze(1)
        # The faster layout for both products, as in `softmax`; the last column is the bias's.
        self.columns = torch.cat([x, self.real.transpose(1, 2)], 2).transpose(1, 2).contiguous()
        self.squares = self.columns.square().transpose(1, 2)
        self.true = y.clamp(min=0).unsqueeze(1)
        counts = self.real.new_zeros(len(y), n_classes).scatter_add_(1, self.true[:, 0], self.real[:, 0])
        self.present = (counts > 0).to(x).unsqueeze(2)
        self.n_present = self.present.sum(1, keepdim=True)
        self.absent = torch.where(counts > 0, 0.0, -torch.inf).unsqueeze(2).to(x)
        self.penalty = x.new_ones(self.columns.shape[1])
        self.penalty[-1] = 0
        self.n_gradients = 0

    def zeros(self) -> Tensor:
        """Return weights (g, c, r + 1) of 0."""
        return self.columns.new_zeros(len(self.columns), self.absent.shape[1], self.columns.shape[1])

    def regularise(self, strength: float, start: Tensor) -> None:
        """Take this strength, and coordinates in which the curvature at ``start`` is about 1 along every weight."""
        # Two classes share one weight in scikit-learn, which is then regularised half as much.
        self.share = self.real * strength * torch.where(self.n_present == 2, 0.5, 1.0).to(start)  # 0 on padding
        p = torch.softmax(start @ self.columns + self.absent, 1)
        p = p.mul_(1 - p).mul_(1 - BOUND_PART).add_(BOUND_PART / self.n_present).mul_(self.share)
        self.scale = (p @ self.squares + self.penalty).rsqrt_()

    def minimize(self, start: Tensor, tolerance: float, most: int) -> tuple[Tensor, Tensor]:
        """Return the best weights (g, c, r + 1) in the coordinates of the columns, and which groups are solved (g,).

        No step begins after ``most`` gradients.
        """
        theta = start / self.scale
        max_pairs = min(max(PAIR_BYTES // (2 * theta.nbytes), MIN_PAIRS), MAX_PAIRS)
        value, gradient = self(theta)
        done = self._is_solved(theta, gradient, tolerance)
        least, idle = _norm(gradient), torch.zeros_like(value)
        pairs: list[Pair] = []
        last = self.n_gradients + most - 1
        while self.n_gradients < last and not done.all():
            direction = _direction(gradient, pairs).masked_fill_(done[:, None, None], 0)
            step, new_value, new_gradient = self._search(theta, value, gradient, direction)
            pairs = [*pairs[1 - max_pairs :], _pair(step, new_gradient - gradient)]
            theta = theta + step
            done |= self._is_solved(theta, new_gradient, tolerance)
            # Where neither objective nor gradient fall any more, they have met their rounding error.
            falls = (new_value < value * (1 - ROUNDING * _eps(value))) | (_norm(new_gradient) < least)
            idle = torch.where(falls, 0, idle + 1)
            done |= idle >= MAX_IDLE
            least = torch.minimum(least, _norm(new_gradient))
            value, gradient = new_value, new_gradient
        return self._weights(theta), done

    def _weights(self, theta: Tensor) -> Tensor:
        """Return the weights at ``theta``, of mean 0 over the classes: what all classes share changes no probability."""
        return self._centred(theta * self.scale)

    def _centred(self, weights: Tensor) -> Tensor:
        """Take the mean over the classes that are present from each of them, in place; those that are absent are 0."""
        return weights.addcmul_(self.present, weights.sum(1, keepdim=True) / self.n_present, value=-1)

    def _is_solved(self, theta: Tensor, gradient: Tensor, tolerance: float) -> Tensor:
        """Say which weights are known to a part of their length.

        The objective curves by at least 1 along every weight, so they are no farther from the best than their gradient is long.
        """
        return _norm(gradient / self.scale) <= tolerance * _norm(self._weights(theta))

    def __call__(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """Return the objectives (g,) and their gradients at ``theta``."""
        self.n_gradients += 1
        weights = self._weights(theta)
        logits = torch.bmm(weights, self.columns).add_(self.absent)
        logits.sub_(logits.amax(1, keepdim=True))
        at_true = logits.gather(1, self.true)
        total = logits.exp_().sum(1, keepdim=True)
        penalised = weights * self.penalty
        value = (self.share * (total.log() - at_true)).sum((1, 2)) + penalised.square().sum((1, 2)) / 2
        error = logits.mul_(self.share / total).scatter_add_(1, self.true, -self.share)
        gradient = torch.bmm(error, self.columns.transpose(1, 2))
        return value, self._centred(gradient.add_(penalised)).mul_(self.scale)

    def _search(
        self, theta: Tensor, value: Tensor, gradient: Tensor, direction: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Halve the step of each group until its objective falls enough; a group that cannot fall stays where it is."""
        slope = (gradient * direction).sum((1, 2))
        length = torch.ones_like(value)
        for _ in range(MAX_HALVINGS):
            step = direction * length[:, None, None]
            new_value, new_gradient = self(theta + step)
            enough = (new_value <= value + SUFFICIENT_DECREASE * length * slope) | (slope == 0)
            # Near the best the objective is flat up to its rounding; the slope still tells (after Hager and Zhang).
            flat = new_value <= value * (1 + ROUNDING * _eps(value))
            enough |= flat & ((new_gradient * direction).sum((1, 2)) <= -0.8 * slope)
            if enough.all():
                return step, new_value, new_gradient
            length = torch.where(enough, length, length / 2)
        stuck = ~enough[:, None, None]
        return step.masked_fill(stuck, 0), torch.where(enough, new_value, value), gradient.where(stuck, new_gradient)


def _direction(gradient: Tensor, pairs: list[Pair]) -> Tensor:
    """Return minus the estimated inverse Hessian times the gradient: the two loops of L-BFGS, group by group."""
    q = -gradient
    shares: list[Tensor] = []
    for step, change, reciprocal in reversed(pairs):
        shares.append(reciprocal * (step * q).sum((1, 2), keepdim=True))
        q.addcmul_(shares[-1], change, value=-1)
    if pairs:
        _, change, reciprocal = pairs[-1]
        scale = 1 / (reciprocal * change.square().sum((1, 2), keepdim=True))
        q.mul_(torch.where(torch.isfinite(scale), scale, 1.0))
    for step, change, reciprocal in pairs:
        q.addcmul_(shares.pop() - reciprocal * (change * q).sum((1, 2), keepdim=True), step)
    return q


def _pair(step: Tensor, change: Tensor) -> Pair:
    """Return a step, the change of the gradient and the reciprocal of their product; 0 where that is no curvature."""
    product = (step * change).sum((1, 2), keepdim=True)
    return step, change, torch.where(product > 0, 1 / product, 0.0)


def _eps(x: Tensor) -> float:
    return torch.finfo(x.dtype).eps


def _norm(x: Tensor) -> Tensor:
    return torch.linalg.vector_norm(x, dim=(1, 2))
