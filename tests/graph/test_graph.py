"""The container."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

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


def test_a_subgraph_has_the_weights_features_and_ids_of_its_nodes():
    edges = np.array([[0, 0, 3, 2, 1], [1, 2, 0, 3, 3]])
    x = np.arange(8.0).reshape(4, 2)
    graph = as_graph(edges, x, edge_weights=np.array([1.0, 2, 3, 4, 5]), node_ids=list("abcd"), directed=True)
    part = graph.subgraph([3, 0, 2])
    assert part.adjacency().toarray().tolist() == [[0, 3, 0], [0, 0, 2], [4, 0, 0]]
    assert part.features.tolist() == x[[3, 0, 2]].tolist()
    assert part.node_ids.tolist() == ["d", "a", "c"]
    assert part.directed
    assert part.indptr.dtype == np.int64
    assert (np.diff(part.indices[part.indptr[1] : part.indptr[2]]) > 0).all()
    plain = as_graph(edges[:, :2], n_nodes=4).subgraph([2, 0])
    assert (plain.weights, plain.features, plain.node_ids.tolist()) == (None, None, [2, 0])
    assert as_graph(edges, n_nodes=4).subgraph([]).n_nodes == 0


def test_isolated_nodes_and_edges_of_either_kind():
    directed = as_graph(np.array([[0, 3], [1, 1]]), n_nodes=6, directed=True)
    assert directed.counts() == {"nodes": 6, "edges": 2, "isolated": 3, "features": 0}
    assert directed.degrees().tolist() == [1, 2, 0, 1, 0, 0]
    assert directed.adjacency().dtype == np.float32
    assert directed.adjacency().data.tolist() == [1, 1]
    assert directed.node_ids.tolist() == [0, 1, 2, 3, 4, 5]
    loopless = Graph(np.array([0]), np.array([], int))
    assert loopless.counts() == {"nodes": 0, "edges": 0, "isolated": 0, "features": 0}


@pytest.mark.parametrize(
    "parts",
    [
        {"indptr": np.array([], int)},
        {"indptr": np.array([[0, 1, 2]])},
        {"indptr": np.array([0.0, 1, 2])},
        {"indices": np.array([[1, 0]])},
        {"indptr": np.array([1, 1, 2])},
        {"weights": np.array([1, 1])},
        {"weights": np.ones((2, 1), np.float32)},
        {"weights": [1.0, 1.0]},
        {"features": np.ones(2)},
        {"features": np.ones((2, 1), complex)},
        {"features": sp.csr_array(np.ones((3, 1)))},
        {"ids": "ab"},
    ],
    ids=str,
)
def test_other_parts_that_do_not_fit(parts):
    right = {"indptr": np.array([0, 1, 2]), "indices": np.array([1, 0])}
    with pytest.raises((TypeError, ValueError)):
        Graph(**right | parts)


def test_parts_that_fit():
    indptr, indices = np.array([0, 0, 2, 2], np.uint8), np.array([0, 2], np.int32)
    for x in (np.ones((3, 1), bool), sp.csr_array(np.ones((3, 2)))):
        graph = Graph(indptr, indices, np.ones(2, np.float32), x, ["a", "b", "c"], True, ("said",))
        assert graph.n_features == x.shape[1]
        assert graph.n_isolated == 0
    assert Graph(indptr, indices).n_isolated == 2


@pytest.mark.parametrize("at_once", [1, 2, 3, 2**24])
def test_degrees_are_counted_some_edges_at_a_time(monkeypatch, at_once):
    monkeypatch.setattr("ccassg.graph.graph.EDGES_AT_ONCE", at_once)
    graph = as_graph(np.array([[0, 0, 1, 2, 3], [1, 2, 0, 0, 0]]), n_nodes=5, directed=True)
    assert graph.degrees().tolist() == [5, 2, 2, 1, 0]
