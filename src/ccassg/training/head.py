"""Loss and gradients of the objective through the last, linear layer: the same numbers as `loss.py`, cheaper.

Two formulations, both exact:

*Grams.* With Z = M W, the loss depends on M only through M1'M1, M2'M2, M1'M2 and W, so Z itself is never formed. The
cross term needs only the symmetric part of M1'M2, which follows from the Gram of M1 + M2; a symmetric product costs 5/8 of
a full one. Backward, dM1 = M1 U1 + (M1 + M2) T and dM2 = M2 U2 + (M1 + M2) T share one product. Together the work of about
five n x d x d products where autograd needs fifteen; worth it when n is well above d.

*Direct.* Z is formed, only the diagonal of Z1'Z2 is, and the symmetric Gram gives the decorrelation gradient in one product.

Inputs are centred, so that sums over shards of a partitioned graph are plain sums.
"""

import torch
from torch import Tensor

from ccassg.model.loss import Objective, Terms, inverse_std
from ccassg.training.buffers import StepBuffers
from ccassg.training.distributed import Total

# The Gram formulation has about 10 products of d^3 on top and saves more than 4 of n d^2.
GRAM_FROM = 3.0
SYMMETRIC_PANELS = 4

Pair = tuple[Tensor, Tensor]


class Head:
    """Loss and gradients from the centred inputs of both views and the means that were taken off them.

    Whatever ``n`` is, it counts the nodes in the loss, over all shards. ``total`` adds a tensor up over these, in place.
    ``smooth``, if given, replaces the second moments of a batch by better estimates of the whole graph's, in place; gradients go
    through the batch all the same.
    """

    def __init__(self, objective: Objective, buffers: StepBuffers, total: Total, smooth: Total | None) -> None:
        self.objective, self.buffers = objective, buffers
        self.total, self.smooth = total, smooth

    def linear(self, m: Pair, means: Pair, weight: Tensor, n: int) -> tuple[Terms, Pair, Tensor]:
        """Compute the objective on Z = M W, of inputs M (n, h), by whichever formulation is cheaper.

        Returns its terms and the gradients of both M and of W, the latter a sum over all shards.
        """
        if self.smooth is not None or n >= GRAM_FROM * weight.shape[1]:
            return self._by_grams(m, means, weight, n)
        m1, m2 = m
        d = weight.shape[1]
        first, second = self.buffers.views
        z1 = torch.mm(m1, weight, out=first.embedding(len(m1), d))
        z2 = torch.mm(m2, weight, out=second.embedding(len(m2), d))
        terms, (g1, g2) = self.direct((z1, z2), (means[0] @ weight, means[1] @ weight), n)
        grad_weight = torch.mm(m1.T, g1).addmm_(m2.T, g2)
        grad1 = torch.mm(g1, weight.T, out=first.gradient(*m1.shape))
        grad2 = torch.mm(g2, weight.T, out=second.gradient(*m2.shape))
        return terms, (grad1, grad2), self.total(grad_weight)

    def direct(self, z: Pair, means: Pair, n: int) -> tuple[Terms, Pair]:
        """Compute the objective on the embeddings (n, d) themselves, and their gradients."""
        z1, z2 = z
        d = z1.shape[1]
        sums = z1.new_empty(2 * d + 1, d)
        gram(z1, sums[:d])
        gram(z2, sums[d : 2 * d])
        products = torch.mul(z1, z2, out=self.buffers.views[0].embedding_gradient(len(z1), d))
        torch.sum(products, 0, out=sums[2 * d])
        self._moments(sums, n)
        scale1, error1 = _correlation_error(sums[:d], means[0])
        scale2, error2 = _correlation_error(sums[d : 2 * d], means[1])
        cross = sums[2 * d] * scale1 * scale2
        # dL/dZ1 = Z1 P1 - Z2 q, all columns scaled; P1 and q are d x d and d.
        q = (self.objective.invariance / n) * scale1 * scale2
        grads = []
        sides = ((z1, z2, scale1, error1), (z2, z1, scale2, error2))
        for view, (own, other, scale, error) in zip(self.buffers.views, sides, strict=True):
            p = _sensitivity(scale, error, cross, self.objective).mul_(2 / n)
            grad = torch.mm(own, p, out=view.embedding_gradient(len(own), d))
            grads.append(grad.addcmul_(other, q.expand_as(other), value=-1))
        return _terms(cross, error1, error2, self.objective), (grads[0], grads[1])

    def _by_grams(self, m: Pair, means: Pair, weight: Tensor, n: int) -> tuple[Terms, Pair, Tensor]:
        m1, m2 = m
        h, d = weight.shape
        first, second = self.buffers.views
        both = torch.add(m1, m2, out=second.gradient(len(m1), h))
        sums = m1.new_empty(3 * h, h)
        c1, c2, cross_c = gram(m1, sums[:h]), gram(m2, sums[h : 2 * h]), gram(both, sums[2 * h :])
        self._moments(sums, n)
        cross_c.sub_(c1).sub_(c2)  # M1'M2 + M2'M1
        b1, b2, b_cross = c1 @ weight, c2 @ weight, cross_c @ weight
        scale1, error1 = _correlation_error(symmetric_mm(weight.T, b1, weight.new_empty(d, d)), means[0] @ weight)
        scale2, error2 = _correlation_error(symmetric_mm(weight.T, b2, weight.new_empty(d, d)), means[1] @ weight)
        cross = 0.5 * (weight * b_cross).sum(0) * scale1 * scale2

        p1 = _sensitivity(scale1, error1, cross, self.objective)
        p2 = _sensitivity(scale2, error2, cross, self.objective)
        q = self.objective.invariance * scale1 * scale2
        grad_weight = (b1 @ p1).addmm_(b2, p2).mul_(2).sub_(b_cross * q)
        # The moments are not needed any more: their memory takes the three symmetric matrices of the backward pass.
        t = symmetric_mm(weight * (q / -n), weight.T, cross_c)
        u1 = symmetric_mm(weight @ p1, weight.T, c1).mul_(2 / n).sub_(t)
        u2 = symmetric_mm(weight @ p2, weight.T, c2).mul_(2 / n).sub_(t)
        grad1 = torch.mm(both, t, out=first.gradient(len(m1), h))
        grad2 = both.copy_(grad1)
        grads = (grad1.addmm_(m1, u1), grad2.addmm_(m2, u2))
        return _terms(cross, error1, error2, self.objective), grads, grad_weight

    def _moments(self, sums: Tensor, n: int) -> None:
        """Turn sums of products over the nodes at hand into second moments of all that the loss is about, in place."""
        self.total(sums).div_(n)
        if self.smooth is not None:
            self.smooth(sums)


