"""The objective against the equations, its two published forms, and its invariances."""

import pytest
import torch

from ccassg.model.loss import Objective, cca_ssg_loss, inverse_std, standardize


def views(n=12, d=4, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    h1 = torch.randn(n, d, generator=generator, dtype=dtype)
    return h1, h1 + 0.3 * torch.randn(n, d, generator=generator, dtype=dtype)


def equations(h1, h2, lam):
    """-sum_k corr_k + lambda sum over views of squared correlations off the diagonal, entry by entry."""
    n, d = h1.shape

    def column(h, k):
        mean = sum(h[i, k] for i in range(n)) / n
        std = (sum((h[i, k] - mean) ** 2 for i in range(n)) / n) ** 0.5
        return [(h[i, k] - mean) / (std * n**0.5) for i in range(n)]

    z = [[column(h, k) for k in range(d)] for h in (h1, h2)]
    dot = lambda a, b: sum(x * y for x, y in zip(a, b, strict=True))  # noqa: E731
    invariance = -sum(dot(z[0][k], z[1][k]) for k in range(d))
    decorrelation = sum(
        (dot(zv[j], zv[k]) - (1.0 if j == k else 0.0)) ** 2 for zv in z for j in range(d) for k in range(d)
    )
    return invariance + lam * decorrelation, invariance, decorrelation


def test_equals_the_equations():
    h1, h2 = views()
    terms = cca_ssg_loss(h1, h2, Objective(0.01))
    for got, expected in zip(terms, equations(h1, h2, 0.01), strict=True):
        torch.testing.assert_close(got, expected)


def test_hand_computed_case():
    # Two nodes: every standardised column is +-1/sqrt(2); column 2 is minus column 1 in view 2.
    h1 = torch.tensor([[1.0, 3.0], [2.0, 5.0]])
    h2 = torch.tensor([[0.0, 1.0], [4.0, 0.0]])
    terms = cca_ssg_loss(h1, h2, Objective(0.5))
    assert float(terms.invariance) == pytest.approx(0.0, abs=1e-6)  # +1 and -1
    assert float(terms.decorrelation) == pytest.approx(4.0, rel=1e-6)  # all four off-diagonal entries are +-1
    assert float(terms.loss) == pytest.approx(2.0, rel=1e-6)


def test_main_text_and_appendix_forms_agree_up_to_the_constant():
    h1, h2 = views()
    lam = 0.01
    z1, z2 = standardize(h1), standardize(h2)
    identity = torch.eye(4, dtype=torch.float64)
    decorrelation = (z1.T @ z1 - identity).square().sum() + (z2.T @ z2 - identity).square().sum()
    main_text = (z1 - z2).square().sum() + 2 * lam * decorrelation
    torch.testing.assert_close(main_text, 2 * cca_ssg_loss(h1, h2, Objective(lam)).loss + 2 * 4)


def test_gradient_check():
    h1, h2 = (h.requires_grad_() for h in views(n=7, d=3))
    assert torch.autograd.gradcheck(lambda a, b: cca_ssg_loss(a, b, Objective(0.1)).loss, (h1, h2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_keeps_the_precision(dtype):
    assert cca_ssg_loss(*views(dtype=dtype), Objective(0.1)).loss.dtype == dtype


def test_invariances():
    h1, h2 = views()
    base = cca_ssg_loss(h1, h2, Objective(0.05)).loss
    order = torch.randperm(12, generator=torch.Generator().manual_seed(1))
    scale = torch.tensor([0.1, 5.0, 1e3, 2.0], dtype=torch.float64)
    shift = torch.tensor([4.0, -3.0, 0.0, 100.0], dtype=torch.float64)
    for other in (
        cca_ssg_loss(h2, h1, Objective(0.05)),
        cca_ssg_loss(h1[order], h2[order], Objective(0.05)),
        cca_ssg_loss(h1 * scale + shift, h2 * scale + shift, Objective(0.05)),
    ):
        torch.testing.assert_close(other.loss, base)


def test_constant_columns_are_finite_and_counted():
    h1, h2 = views()
    h1 = h1.clone()
    h1[:, 0] = 7.0
    h1.requires_grad_()
    terms = cca_ssg_loss(h1, h2, Objective(0.1))
    terms.loss.backward()
    assert torch.isfinite(terms.loss)
    assert torch.isfinite(h1.grad).all()
    assert standardize(h1)[:, 0].eq(0).all()


def test_diagonal_is_one_for_any_n():
    for n in (2, 3, 50):
        z = standardize(views(n=n)[0])
        torch.testing.assert_close((z.T @ z).diagonal(), torch.ones(4, dtype=torch.float64))


def test_what_counts_as_constant():
    """A variance up to 1e-10 of the squared mean, or up to 1e-30."""
    mean = torch.tensor([1e3, 1e3, 1e-4, 0, 0], dtype=torch.float64)
    variance = torch.tensor([0.9e-4, 1.1e-4, 1e-4, 0.9e-30, 1.1e-30], dtype=torch.float64)
    expected = [0, 1.1e-4**-0.5, 100, 0, 1.1e-30**-0.5]
    assert inverse_std(variance, mean).tolist() == pytest.approx(expected)
    assert inverse_std(torch.zeros(1), torch.zeros(1)).tolist() == [0]
    assert inverse_std(torch.tensor([1e-30]), torch.zeros(1)).tolist() == [0]  # the limit itself
    assert Objective(0.1) == Objective(0.1, 1.0)
