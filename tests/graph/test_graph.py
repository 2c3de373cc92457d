"""The container."""

import dataclasses

import numpy as np
import pytest

from ccassg import Graph, as_graph


def test_frozen():
    graph = as_graph(np.array([[0, 1], [1, 2]]), np.eye(3))
    with pytest.raises(dataclasses.FrozenInstanceError):
        graph.features = None
    assert "nodes: 3" in repr(graph)


def test_a_graph_made_by_hand_is_undirected_unless_it_says_so():
    assert not Graph(np.array([0, 1, 2]), np.array([1, 0])).directed


def test_counts_describe_the_graph():
    graph = as_graph(np.array([[0, 1], [1, 2]]), np.ones((4, 3)))
    assert graph.counts() == {"nodes": 4, "edges": 2, "isolated": 1, "features": 3}
    assert "edges: 2 (undirected)" in repr(graph)
    assert graph.degrees().tolist() == [1, 2, 1, 0]


def test_a_directed_edge_counts_at_both_ends():
    graph = as_graph(np.array([[0, 0, 1], [1, 2, 0]]), np.ones((4, 3)), directed=True)
    assert graph.degrees().tolist() == [3, 2, 1, 0]
    assert graph.counts()["edges"] == 3


@pytest.mark.parametrize(
    ("parts", "error", "sentence"),
    [
        ({"indptr": [0, 1, 2]}, TypeError, "^indptr and indices must be arrays of whole numbers; make a graph with"),
        ({"indices": np.ones(2)}, TypeError, "^indptr and indices must be arrays of whole numbers"),
        ({"indptr": np.array([0, 1, 3])}, ValueError, "^indptr must go from 0 to 2, the number of edges"),
        ({"indptr": np.array([0, 3, 2])}, ValueError, r"^indptr must not fall, and indices must be in 0 .. 1"),
        ({"indices": np.array([1, 2])}, ValueError, r"^indptr must not fall, and indices must be in 0 .. 1"),
        ({"indices": np.array([1, -1])}, ValueError, r"^indptr must not fall, and indices must be in 0 .. 1"),
        ({"weights": np.ones(3)}, ValueError, "^weights must be an array of 2 numbers, one per edge"),
        ({"features": np.ones((3, 1))}, ValueError, "^features must be a matrix of 2 rows, one per node"),
        ({"features": [[1], [2]]}, ValueError, "^features must be a matrix of 2 rows, one per node"),
        (
            {"ids": np.arange(3)},
            ValueError,
            r"^ids must be an array of 2 names, one per node, got array\(\[0, 1, 2\]\)",
        ),
    ],
)
def test_a_graph_made_by_hand_must_fit_together(parts, error, sentence):
    right = {"indptr": np.array([0, 1, 2]), "indices": np.array([1, 0])}
    assert Graph(**right).n_edges == 2
    with pytest.raises(error, match=sentence):
        Graph(**right | parts)


@pytest.mark.parametrize("nodes", [[0, 2], np.array([-1]), [0.5], [[0]], "ab", np.ones(3, bool), 0])
def test_a_subgraph_of_what_are_no_nodes(nodes):
    with pytest.raises(
        ValueError, match=r"^nodes must be (a list of node numbers, from 0|in 0 .. 1, the nodes of the graph), got"
    ):
        as_graph(np.array([[0], [1]])).subgraph(nodes)


def test_a_subgraph_of_a_mask():
    graph = as_graph(np.array([[0, 1], [1, 2]]))
    assert graph.subgraph(np.array([True, True, False])).n_edges == 2
