"""Canonical directions: the equation that they solve, what neighbours weigh, and invariances."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ccassg import as_graph
from ccassg.datasets import stochastic_block_graph
from ccassg.defaults import canonical
from ccassg.graph import sparse
from ccassg.training.embedding import embed

SETS = (10, 10, 10)


@pytest.fixture(scope="module", params=[False, True], ids=["dense", "sparse"])
def data(request):
    return stochastic_block_graph(300, 3, 8, 0.9, 20, feature_noise=0.6, seed=0, sparse_features=request.param)


def test_principal_directions_are_those_of_a_full_decomposition():
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(400, 60)) * 0.9 ** np.arange(60) + 3).astype(np.float32)
    values = np.linalg.svd(x - x.mean(0), compute_uv=False)
    for given in (torch.from_numpy(x), sparse.from_scipy(sp.csr_array(x))):
        found = canonical.principal_directions(given, 10, rng).double().numpy()
        np.testing.assert_allclose(found.T @ found, np.eye(10), atol=1e-5)
        np.testing.assert_allclose(np.linalg.norm((x - x.mean(0)) @ found, axis=0), values[:10], rtol=1e-3)


def test_constant_features_have_no_principal_direction():
    assert canonical.principal_directions(torch.ones(8, 3), 3, np.random.default_rng(0)).shape == (3, 0)
    encoder, correlation = canonical.fit(as_graph(sp.eye_array(8, k=1), np.ones((8, 3))), (3, 3, 3))
    assert not encoder.directions.any()
    assert correlation == 0


def test_directions_solve_the_equation_of_the_neighbour_view(data):
    """X'PX w = lambda (X'X + rho diag(X'X)) w, from dense matrices."""
    graph = data.graph
    pairs = canonical._pairs(graph, np.random.default_rng(0))
    features = graph.features.toarray() if sp.issparse(graph.features) else graph.features
    x = torch.from_numpy(features - (0 if sp.issparse(graph.features) else features.mean(0)))
    space = canonical.principal_directions(x, 512, np.random.default_rng(0))
    a, b = canonical._moments(pairs.distribution(), x @ space, x, space)
    correlations, inner = canonical._solve(a, b)

    p = graph.adjacency().toarray()
    p /= np.maximum(p.sum(1, keepdims=True), 1)
    weights = (p.sum(1) + p.sum(0)) / 2
    full, v = x.double().numpy(), space.double().numpy()
    centred = full - weights @ full / weights.sum()
    left = centred.T @ ((p + p.T) / 2) @ centred
    dropped = np.diag(weights @ centred**2)  # at a rate of one half, rho is 1
    right = centred.T @ (weights[:, None] * centred) + dropped
    w = v @ inner.numpy()
    np.testing.assert_allclose(v.T @ left @ w, v.T @ right @ w * correlations.numpy(), atol=1e-2)
    assert (correlations.diff() <= 1e-9).all()
    assert correlations.abs().max() < 1


@pytest.mark.parametrize(("homophily", "least", "most"), [(1 / 3, 0, 0.03), (0.9, 0.2, 1)])
def test_held_out_correlations_tell_noise_from_neighbours(homophily, least, most):
    graph = stochastic_block_graph(1200, 3, 8, homophily, 40, feature_noise=0.7, seed=1).graph
    encoder, correlation = canonical.fit(graph, (40, 40, 40))
    assert least <= correlation <= most
    assert (float(encoder.weight) == 1) == (homophily == 0.9)
    assert float(encoder.weight) >= canonical.LEAST_WEIGHT


@pytest.mark.parametrize(("correlation", "weight"), [(0.5, 1), (0.1, 1), (0.0125, 0.5), (1e-6, 0.2), (0.0, 0.2)])
def test_weights_by_hand(correlation, weight):
    assert canonical.neighbour_weight(correlation) == pytest.approx(weight)


def test_own_directions_weigh_by_what_two_copies_share():
    """A column that two others repeat survives the dropping of columns; one of noise does not."""
    rng = np.random.default_rng(0)
    told = rng.normal(size=(2000, 1))
    x = torch.from_numpy(np.hstack([told, told, told, rng.normal(size=(2000, 3))]).astype(np.float32))
    found = canonical._own(x, x, torch.eye(6))
    rate = canonical.OWN_RATE
    rho = rate / (1 - rate)
    lengths = (
        (x @ found).square().mean(0).sqrt()
    )  # unit variance with dropped columns, times the square of the correlation
    best = 9 / (9 + 3 * rho)
    assert float(lengths[0]) == pytest.approx(best**2 * best**0.5, rel=0.05)
    assert lengths[1:4].tolist() == pytest.approx([(1 / (1 + rho)) ** 2.5] * 3, rel=0.1)


def test_parts_of_neighbours_carry_the_weight():
    graph = stochastic_block_graph(600, 3, 8, 1 / 3, 30, feature_noise=0.5, seed=2).graph
    encoder, _ = canonical.fit(graph, (30, 30, 30))
    z = embed(encoder, graph).reshape(600, 9, 30)
    lengths = z.norm(dim=2).mean(0)
    weight = float(encoder.weight)
    assert weight < 0.7
    assert lengths[:2].min() > 0.9  # own, and principal directions of no hop
    assert lengths[2:].max() <= weight


def test_widths():
    def graph(n, f, edges=((0,), (1,))):
        return as_graph(np.array(edges, dtype=int), np.ones((n, f)))

    assert canonical.widths_of(graph(3000, 700)) == (128, 256, 128)
    assert canonical.widths_of(graph(3000, 200)) == (128, 200, 128)
    assert canonical.widths_of(graph(10, 700)) == (5, 5, 5)
    assert canonical.widths_of(graph(3000, 700), 1664) == (128, 256, 128)
    assert canonical.widths_of(graph(3000, 700), 110) == (14, 16, 8)
    assert canonical.widths_of(graph(3000, 700, ((), ()))) == (128, 256, 0)
    assert canonical.widths_of(graph(3000, 700, ((), ())), 100) == (34, 66, 0)


def test_sets_wider_than_the_features_are_filled_with_zeros():
    graph = stochastic_block_graph(60, n_features=5, seed=0).graph
    assert canonical.fit(graph, (14, 16, 8))[0].dims == (5, 110)


def test_the_order_of_nodes_does_not_matter(data):
    graph = data.graph
    order = np.random.default_rng(1).permutation(300)
    moved = graph.subgraph(order)
    encoder, correlation = canonical.fit(graph, SETS)
    other, again = canonical.fit(moved, SETS)
    assert correlation == pytest.approx(again, abs=0.1)  # nodes and edges fall into other halves
    z, shuffled = embed(encoder, graph).numpy()[order], embed(other, moved).numpy()
    assert np.corrcoef((z @ z.T).ravel(), (shuffled @ shuffled.T).ravel())[0, 1] > 0.98


def test_same_seed_same_bits_and_another_seed_the_same_distances(data):
    first, second, other = (
        embed(canonical.fit(data.graph, (20, 20, 20), seed=s)[0], data.graph).numpy() for s in (0, 0, 1)
    )
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)
    assert np.corrcoef((first @ first.T).ravel(), (other @ other.T).ravel())[0, 1] > 0.98


