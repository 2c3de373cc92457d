"""Canonical directions: the equation that they solve, what neighbours weigh, and invariances."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
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
    with pytest.raises(ValueError, match="all nodes have the same features"):
        canonical.fit(as_graph(sp.eye_array(8, k=1), np.ones((8, 3))), (3, 3, 3))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_features_enter_by_their_roots_unless_one_is_negative(data, form):
    counts = np.random.default_rng(0).poisson(1.0, (300, 20)).astype(np.float32)
    plain, squared = (canonical.fit(replace(data.graph, features=form(x)), SETS)[0] for x in (counts, counts**2))
    assert plain.rooted
    below = counts.copy()
    below[7, 3] = -1
    assert not canonical.fit(replace(data.graph, features=form(below)), SETS)[0].rooted
    # The roots of squares are the counts themselves: the same directions as of counts that are taken as they are.
    taken = canonical.Canonical(20, SETS, plain.hops)
    taken.load_state_dict(squared.state_dict())
    z = embed(squared, replace(data.graph, features=form(counts**2)))
    assert torch.allclose(z, embed(taken, replace(data.graph, features=form(counts))), atol=1e-5)


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
    rho = 4  # four in five columns are dropped
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
    z, larger, huge = (
        embed(canonical.fit(g, SETS)[0], g).numpy()
        for g in (data.graph.with_features(data.graph.features * np.float32(scale)) for scale in (1, 1e3, 1e30))
    )
    np.testing.assert_allclose(z @ z.T, larger @ larger.T, atol=1e-2)
    np.testing.assert_allclose(z @ z.T, huge @ huge.T, atol=1e-2)  # whose squares are infinite in 32 bits


def test_a_large_graph_is_solved_on_a_sample(monkeypatch):
    data = stochastic_block_graph(3000, 3, 10, 0.9, 20, feature_noise=0.6, seed=0)
    whole, correlation = canonical.fit(data.graph, (20, 20, 20))
    monkeypatch.setattr(canonical, "MAX_NODES", 1000)
    pairs = canonical._pairs(data.graph, np.random.default_rng(0))
    counts = np.bincount(pairs.first.numpy())
    assert counts.max() == 4
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


def random_problem(seed=0, n=40, f=7, r=5):
    """Rows (n, f), orthonormal directions (f, r), and distributions over neighbours (n, n), all in float64."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, f)) + rng.normal(size=f)
    space = np.linalg.qr(rng.normal(size=(f, r)))[0]
    p = rng.random((n, n)) * (rng.random((n, n)) < 0.1)
    p[:3] = 0  # nodes without neighbours
    sums = p.sum(1, keepdims=True)
    return x, space, np.divide(p, sums, out=np.zeros_like(p), where=sums > 0)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_both_sides_of_the_eigenproblem_are_covariances_over_pairs(form):
    x, space, p = random_problem()
    given = torch.from_numpy(x) if form == "dense" else sparse.from_scipy(sp.csr_array(x), torch.float64)
    y = torch.from_numpy(x @ space)
    a, b = canonical._moments(sparse.from_scipy(sp.csr_array(p), torch.float64), y, given, torch.from_numpy(space))
    weights = (p.sum(0) + p.sum(1)) / 2
    total = weights.sum()
    centred = x - weights @ x / total
    covariance = centred.T @ (weights[:, None] * centred) / total
    np.testing.assert_allclose(a, space.T @ centred.T @ (p + p.T) @ centred @ space / (2 * total), atol=1e-12)
    np.testing.assert_allclose(b, space.T @ (covariance + np.diag(np.diag(covariance))) @ space, atol=1e-12)
    np.testing.assert_allclose(
        canonical._column_variances(given, torch.from_numpy(weights)), np.diag(covariance), atol=1e-12
    )


def test_moments_without_pairs_are_zero():
    x, space, p = (torch.from_numpy(part) for part in random_problem())
    nothing = sparse.from_scipy(sp.csr_array(p.shape), torch.float64)
    a, b = canonical._moments(nothing, x @ space, x, space)
    assert not a.any()
    assert not b.any()


@pytest.mark.parametrize("rate", [0.5, 0.8])
def test_dropped_columns_add_their_variance(rate):
    x, space, _ = random_problem()
    variances = x.var(0)
    found = canonical._noise(torch.from_numpy(space), torch.from_numpy(variances), rate)
    np.testing.assert_allclose(found, rate / (1 - rate) * space.T @ np.diag(variances) @ space, rtol=1e-12)


