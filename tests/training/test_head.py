"""The last layer and the loss as one operation: autograd on the definition, and numbers by hand."""

import pytest
import torch

from ccassg.model.loss import Objective, cca_ssg_loss
from ccassg.training.buffers import step_buffers
from ccassg.training.distributed import no_sharing
from ccassg.training.head import GRAM_FROM, Head, gram, symmetric_mm

OBJECTIVES = [Objective(1e-2), Objective(0.0), Objective(1e-2, invariance=0.0), Objective(0.3, invariance=2.0)]


def unchanged(moments):
    """Smooth moments by nothing: they go through the Grams all the same."""
    return moments


def make_head(objective, total=no_sharing, smooth=None):
    return Head(objective, step_buffers(1, like=torch.empty(0, dtype=torch.float64)), total, smooth)


def two_inputs(n, h, seed=0):
    """Inputs of two related views, not centred."""
    generator = torch.Generator().manual_seed(seed)
    shared, one, other = torch.randn(3, n, h, generator=generator, dtype=torch.float64)
    return shared + 0.5 * one + 2, shared + 0.5 * other - 1


def centred(*inputs):
    means = tuple(x.mean(0) for x in inputs)
    return tuple(x - mean for x, mean in zip(inputs, means, strict=True)), means


def random_weight(h, d):
    return torch.randn(h, d, generator=torch.Generator().manual_seed(9), dtype=torch.float64)


def by_autograd(inputs, weight, objective):
    """Return terms and gradients, of both inputs and of the weight, from the definition."""
    leaves = [x.clone().requires_grad_() for x in (*inputs, weight)]
    # The loss does not see a column's mean, so the gradient at an input and at the centred input are one.
    terms = cca_ssg_loss(leaves[0] @ leaves[2], leaves[1] @ leaves[2], objective)
    return tuple(term.detach() for term in terms), torch.autograd.grad(terms.loss, leaves)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("smooth", [None, unchanged])
@pytest.mark.parametrize(("n", "h", "d"), [(40, 7, 5), (40, 5, 13), (12, 9, 6), (30, 4, 1)])
def test_the_linear_head_equals_autograd(n, h, d, smooth, objective):
    inputs, weight = two_inputs(n, h), random_weight(h, d)
    terms, grads, grad_weight = make_head(objective, smooth=smooth).linear(*centred(*inputs), weight, n)
    expected, (*expected_grads, expected_weight) = by_autograd(inputs, weight, objective)
    torch.testing.assert_close(tuple(terms), expected)
    torch.testing.assert_close(list(grads), expected_grads)
    torch.testing.assert_close(grad_weight, expected_weight)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("d", [1, 6])
def test_the_direct_head_equals_autograd(d, objective):
    inputs = two_inputs(25, d)
    terms, grads = make_head(objective).direct(*centred(*inputs), 25)
    expected, (*expected_grads, _) = by_autograd(inputs, torch.eye(d, dtype=torch.float64), objective)
    torch.testing.assert_close(tuple(terms), expected)
    torch.testing.assert_close(list(grads), expected_grads)


def test_both_formulations_of_the_head_agree():
    n, h, d = 120, 60, 50
    assert GRAM_FROM * d > n  # so that only the smoothed one goes through the Grams
    m, means = centred(*two_inputs(n, h))
    weight = random_weight(h, d)
    one, other = (make_head(Objective(1e-2), smooth=smooth).linear(m, means, weight, n) for smooth in (None, unchanged))
    torch.testing.assert_close(one, other)