def symmetric_mm(a: Tensor, b: Tensor, out: Tensor) -> Tensor:
    """Multiply ``a b``, known to be a symmetric (d, d) matrix: one triangle of blocks is computed, the other mirrored."""
    d = len(out)
    width = -(-d // SYMMETRIC_PANELS)
    for start in range(0, d, width):
        stop = min(start + width, d)
        torch.mm(a[start:stop], b[:, start:], out=out[start:stop, start:])
        out[stop:, start:stop] = out[start:stop, stop:].T
    return out


def gram(x: Tensor, out: Tensor) -> Tensor:
    """Multiply ``x' x`` for x of shape (n, d)."""
    return symmetric_mm(x.T, x, out)


def _correlation_error(covariance: Tensor, mean: Tensor) -> tuple[Tensor, Tensor]:
    """1 / std of each column, and correlation - identity, whose diagonal is 0 (-1 for a constant column)."""
    scale = inverse_std(covariance.diagonal(), mean)
    error = covariance * scale
    error *= scale.unsqueeze(1)
    error.diagonal().copy_(torch.where(scale > 0, 0.0, -1.0))
    return scale, error


def _sensitivity(scale: Tensor, error: Tensor, cross: Tensor, objective: Objective) -> Tensor:
    """dL / d covariance of one view, symmetric (d, d), through correlation and standard deviations."""
    off_diagonal = error.clone()
    off_diagonal.diagonal().zero_()
    strength = off_diagonal.square().sum(0)
    p = off_diagonal * scale
    p *= (2 * objective.decorrelation) * scale.unsqueeze(1)
    own = 0.5 * objective.invariance * cross - 2 * objective.decorrelation * strength
    p.diagonal().copy_(own * scale.square())
    return p


def _terms(cross: Tensor, error1: Tensor, error2: Tensor, objective: Objective) -> Terms:
    invariance = -cross.sum()
    decorrelation = error1.square().sum() + error2.square().sum()
    return Terms(objective.invariance * invariance + objective.decorrelation * decorrelation, invariance, decorrelation)
