"""Label propagation on graphs small enough to follow by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ccassg.graph import as_graph
from ccassg.systems.label_propagation import LabelPropagation


def test_labels_spread_along_a_path() -> None:
    # 0 - 1 - 2   3 - 4   5: the first component knows class 7, the second class 9, the last node nothing.
    graph = as_graph(np.array([[0, 1, 3], [1, 2, 4]]), n_nodes=6)
    model = LabelPropagation(n_hops=10, alpha=0.9).fit(graph, np.array([7, -1, 7, -1, 9, -1]))
    assert model.predict(graph).tolist() == [7, 7, 7, 9, 9, 7]


def test_two_hops_along_a_path_by_hand() -> None:
    # 0 - 1 - 2 - 3, known at both ends. The normalised adjacency has 1/sqrt(2) at the outer edges, 1/2 at the inner one.
    # The first hop brings node 1 its end's class, the second half as much of the other one's.
    path = as_graph(np.array([[0, 1, 2], [1, 2, 3]]))
    model = LabelPropagation(n_hops=2, alpha=0.5).fit(path, np.array([7, -1, -1, 9]))
    by_hand = [[1, 0], [2 / 3, 1 / 3], [1 / 3, 2 / 3], [0, 1]]
    assert np.allclose(model.predict_proba(path), by_hand, atol=1e-6)


def test_many_hops_are_the_linear_system() -> None:
    """Propagation comes to rest at (1 - alpha) (I - alpha D^-1/2 A D^-1/2)^-1 Y."""
    edges = np.array([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 5, 3]])
    graph = as_graph(edges)
    y = np.array([0, -1, 1, -1, -1, 2])
    a = graph.adjacency().toarray()
    scale = 1 / np.sqrt(a.sum(1))
    start = (y[:, None] == np.arange(3)).astype(float)
    rest = 0.4 * np.linalg.solve(np.eye(6) - 0.6 * scale[:, None] * a * scale, start)
    found = LabelPropagation(n_hops=60, alpha=0.6).fit(graph, y).predict_proba(graph)
    assert np.allclose(found, rest / rest.sum(1, keepdims=True), atol=1e-5)


def test_a_node_out_of_reach_has_the_shares_of_the_known_labels() -> None:
    graph = as_graph(np.array([[0, 1], [1, 2]]), n_nodes=4)
    model = LabelPropagation(n_hops=3).fit(graph, np.array([7, 9, 7, -1]))
    assert model.predict_proba(graph)[3] == pytest.approx([2 / 3, 1 / 3])


def test_held_out_labels_are_not_propagated() -> None:
    path = as_graph(np.array([[0, 1], [1, 2]]))
    model = LabelPropagation(n_hops=5).fit(path, np.array([7, -1, 9]), validation=[2])
    assert model.classes_.tolist() == [7, 9]
    assert model.predict_proba(path)[:, 1].tolist() == [0, 0, 0]
