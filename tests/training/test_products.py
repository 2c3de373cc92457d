"""X W of both views' masked features, and the gradient of W: dense arithmetic says the same."""

import pytest
import scipy.sparse as sp
import torch

from ccassg.graph import sparse
from ccassg.graph.sparse import CSR
from ccassg.training.buffers import step_buffers
from ccassg.training.products import DENSE_FROM, FirstProduct, SeparateProducts, first_product, in_faster_form

N, F, D = 23, 11, 4


def random_features(density=0.15, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(N, F, generator=generator, dtype=torch.float64)
    return x * (torch.rand(N, F, generator=generator) < density)


def in_form(x, form):
    """The same matrix as the class is to hold it, whatever its density."""
    if form == "dense":
        return first_product(x)
    rows = sparse_of(x)
    return FirstProduct(rows, sparse.transpose(rows))


def sparse_of(x):
    return sparse.from_scipy(sp.csr_array(x.numpy()), torch.float64)


@pytest.fixture
def buffers():
    return step_buffers(1, like=torch.empty(0, dtype=torch.float64))


@pytest.fixture
def weight():
    return torch.randn(F, D, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


KEEP1 = torch.tensor([1, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1], dtype=torch.bool)
KEEP2 = torch.tensor([1, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1], dtype=torch.bool)
MASKS = {
    "none": (None, None),
    "one view": (KEEP1, None),
    "the other view": (None, KEEP2),
    "both": (KEEP1, KEEP2),
    "the same": (KEEP1, KEEP1),
    "nothing in common": (KEEP1, ~KEEP1),
    "one view keeps nothing": (torch.zeros(F, dtype=torch.bool), KEEP2),
}


def masked(x, keep):
    return x if keep is None else x * keep


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("masks", MASKS)
def test_products_and_gradient_are_those_of_the_masked_features(masks, form, weight, buffers):
    x, keeps = random_features(), MASKS[masks]
    product = in_form(x, form)
    assert isinstance(product.x, CSR) == (form == "sparse")
    y1, y2 = product.forward(weight, keeps, buffers)
    torch.testing.assert_close(y1, masked(x, keeps[0]) @ weight)
    torch.testing.assert_close(y2, masked(x, keeps[1]) @ weight)
    g1, g2 = torch.randn(2, N, D, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    expected = masked(x, keeps[0]).T @ g1 + masked(x, keeps[1]).T @ g2
    torch.testing.assert_close(product.backward(g1.clone(), g2.clone(), buffers), expected)


def test_numbers_by_hand(buffers):
    """Two nodes, three features: the first is kept by both views, the others by one each."""
    x = torch.tensor([[1.0, 2.0, 0.0], [0.0, 3.0, 5.0]], dtype=torch.float64)
    weight = torch.tensor([[1.0], [10.0], [100.0]], dtype=torch.float64)
    keeps = torch.tensor([[1, 1, 0], [1, 0, 1]], dtype=torch.bool)
    for form in ("dense", "sparse"):
        product = in_form(x, form)
        y1, y2 = product.forward(weight, (keeps[0], keeps[1]), buffers)
        assert y1.tolist() == [[21.0], [30.0]]
        assert y2.tolist() == [[1.0], [500.0]]
        g1, g2 = torch.tensor([[[1.0], [1.0]], [[2.0], [1.0]]], dtype=torch.float64)
        assert product.backward(g1, g2, buffers).tolist() == [[3.0], [5.0], [5.0]]


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_without_masks_the_product_is_made_once(form, weight, buffers):
    y1, y2 = in_form(random_features(), form).forward(weight, (None, None), buffers)
    assert y1 is y2


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_a_new_mask_forgets_the_old_one(form, weight, buffers):
    x = random_features()
    product = in_form(x, form)
    for keeps in (MASKS["both"], MASKS["nothing in common"], MASKS["none"], MASKS["both"]):
        product.forward(weight, keeps, buffers)
        ones = torch.ones(N, D, dtype=torch.float64)
        expected = (masked(x, keeps[0]) + masked(x, keeps[1])).T @ ones
        torch.testing.assert_close(product.backward(ones.clone(), ones.clone(), buffers), expected)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_some_rows(form, weight, buffers):
    x, nodes = random_features(), torch.tensor([7, 0, 22])
    some = in_form(x, form).rows(nodes)
    assert some.n_rows == 3
    y1, y2 = some.forward(weight, MASKS["both"], buffers)
    torch.testing.assert_close(y1, masked(x, KEEP1)[nodes] @ weight)
    torch.testing.assert_close(y2, masked(x, KEEP2)[nodes] @ weight)


@pytest.mark.parametrize("forms", [("dense", "dense"), ("sparse", "sparse"), ("sparse", "dense")])
@pytest.mark.parametrize("masks", MASKS)
def test_views_with_features_of_their_own(masks, forms, weight, buffers):
    keeps, nodes = MASKS[masks], torch.tensor([3, 20, 5, 11])
    x1, x2 = random_features(seed=1), random_features(seed=2)
    both = SeparateProducts([in_form(x, form) for x, form in zip((x1, x2), forms, strict=True)])
    for product, rows in ((both, slice(None)), (both.rows(nodes), nodes)):
        one, other = masked(x1, keeps[0])[rows], masked(x2, keeps[1])[rows]
        y1, y2 = product.forward(weight, keeps, buffers)
        torch.testing.assert_close(y1, one @ weight)
        torch.testing.assert_close(y2, other @ weight)
        g1, g2 = torch.randn(2, len(one), D, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
        torch.testing.assert_close(product.backward(g1, g2, buffers), one.T @ g1 + other.T @ g2)


def test_the_form_goes_by_density():
    dense = torch.zeros(10, 10, dtype=torch.float64)
    dense.view(-1)[: round(100 * DENSE_FROM)] = 1
    fuller = sparse_of(dense)
    assert torch.equal(in_faster_form(fuller), dense)
    assert isinstance(first_product(fuller).x, torch.Tensor)
    dense.view(-1)[0] = 0
    emptier = sparse_of(dense)
    assert in_faster_form(emptier) is emptier
    assert isinstance(first_product(emptier).x, CSR)
    assert in_faster_form(dense) is dense  # what is dense stays so, however empty
