"""Structural features against NetworkX and dense eigenvectors."""

import networkx as nx
import numpy as np
import pytest

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


@pytest.mark.parametrize("dense_nodes", [400, 10])
def test_nodes_without_edges_do_not_change_the_eigenvectors_of_the_others(dense_nodes):
    ring = ccassg.as_graph(nx.connected_watts_strogatz_graph(60, 4, 0.2, seed=0))
    edges = np.stack([np.repeat(np.arange(60), np.diff(ring.indptr)), ring.indices])
    spread = ccassg.as_graph(3 * edges, n_nodes=200)
    alone, among = (
        structural._eigenvectors(
            g.adjacency(), np.diff(g.indptr).astype(float), 3, np.random.default_rng(0), dense_nodes
        )
        for g in (ring, spread)
    )
    np.testing.assert_allclose(np.abs(among[: 3 * 60 : 3]), np.abs(alone), atol=1e-4)
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
    friends = nx.disjoint_union_all([nx.complete_graph(4), nx.star_graph(3), nx.complete_graph(3)])
    a = ccassg.as_graph(friends).adjacency()
    share = structural._clustering(a, np.random.default_rng(0), max_wedges=1, n_samples=20)
    assert share.tolist() == [1] * 4 + [0] * 4 + [1] * 3


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
