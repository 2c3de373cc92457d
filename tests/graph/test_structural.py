"""Structural features against NetworkX and dense eigenvectors."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg

import ccassg
from ccassg.graph import structural
from ccassg.graph.structural import core_numbers, structural_features, structural_names


def standardised(values):
    values = np.asarray(list(values), float)
    return (values - values.mean()) / values.std()


def test_local_columns_agree_with_networkx():
    club = nx.karate_club_graph()
    x = structural_features(ccassg.as_graph(club), n_components=0)
    weighted = dict(club.degree(weight="weight")).values()
    np.testing.assert_allclose(x[:, 0], standardised(weighted), atol=1e-5)
    np.testing.assert_allclose(x[:, 1], standardised(np.log1p(list(weighted))), atol=1e-5)
    np.testing.assert_allclose(x[:, 2], standardised(nx.clustering(club).values()), atol=1e-5)
    np.testing.assert_allclose(x[:, 3], standardised(nx.core_number(club).values()), atol=1e-5)
    np.testing.assert_allclose(x[:, 4], standardised(nx.pagerank(club, tol=1e-12).values()), atol=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_core_numbers_agree_with_networkx(seed):
    random = nx.gnm_random_graph(200, 600, seed=seed)
    graph = ccassg.as_graph(random)
    assert core_numbers(graph.adjacency()).tolist() == [nx.core_number(random)[i] for i in range(200)]


@pytest.mark.parametrize("dense_nodes", [100, 10])
def test_eigenvectors_are_eigenvectors(dense_nodes):
    graph = ccassg.as_graph(nx.connected_watts_strogatz_graph(100, 6, 0.2, seed=0))
    a = graph.adjacency().toarray()
    scale = 1 / np.sqrt(a.sum(axis=1))
    m = scale[:, None] * a * scale
    rng = np.random.default_rng(0)
    vectors = structural._eigenvectors(graph.adjacency().astype(float), a.sum(axis=1), 5, rng, dense_nodes)
    values = np.linalg.eigvalsh(m)[::-1][:5]
    np.testing.assert_allclose(m @ vectors, vectors * values, atol=1e-3)
    assert (vectors[np.abs(vectors).argmax(axis=0), np.arange(5)] > 0).all()


def test_same_seed_same_features():
    for n in (200, 600):  # dense, Lanczos
        graph = ccassg.as_graph(nx.gnm_random_graph(n, 5 * n, seed=0))
        first, second = structural_features(graph, 8), structural_features(graph, 8)
        assert (first == second).all()
        assert first.shape == (n, 13)
        np.testing.assert_allclose(first.mean(axis=0), 0, atol=1e-5)


@pytest.mark.parametrize("lanczos_nodes", [200_000, 10])
def test_same_seed_same_eigenvectors(lanczos_nodes):
    a = ccassg.as_graph(nx.gnm_random_graph(200, 900, seed=0)).adjacency().astype(float)
    first, second = (
        structural._eigenvectors(a, a.sum(axis=1), 8, np.random.default_rng(0), 10, lanczos_nodes) for _ in range(2)
    )
    assert (first == second).all()
    np.testing.assert_allclose(first.T @ first, np.eye(8), atol=1e-6)


def test_nodes_without_edges_do_not_change_the_eigenvectors_of_the_others():
    ring = ccassg.as_graph(nx.connected_watts_strogatz_graph(60, 4, 0.2, seed=0))
    edges = np.stack([np.repeat(np.arange(60), np.diff(ring.indptr)), ring.indices])
    spread = ccassg.as_graph(3 * edges, n_nodes=200)
    alone = structural._eigenvectors(ring.adjacency(), np.diff(ring.indptr), 3, np.random.default_rng(0))
    x = structural_features(spread, n_components=3)[:, len(structural.LOCAL) :]
    expected = np.zeros((200, 3))
    expected[: 3 * 60 : 3] = alone
    np.testing.assert_allclose(np.abs(x), np.abs((expected - expected.mean(0)) / expected.std(0)), atol=1e-2)
    assert not structural_features(ccassg.as_graph([[0], [1]], n_nodes=50))[:, len(structural.LOCAL) + 1 :].any()


def test_sampled_clustering_is_close():
    random = nx.connected_watts_strogatz_graph(300, 10, 0.1, seed=0)
    graph = ccassg.as_graph(random)
    share = structural._clustering(graph.adjacency(), np.random.default_rng(0), max_wedges=10, n_samples=400)
    np.testing.assert_allclose(share, list(nx.clustering(random).values()), atol=0.12)


def test_clustering_is_counted_up_to_its_limit_and_sampled_beyond():
    random = nx.gnm_random_graph(30, 120, seed=0)
    a = ccassg.as_graph(random).adjacency()
    n_wedges = sum(degree * (degree - 1) for _, degree in random.degree)
    exact = list(nx.clustering(random).values())
    for limit, counted in ((n_wedges, True), (n_wedges - 1, False)):
        share = structural._clustering(a, np.random.default_rng(0), max_wedges=limit, n_samples=1)
        assert (share.tolist() == pytest.approx(exact)) is counted


def test_sampled_clustering_where_every_draw_says_the_same():
    friends = nx.disjoint_union_all([nx.complete_graph(4), nx.star_graph(3), nx.complete_graph(3), nx.star_graph(2)])
    a = ccassg.as_graph(friends).adjacency()
    share = structural._clustering(a, np.random.default_rng(0), max_wedges=1, n_samples=20)
    assert share.tolist() == [1] * 4 + [0] * 4 + [1] * 3 + [0] * 3


@pytest.mark.parametrize(
    "graph",
    [
        nx.empty_graph(1),
        nx.empty_graph(5),
        nx.path_graph(2),
        nx.star_graph(30),
        nx.disjoint_union_all([nx.complete_graph(4)] * 200),
        nx.DiGraph([(0, 1), (1, 2)]),
    ],
)
def test_odd_graphs_stay_finite(graph):
    x = structural_features(ccassg.as_graph(graph, directed=graph.is_directed()), 4)
    assert x.shape == (len(graph), 9)
    assert x.dtype == np.float32
    assert np.isfinite(x).all()
    assert np.abs(x).max() <= np.sqrt(len(graph)) + 1e-6


def test_names_and_refusals():
    assert structural_names(7)[-2:] == ("eigenvector 1", "eigenvector 2")
    with pytest.raises(ValueError, match="n_components must be an integer, at least 0, got -1"):
        structural_features(ccassg.as_graph(nx.path_graph(3)), -1)


def test_pagerank_is_that_of_fifty_plain_steps():
    a = np.zeros((6, 6))
    for i, j, weight in ((0, 1, 2.0), (0, 2, 1.0), (1, 2, 0.5), (3, 4, 1.0)):
        a[i, j] = a[j, i] = weight
    rank = np.full(6, 1 / 6)  # node 5 has no edge and gives to all
    for _ in range(50):
        given = [sum(a[i, j] / a[j].sum() * rank[j] for j in range(5)) + rank[5] / 6 for i in range(6)]
        rank = 0.85 * np.array(given) + 0.15 / 6
    graph = ccassg.as_graph(sp.csr_array(a))
    np.testing.assert_allclose(structural._pagerank(graph.adjacency(), a.sum(1)), rank, rtol=1e-14)


def test_sampled_clustering_is_the_share_of_the_pairs_that_are_drawn():
    random = nx.gnm_random_graph(30, 100, seed=0)
    random.add_edge(28, 30)  # a node with one neighbour
    a = ccassg.as_graph(random).adjacency()
    share, rng = structural._clustering(a, np.random.default_rng(4), max_wedges=1), np.random.default_rng(4)
    nodes = [node for node in range(31) if random.degree(node) > 1]
    degree = np.array([random.degree(node) for node in nodes])
    expected = np.zeros(31)
    for _ in range(32):
        first, more = rng.integers(0, degree), rng.integers(1, degree)
        for node, i, j in zip(nodes, first, (first + more) % degree, strict=True):
            expected[node] += random.has_edge(sorted(random[node])[i], sorted(random[node])[j])
    assert share.tolist() == (expected / 32).tolist()


def test_clustering_in_blocks_of_rows():
    cliques = nx.disjoint_union_all([nx.complete_graph(3)] * 1400)  # 4,200 nodes
    a = ccassg.as_graph(nx.disjoint_union(cliques, nx.path_graph(3))).adjacency()
    share = structural._clustering(a, np.random.default_rng(0))
    assert share.tolist() == [1] * 4200 + [0] * 3


def test_subspace_iteration_is_twenty_steps_on_the_halved_matrix():
    a = ccassg.as_graph(nx.gnm_random_graph(40, 100, seed=0)).adjacency().toarray() / 9
    q = np.linalg.qr(np.random.default_rng(0).standard_normal((40, 11)))[0]
    for _ in range(20):
        q = np.linalg.qr((a + np.eye(40)) / 2 @ q)[0]
    turn = np.linalg.eigh(q.T @ a @ q)[1]
    found = structural._subspace(sp.csr_array(a), 3, np.random.default_rng(0))
    np.testing.assert_allclose(found, (q @ turn)[:, ::-1][:, :3], atol=1e-10)


def test_few_components_are_all_that_a_graph_has_and_thirty_two_the_default():
    for n in (2, 3, 5):
        a = ccassg.as_graph(nx.complete_graph(n))
        x = structural_features(a)
        assert x.shape == (n, 37)
        assert (np.abs(x[:, 5:]).max(0) > 0).sum() <= n - 1
    path = ccassg.as_graph(nx.path_graph(3))
    x = structural_features(path, 2)
    np.testing.assert_array_equal(structural_features(path, 1), x[:, :6])
    # Eigenvalues 1 and 0 of the path: (1, sqrt 2, 1) / 2 and (1, 0, -1) / sqrt 2.
    np.testing.assert_allclose(x[:, 5], standardised([1, 2**0.5, 1]), atol=1e-6)
    np.testing.assert_allclose(np.abs(x[:, 6]), np.abs(standardised([1, 0, -1])), atol=1e-6)
    large = ccassg.as_graph(nx.gnm_random_graph(500, 2000, seed=0))
    assert (structural_features(large) == structural_features(large, 32, seed=0)).all()
    assert (structural_features(large) != structural_features(large, 32, seed=1)).any()


def test_directions_do_not_count_and_of_two_weights_the_larger_does():
    both = np.array([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
    one = ccassg.as_graph(
        np.array([[0, 1, 1, 3], [1, 0, 2, 2]]), edge_weights=np.array([1.0, 5.0, 2.0, 3.0]), directed=True
    )
    other = ccassg.as_graph(both, edge_weights=np.array([5.0, 5.0, 2.0, 2.0, 3.0, 3.0]))
    np.testing.assert_allclose(structural_features(one, 2), structural_features(other, 2), atol=1e-6)


def test_columns_that_vary_by_rounding_alone_are_zero():
    rounding = 1 + np.array([0, 1, 2, 3]) * 1e-16 * 3
    little = 1 + np.array([0, 1, 2, 3]) * 1e-11
    least = 1 + np.array([0, 1, 2, 3]) * 1.3e-12  # just beyond a spread of 1e-12
    found = structural._standardised(np.column_stack([rounding, little, np.zeros(4), [0, 4, 4, 8], least]))
    assert not found[:, [0, 2]].any()
    assert found[:, 4].any()
    np.testing.assert_allclose(found[:, 1], standardised([0, 1, 2, 3]), rtol=1e-4)
    np.testing.assert_allclose(found[:, 3], np.array([-2, 0, 0, 2]) / 2**0.5)


def test_more_components_than_memory_holds_are_refused():
    with pytest.raises(
        ValueError, match=r"n_components=1000000000000 on 3 nodes needs at least 22,351.7 GiB of memory"
    ):
        structural_features(ccassg.as_graph(nx.path_graph(3)), 10**12)


@pytest.mark.parametrize(("lanczos_nodes", "k"), [(60, 5), (60, 59), (59, 5)])
def test_up_to_which_size_eigenvectors_are_of_which_method(lanczos_nodes, k):
    a = ccassg.as_graph(nx.connected_watts_strogatz_graph(60, 6, 0.2, seed=0)).adjacency().astype(float)
    given = a, a.sum(axis=1), k
    found = structural._eigenvectors(*given, np.random.default_rng(0), 59, lanczos_nodes)
    dense = structural._eigenvectors(*given, np.random.default_rng(0), 60)
    close = np.allclose(found, dense, atol=1e-4)
    assert close == (lanczos_nodes == 60)  # twenty steps of subspace iteration are rougher
    assert np.array_equal(found, dense) == (k == 59)  # which Lanczos cannot have: nearly all


@pytest.mark.parametrize("k", [5, 150])
def test_lanczos_begins_beyond_four_hundred_nodes_and_stops_at_five_digits(k):
    a = ccassg.as_graph(nx.connected_watts_strogatz_graph(401, 6, 0.2, seed=0)).adjacency().astype(float)
    scale = sp.diags_array(1 / np.sqrt(a.sum(axis=1)))
    expected = scipy.sparse.linalg.eigsh(
        sp.csr_array(scale @ a @ scale),
        k=k,
        which="LA",
        v0=np.random.default_rng(0).standard_normal(401),
        ncv={5: 35, 150: 400}[k],  # three for each, and twenty, but fewer than nodes
        tol=1e-5,
        maxiter=200,
    )[1]
    found = structural._eigenvectors(a, a.sum(axis=1), k, np.random.default_rng(0))
    assert np.array_equal(np.abs(found), np.abs(expected[:, ::-1]))