def test_solutions_are_those_of_a_general_eigensolver():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(6, 6)), rng.normal(size=(6, 9))
    a, b = a + a.T, b @ b.T
    values, vectors = canonical._solve(torch.from_numpy(a), torch.from_numpy(b))
    raised = b + 1e-7 * np.trace(b) / 6 * np.eye(6)
    expected, reference = scipy.linalg.eigh(a, raised)
    np.testing.assert_allclose(values, expected[::-1], rtol=1e-9)
    np.testing.assert_allclose(abs(np.diag(reference[:, ::-1].T @ raised @ vectors.numpy())), 1, rtol=1e-9)
    np.testing.assert_allclose(vectors.T.numpy() @ raised @ vectors.numpy(), np.eye(6), atol=1e-9)
    nothing = torch.zeros(3, 3, dtype=torch.float64)
    assert not canonical._solve(nothing, nothing)[0].any()
    little = 1e-38 * torch.eye(3, dtype=torch.float64)  # beside the 1e-37 that are always added
    np.testing.assert_allclose(canonical._solve(little, nothing)[0], 0.1)


def test_own_directions_are_scaled_by_their_correlation_squared():
    x, space, _ = random_problem()
    covariance = np.cov(x.T, bias=True)
    within = space.T @ covariance @ space
    noise = 4 * space.T @ np.diag(np.diag(covariance)) @ space
    values, vectors = scipy.linalg.eigh(within, within + noise)
    expected = space @ (vectors * values**2)[:, ::-1]
    given = torch.from_numpy(x).float(), torch.from_numpy(space).float()
    found = canonical._own(given[0] @ given[1], *given).numpy()
    np.testing.assert_allclose(abs(found), abs(expected), atol=1e-4)


def test_correlations_are_held_out_both_ways():
    x, space, _ = random_problem()
    halves = []
    for seed in (1, 2):
        half = sparse.from_scipy(sp.csr_array(random_problem(seed)[2]), torch.float64)
        halves.append(canonical._moments(half, *map(torch.from_numpy, (x @ space, x, space))))
    ways = []
    for (a, b), (other_a, other_b) in (halves, halves[::-1]):
        w = canonical._solve(a, b)[1]
        ways.append([float(v @ other_a @ v / (v @ other_b @ v)) for v in w.T])
    np.testing.assert_allclose(canonical._held_out(halves), np.mean(ways, axis=0), rtol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 9, 30])
def test_smoothed_correlations_are_window_means_that_never_rise(n):
    for given in (np.random.default_rng(n).normal(size=n), -(np.arange(n) ** 1.5)):
        half, expected = 4, []  # a window of nine
        for i in range(n):
            window = [given[min(max(j, 0), n - 1)] for j in range(i - half, i + half + 1)]
            mean = given[i] if i < 4 else np.mean(window)
            expected.append(min([mean, *expected[-1:]]))
        np.testing.assert_allclose(canonical._smoothed(torch.from_numpy(given)), expected)


def test_neighbouring_directions_carry_their_held_out_correlation(data):
    pairs = canonical._pairs(data.graph, np.random.default_rng(0))
    x = data.graph.features.toarray() if sp.issparse(data.graph.features) else data.graph.features
    x = torch.from_numpy(x)
    space = canonical.principal_directions(x, 512, np.random.default_rng(0))
    y = x @ space
    moments = [
        canonical._moments(pairs.distribution(which), y, x, space) for which in (None, pairs.halves, ~pairs.halves)
    ]
    inner = canonical._solve(*moments[0])[1]
    expected = canonical._smoothed(canonical._held_out(moments[1:]))
    found, strongest = canonical._neighbour(pairs, y, x, space)
    assert strongest == max([0.0, *expected[:4].tolist()])
    torch.testing.assert_close(found, space @ (inner * expected.clamp(min=1e-3)).float())
    # One edge is in one half: then what finds a direction also measures it.
    one = canonical.Pairs(
        pairs.nodes, *(part[:1] for part in (pairs.first, pairs.second, pairs.strengths, pairs.halves))
    )
    values, _ = canonical._solve(*canonical._moments(one.distribution(), y, x, space))
    assert canonical._neighbour(one, y, x, space)[1] == max(0.0, float(values[0]))


