"""Parts side by side: rows at length 1, hops, weights."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ccassg import as_graph
from ccassg.graph import sparse
from ccassg.model import augment
from ccassg.model.canonical import Canonical, roots, row_lengths, unit_rows

N, F, WIDTHS = 30, 6, (4, 3, 2)


@pytest.fixture
def encoder():
    generator = torch.Generator().manual_seed(0)
    made = Canonical(F, WIDTHS, (0, 1, 3))
    made.directions = torch.randn(F, sum(WIDTHS), generator=generator)
    made.shift = torch.randn(sum(WIDTHS), generator=generator)
    made.softening = torch.tensor([0.3, 0.2, 0.1, 0.4])
    made.weight = torch.tensor(0.5)
    return made


@pytest.fixture
def graph():
    pattern = sp.random(N, N, density=0.1, random_state=0).astype(bool)
    return as_graph(pattern, sp.random(N, F, density=0.5, random_state=1, format="csr"))


def test_soft_lengths_by_hand():
    rows = torch.tensor([[3.0, 4.0], [0.0, 0.0]])
    assert row_lengths(rows, 11.0).tolist() == [6.0, pytest.approx(11**0.5)]
    assert unit_rows(rows, 11.0).tolist() == [[0.5, pytest.approx(4 / 6)], [0.0, 0.0]]
    single = unit_rows(torch.tensor([[-9.0], [1.0], [2.0]]), 1.0).squeeze(1)
    assert single.tolist() == sorted(single.tolist())  # a single column keeps its order


def test_lengths_of_sparse_rows_and_of_the_largest_numbers():
    dense = torch.tensor([[0.0, 2.0], [3e38, 3e38]])
    for rows in (dense, sparse.from_scipy(sp.csr_array(dense.numpy()))):
        assert torch.isfinite(row_lengths(rows, 0.0)).all()
        assert row_lengths(rows, 5.0)[0] == 3


def test_embedding_is_that_of_the_formula(encoder, graph):
    x, a = graph.features.toarray(), augment.normalized(graph).to_dense().numpy()
    x = x / np.sqrt((x**2).sum(1) + 0.3)[:, None]
    y = x @ encoder.directions.numpy() - encoder.shift.numpy()

    def part(z, softening):
        return z / np.sqrt((z**2).sum(1) + softening)[:, None]

    own, principal, neighbours = y[:, :4], y[:, 4:7], y[:, 7:]
    expected = [part(own, 0.2), part(principal, 0.1), part(neighbours, 0.4) / 2]
    for power, fading in ((a, 1 / 2), (a @ a @ a, 1 / 8)):
        expected += [part(power @ principal, 0.1 * fading) / 2, part(power @ neighbours, 0.4 * fading) / 2]
    z = encoder(sparse.from_scipy(graph.features), augment.normalized(graph))
    assert encoder.dims == (F, z.shape[1]) == (F, 4 + 3 * 5)
    np.testing.assert_allclose(z.numpy(), np.hstack(expected), atol=1e-5)


def test_dense_features_are_centred_and_their_sparse_form_is_the_same(encoder, graph):
    a = augment.normalized(graph)
    dense = torch.from_numpy(graph.features.toarray())
    assert torch.allclose(encoder(dense, a), encoder(sparse.from_scipy(graph.features), a), atol=1e-6)
    before = encoder(dense, a)
    encoder.centre = torch.full((F,), 7.0)
    assert torch.allclose(encoder(dense + 7, a), before, atol=1e-5)
    assert torch.allclose(encoder(sparse.from_scipy(graph.features), a), encoder(dense, a), atol=1e-6)


def test_square_roots_of_features_enter_with_their_sign(encoder, graph):
    a, x = augment.normalized(graph), graph.features.toarray()
    rooted = Canonical(F, WIDTHS, (0, 1, 3), rooted=True)
    rooted.load_state_dict(encoder.state_dict())
    x[0] = [-4, 0, 9, -1, 0.25, 0]
    expected = encoder(torch.from_numpy(np.sign(x) * np.sqrt(np.abs(x))).float(), a)
    for given in (torch.from_numpy(x).float(), sparse.from_scipy(sp.csr_array(x.astype(np.float32)))):
        before = given.clone() if isinstance(given, torch.Tensor) else given.values.clone()
        assert torch.allclose(rooted(given, a), expected, atol=1e-6)
        assert torch.equal(given if isinstance(given, torch.Tensor) else given.values, before)
    assert roots(torch.tensor([-4.0, 0.0, 9.0])).tolist() == [-2.0, 0.0, 3.0]


def test_without_hops_no_adjacency_is_needed(graph):
    encoder = Canonical(F, (4, 3, 0), (0,))
    assert encoder.n_hops == 0
    assert encoder(sparse.from_scipy(graph.features)).shape == (N, 7)