def test_numbers_by_hand():
    """Columns of +-1 over four nodes: correlations are counts of agreeing signs, less the others, over four."""
    z1 = torch.tensor([[1, 1], [1, 1], [-1, -1], [-1, -1]], dtype=torch.float64)
    z2 = torch.tensor([[1, 1], [1, -1], [-1, 1], [-1, -1]], dtype=torch.float64)
    zero = torch.zeros(2, dtype=torch.float64)
    terms, _ = make_head(Objective(0.1)).direct((z1, z2), (zero, zero), 4)
    # First columns agree (1), second ones do not correlate (0). View 1 has 1 in both off-diagonal places, view 2 has 0.
    assert float(terms.invariance) == pytest.approx(-1.0)
    assert float(terms.decorrelation) == pytest.approx(2.0)
    assert float(terms.loss) == pytest.approx(-0.8)


@pytest.mark.parametrize("smooth", [None, unchanged])
def test_a_constant_column_misses_its_one_and_has_no_gradient(smooth):
    inputs, weight = two_inputs(12, 4), random_weight(4, 5)
    weight[:, 2] = 0
    terms, grads, grad_weight = make_head(Objective(1.0), smooth=smooth).linear(*centred(*inputs), weight, 12)
    kept = [0, 1, 3, 4]
    without, grads_without, weight_without = make_head(Objective(1.0), smooth=smooth).linear(
        *centred(*inputs), weight[:, kept].contiguous(), 12
    )
    assert float(terms.decorrelation - without.decorrelation) == pytest.approx(2.0)  # once in each view
    torch.testing.assert_close(grads, grads_without)
    torch.testing.assert_close(grad_weight[:, kept], weight_without)
    assert (grad_weight[:, 2] == 0).all()


@pytest.mark.parametrize("smooth", [None, unchanged])
def test_a_shard_adds_its_part(smooth):
    """Each half of the nodes gets its rows of the gradient, when sums are taken over both."""
    n, h, d = 20, 6, 8
    m, means = centred(*two_inputs(n, h))
    weight, objective = random_weight(h, d), Objective(1e-2)
    seen = []
    halves = [tuple(x[rows] for x in m) for rows in (slice(0, 10), slice(10, n))]
    make_head(objective, total=lambda sums: seen.append(sums.clone()) or sums, smooth=smooth).linear(
        m, means, weight, n
    )
    expected, grads, grad_weight = make_head(objective, smooth=smooth).linear(m, means, weight, n)
    for half, rows in zip(halves, (slice(0, 10), slice(10, n)), strict=True):
        sums_of_all = iter(seen)
        head = make_head(objective, total=lambda sums, given=sums_of_all: sums.copy_(next(given)), smooth=smooth)
        terms, mine, weight_of_all = head.linear(half, means, weight, n)
        torch.testing.assert_close(terms, expected)
        torch.testing.assert_close(mine, tuple(g[rows] for g in grads))
        torch.testing.assert_close(weight_of_all, grad_weight)
        assert list(sums_of_all) == []


def test_smoothed_moments_replace_those_of_the_batch():
    """The loss is that of the moments given: with those of other nodes, theirs."""
    n, h, d = 30, 5, 4
    objective, weight = Objective(0.1), random_weight(h, d)
    m, means = centred(*two_inputs(n, h))
    others, other_means = centred(*two_inputs(n, h, seed=5))
    kept = []
    expected, _, _ = make_head(objective, smooth=lambda moments: kept.append(moments.clone()) or moments).linear(
        others, other_means, weight, n
    )
    terms, _, _ = make_head(objective, smooth=lambda moments: moments.copy_(kept[0])).linear(m, means, weight, n)
    torch.testing.assert_close(terms, expected)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8, 9, 10, 31])
def test_a_symmetric_product_is_the_whole_product(d):
    x = torch.randn(17, d, generator=torch.Generator().manual_seed(d), dtype=torch.float64)
    middle = torch.diag(torch.arange(17, dtype=torch.float64))
    torch.testing.assert_close(gram(x, torch.full((d, d), torch.nan, dtype=torch.float64)), x.T @ x)
    out = symmetric_mm(x.T @ middle, x, x.new_full((d, d), torch.nan))
    torch.testing.assert_close(out, x.T @ middle @ x)