@pytest.mark.parametrize("width", [2, 5, 8])
def test_turned_directions_keep_lengths_and_cosines(width):
    directions = torch.from_numpy(random_problem()[1]).float()
    found = canonical._turned(directions, width, np.random.default_rng(3))
    assert found.shape == (7, width)
    torch.testing.assert_close(found @ found.T, directions[:, :width] @ directions[:, :width].T)
    filled = np.zeros((7, width))
    filled[:, : min(width, 5)] = directions[:, :width]
    turn = np.linalg.qr(np.random.default_rng(3).standard_normal((width, width)))[0]
    np.testing.assert_allclose(found, filled @ turn, atol=1e-6)


def test_a_basis_spans_the_columns_the_longest_first():
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(9, 4)))[0]
    columns = torch.from_numpy(turn * [1.0, 5.0, 3.0, 0.0] @ np.linalg.qr(rng.normal(size=(4, 4)))[0])
    found = canonical._orthonormal(columns).numpy()
    np.testing.assert_allclose(abs(turn[:, [1, 2, 0]].T @ found), np.eye(3), atol=1e-9)
    for square, n_kept in ((1.5e-12, 2), (0.7e-12, 1)):
        assert canonical._orthonormal(torch.diag(torch.tensor([1.0, square**0.5]).double())).shape == (2, n_kept)
    for square, n_kept in ((1.5e-30, 1), (0.7e-30, 0)):
        assert canonical._orthonormal(torch.tensor([[square**0.5]]).double()).shape == (1, n_kept)
    assert canonical._orthonormal(torch.zeros(4, 0)).shape == (4, 0)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_an_encoder_knows_means_sizes_and_the_weight_of_neighbours(form):
    x, _, _ = random_problem()
    x = x.astype(np.float32)
    features = torch.from_numpy(x) if form == "dense" else sparse.from_scipy(sp.csr_array(x))
    encoder = canonical._prepared(features, "cpu")
    centred = x - x.mean(0) if form == "dense" else x
    softening = (centred**2).sum(1).mean() / 7
    assert float(encoder.softening[0]) == pytest.approx(softening, rel=1e-5)
    prepared = encoder.prepare(features)
    rows = prepared.to_dense() if form == "sparse" else prepared
    np.testing.assert_allclose(rows, centred / np.sqrt((centred**2).sum(1) + softening)[:, None], rtol=1e-4, atol=1e-5)
    sets = [
        torch.from_numpy(np.random.default_rng(i).normal(size=(7, width))).float() for i, width in enumerate((2, 3, 4))
    ]
    for n_sets in (3, 2):
        made = canonical._assembled(encoder, prepared, sets[:n_sets], 0.0125)
        y = rows @ torch.cat(sets[:n_sets], 1)
        assert made.widths == ((2, 3, 4) if n_sets == 3 else (2, 3, 0))
        assert made.n_hops == (max(canonical.HOPS) if n_sets == 3 else 0)
        torch.testing.assert_close(made.shift, y.mean(0))
        sizes = [float(part.var(0, correction=0).mean()) for part in y.split((2, 3, 4)[:n_sets], 1)]
        assert made.softening.tolist() == pytest.approx([softening, *sizes, *[1.0] * (3 - n_sets)], rel=1e-4)
        assert float(made.weight) == pytest.approx(canonical.neighbour_weight(0.0125))
        assert torch.equal(made.centre, encoder.centre)
        assert not made.training


def test_all_pairs_of_a_small_graph_and_some_of_a_large_one(monkeypatch):
    graph = as_graph(sp.random_array((50, 50), density=0.1, rng=0), np.eye(50), directed=True)
    pairs = canonical._pairs(graph, np.random.default_rng(0))
    receivers, senders = graph.adjacency().T.tocsr().nonzero()
    assert pairs.nodes.tolist() == list(range(50))
    assert (pairs.first.tolist(), pairs.second.tolist()) == (receivers.tolist(), senders.tolist())
    monkeypatch.setattr(canonical, "MAX_NODES", 50)
    assert torch.equal(canonical._pairs(graph, np.random.default_rng(0)).halves, pairs.halves)
    monkeypatch.setattr(canonical, "MAX_NODES", 20)
    monkeypatch.setattr(canonical, "MAX_NEIGHBOURS", 2)
    rng = np.random.default_rng(0)
    chosen = np.sort(rng.choice(50, 20, replace=False))
    edges = [(i, j) for i, j in zip(receivers.tolist(), senders.tolist(), strict=True) if i in chosen]
    keys = rng.random(len(edges))
    kept = []
    for i in chosen:
        own = [e for e, (first, _) in enumerate(edges) if first == i]
        kept += sorted(sorted(own, key=lambda e: keys[e])[:2])
    some = canonical._pairs(graph, np.random.default_rng(0))
    assert some.nodes.tolist() == sorted({*chosen.tolist(), *(edges[e][1] for e in kept)})
    found = zip(some.nodes[some.first].tolist(), some.nodes[some.second].tolist(), strict=True)
    assert list(found) == [edges[e] for e in kept]
    weights = graph.adjacency().T.tocsr()
    assert some.strengths.tolist() == [weights[edges[e]] for e in kept]


