from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from ccassg import as_graph
from ccassg.datasets import stochastic_block_graph
from ccassg.graph import Graph
from ccassg.systems.gca import CEILING, GCA, drop_weights, node_centrality


@pytest.fixture(scope="module")
def graph() -> Graph:
    return stochastic_block_graph(80, 2, 6.0, n_features=10, sparse_features=True, words_per_node=3, seed=4).graph


def test_centralities_are_networkx(graph: Graph) -> None:
    peer = nx.from_scipy_sparse_array(graph.adjacency())
    degree = np.array([d for _, d in peer.degree()])
    pagerank = np.array(list(nx.pagerank(peer, tol=1e-12).values()))
    eigenvector = np.array(list(nx.eigenvector_centrality_numpy(peer).values()))
    assert np.allclose(node_centrality(graph, "degree"), degree)
    assert np.allclose(node_centrality(graph, "pagerank") / graph.n_nodes, pagerank, atol=1e-8)
    assert np.allclose(node_centrality(graph, "eigenvector"), np.abs(eigenvector), atol=1e-6)


def test_unknown_centrality(graph: Graph) -> None:
    with pytest.raises(ValueError, match="got 'betweenness'"):
        GCA(centrality="betweenness", n_steps=1).fit(graph)


def test_weights_have_mean_one_and_spare_the_top() -> None:
    weights = drop_weights(np.array([0.0, 1.0, 2.0, 5.0]))
    assert weights.mean().item() == pytest.approx(1)
    assert weights[3] == 0
    assert (weights.diff() < 0).all()
    assert (drop_weights(np.full(3, 2.0)) == 1).all()


@pytest.mark.parametrize("rate", [0.2, 0.5])
def test_edges_are_dropped_as_often_as_they_should(graph: Graph, rate: float) -> None:
    model = GCA(edge_drop_rate=rate, feature_mask_rate=0.3)
    model.seed_ = 0
    view = model._views(graph)
    n = graph.n_nodes
    kept, columns, n_draws = np.zeros((n, n)), np.zeros(graph.n_features), 400
    for step in range(n_draws):
        _, a, keep = view(step, 0)
        dense = a.to_dense().numpy() > 0
        assert dense.diagonal().all()  # no node loses itself
        kept += dense
        assert keep is not None
        columns += keep.numpy()
    s = np.log1p(node_centrality(graph, "degree"))
    receivers, senders = graph.adjacency().nonzero()
    s_edges = s[receivers]
    expected = np.minimum(rate * (s_edges.max() - s_edges) / (s_edges.max() - s_edges.mean()), CEILING)
    seen = 1 - kept[receivers, senders] / n_draws
    # Six standard errors of the most uncertain of a few hundred edges.
    assert np.abs(seen - expected).max() < 6 * 0.5 / np.sqrt(n_draws)
    assert np.abs(seen - expected).mean() < 0.03
    assert columns.max() == n_draws  # the column of the highest weight always stays


def test_a_regular_graph_is_dropped_evenly() -> None:
    ring = np.stack([np.arange(12), (np.arange(12) + 1) % 12])
    graph = as_graph(ring, np.ones((12, 3)))
    for centrality in ("degree", "pagerank", "eigenvector"):
        z = GCA(centrality=centrality, n_steps=2, hidden_dim=4, embedding_dim=2, random_state=0).fit_transform(graph)
        assert np.isfinite(z).all()