def test_scale_of_all_features_does_not_matter(data):
    z, scaled = (
        embed(canonical.fit(g, SETS)[0], g).numpy()
        for g in (data.graph, data.graph.with_features(data.graph.features * np.float32(1e3)))
    )
    np.testing.assert_allclose(z @ z.T, scaled @ scaled.T, atol=1e-2)


def test_a_large_graph_is_solved_on_a_sample(monkeypatch):
    data = stochastic_block_graph(3000, 3, 10, 0.9, 20, feature_noise=0.6, seed=0)
    whole, correlation = canonical.fit(data.graph, (20, 20, 20))
    monkeypatch.setattr(canonical, "MAX_NODES", 1000)
    pairs = canonical._pairs(data.graph, np.random.default_rng(0))
    counts = np.bincount(pairs.first.numpy())
    assert counts.max() == canonical.MAX_NEIGHBOURS
    assert (counts > 0).sum() <= 1000
    edges = set(zip(*data.graph.adjacency().nonzero(), strict=True))
    drawn = zip(pairs.nodes[pairs.first].tolist(), pairs.nodes[pairs.second].tolist(), strict=True)
    assert edges.issuperset(drawn)
    sampled, found = canonical.fit(data.graph, (20, 20, 20))
    assert found == pytest.approx(correlation, abs=0.1)
    z, approximate = embed(whole, data.graph).numpy(), embed(sampled, data.graph).numpy()
    assert np.corrcoef((z @ z.T).ravel(), (approximate @ approximate.T).ravel())[0, 1] > 0.95


def test_both_directions_of_an_edge_fall_into_one_half(data):
    pairs = canonical._pairs(data.graph, np.random.default_rng(0))
    halves = {(int(i), int(j)): bool(h) for i, j, h in zip(pairs.first, pairs.second, pairs.halves, strict=True)}
    assert all(halves[j, i] == half for (i, j), half in halves.items())
    assert 0.3 < np.mean(list(halves.values())) < 0.7


def test_heavier_neighbours_are_drawn_more_often_and_only_senders_count():
    adjacency = sp.csr_array(np.array([[0, 3.0, 0], [0, 0, 0], [1.0, 0, 0]]))
    graph = as_graph(adjacency, np.eye(3), directed=True)  # 0 -> 1 and 2 -> 0
    p = canonical._pairs(graph, np.random.default_rng(0)).distribution().to_dense()
    assert p.tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 0]]
    weighted = as_graph(sp.csr_array(np.array([[0, 3.0, 1.0], [3.0, 0, 0], [1.0, 0, 0]])), np.eye(3))
    p = canonical._pairs(weighted, np.random.default_rng(0)).distribution().to_dense()
    assert p.tolist() == [[0, 0.75, 0.25], [1, 0, 0], [1, 0, 0]]