def test_what_a_width_is_divided_into(data):
    few = as_graph(np.zeros((2, 0), int), np.ones((1, 1)))
    assert canonical.widths_of(few) == (1, 1, 0)
    assert canonical.widths_of(as_graph(np.array([[0], [1]]), np.ones((2, 9)))) == (1, 1, 1)
    for width in (13, 14, 25, 26, 1000):
        own, principal, neighbours = canonical.widths_of(data.graph, width)
        assert own + len(canonical.HOPS) * (principal + neighbours) == width
        assert principal == 2 * neighbours
        assert neighbours == width // 13
        own, principal, neighbours = canonical.widths_of(few, width)
        assert (own + principal, principal, neighbours) == (width, 2 * (width // 3), 0)


def test_a_single_pair_has_the_moments_of_two_nodes():
    x, space, p = random_problem()
    p[:] = 0
    p[4, 9] = 1
    given = [torch.from_numpy(part) for part in (x @ space, x, space)]
    a, b = canonical._moments(sparse.from_scipy(sp.csr_array(p), torch.float64), *given)
    half = (x[4] - x[9]) / 2
    np.testing.assert_allclose(a, -np.outer(half @ space, half @ space), atol=1e-12)
    np.testing.assert_allclose(b, space.T @ (np.outer(half, half) + np.diag(half**2)) @ space, atol=1e-12)


def test_the_seed_is_zero_and_means_are_taken_in_double_precision(data):
    one, other = (canonical.fit(data.graph, SETS, **given)[0] for given in ({}, {"seed": 0}))
    assert torch.equal(one.directions, other.directions)
    far = (np.random.default_rng(0).normal(size=(5000, 3)) - 1e4).astype(np.float32)
    encoder = canonical._prepared(torch.from_numpy(far), "cpu")
    np.testing.assert_array_equal(encoder.centre, far.mean(0, dtype=np.float64).astype(np.float32))


def test_principal_directions_are_those_of_centred_rows_however_far_their_mean():
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(200, 12)) * 0.5 ** np.arange(12) + 100).astype(np.float32)
    expected = np.linalg.svd(x.astype(np.float64) - x.mean(0, dtype=np.float64), full_matrices=False)[2][:4].T
    found = canonical.principal_directions(torch.from_numpy(x), 4, rng).numpy()
    np.testing.assert_allclose(abs(np.diag(expected.T @ found)), 1, atol=1e-2)
    few = canonical.principal_directions(torch.from_numpy(x[:5]), 12, rng)
    assert few.shape == (12, 4)  # five centred rows span four directions


def test_principal_directions_are_those_of_two_more_looks_with_sixteen_more_columns():
    x = np.random.default_rng(0).normal(size=(100, 60)).astype(np.float32)
    centred, draws = x - x.mean(0), np.random.default_rng(1).standard_normal((60, 5 + 16), dtype=np.float32)
    basis = centred @ draws
    for _ in range(2):
        basis = centred @ centred.T @ np.linalg.qr(basis)[0]
    expected = np.linalg.svd(centred.T @ np.linalg.qr(basis)[0])[0][:, :5]
    found = canonical.principal_directions(torch.from_numpy(x), 5, np.random.default_rng(1)).numpy()
    np.testing.assert_allclose(abs(np.diag(expected.T @ found)), 1, atol=1e-4)


def test_directions_are_sought_in_the_space_of_512_and_of_131072_nodes(monkeypatch, data):
    widths, search = [], canonical.principal_directions
    monkeypatch.setattr(
        canonical, "principal_directions", lambda x, width, rng: widths.append(width) or search(x, width, rng)
    )
    canonical.fit(data.graph, SETS)
    assert widths == [512]
    for n in (2**17, 2**17 + 1):
        graph = as_graph(np.array([[0], [1]]), n_nodes=n)
        assert len(canonical._pairs(graph, np.random.default_rng(0)).nodes) == 2**17
