from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from ccassg import as_graph
from ccassg.datasets import stochastic_block_graph
from ccassg.systems.deepwalk import DeepWalk, random_walks


def test_walks_follow_edges() -> None:
    graph = stochastic_block_graph(50, 2, 4.0, n_features=4).graph
    starts = np.flatnonzero(np.diff(graph.indptr))
    walks = random_walks(graph, starts, 12, np.random.default_rng(0))
    assert walks.shape == (len(starts), 12)
    assert np.array_equal(walks[:, 0], starts)
    edges = graph.adjacency().toarray() > 0
    assert edges[walks[:, :-1], walks[:, 1:]].all()


def test_steps_are_uniform() -> None:
    star = as_graph(np.array([[0, 0, 0, 0], [1, 2, 3, 4]]))
    walks = random_walks(star, np.zeros(8000, int), 2, np.random.default_rng(0))
    shares = np.bincount(walks[:, 1], minlength=5) / 8000
    assert np.abs(shares[1:] - 0.25).max() < 0.03
    assert shares[0] == 0


def test_steps_follow_the_weights() -> None:
    graph = as_graph(np.array([[0, 0], [1, 2]]), edge_weights=np.array([1.0, 3.0]))
    walks = random_walks(graph, np.zeros(8000, int), 2, np.random.default_rng(0))
    assert np.mean(walks[:, 1] == 2) == pytest.approx(0.75, abs=0.03)


def test_a_dead_end_stays() -> None:
    graph = as_graph(np.array([[0, 1], [1, 2]]), directed=True)
    walks = random_walks(graph, np.array([0, 2]), 4, np.random.default_rng(0))
    assert walks.tolist() == [[0, 1, 2, 2], [2, 2, 2, 2]]


def test_isolated_nodes_lie_at_zero() -> None:
    adjacency = sp.csr_array((np.ones(2), ([0, 1], [1, 0])), shape=(4, 4))
    z = DeepWalk(embedding_dim=4, n_walks=2, walk_length=5, random_state=0).fit_transform(as_graph(adjacency))
    assert (z[2:] == 0).all()
    assert (z[:2] != 0).any(axis=1).all()


def test_isolated_nodes_before_others_change_nothing() -> None:
    graph = stochastic_block_graph(40, 2, 4.0, n_features=4).graph
    edges = np.stack(graph.adjacency().nonzero())
    settings = {"embedding_dim": 4, "n_walks": 2, "walk_length": 5, "random_state": 0}
    z = DeepWalk(**settings).fit_transform(as_graph(edges, n_nodes=40))
    shifted = DeepWalk(**settings).fit_transform(as_graph(edges + 15, n_nodes=60))
    assert np.array_equal(shifted[15:55], z)
    assert not shifted[:15].any()


def test_features_are_appended() -> None:
    graph = stochastic_block_graph(40, 2, 4.0, n_features=6, sparse_features=True).graph
    settings = {"embedding_dim": 4, "n_walks": 2, "walk_length": 5, "random_state": 0}
    plain = DeepWalk(**settings).fit_transform(graph)
    both = DeepWalk(add_features=True, **settings).fit_transform(graph)
    assert np.array_equal(both[:, :4], plain)
    assert np.array_equal(both[:, 4:], graph.features.toarray())


def test_other_edges_are_refused() -> None:
    graph = stochastic_block_graph(40, 2, 4.0, n_features=6, seed=0).graph
    other = stochastic_block_graph(40, 2, 4.0, n_features=6, seed=1).graph
    model = DeepWalk(embedding_dim=4, n_walks=1, walk_length=5, random_state=0).fit(graph)
    with pytest.raises(ValueError, match="these edges differ"):
        model.transform(other)
