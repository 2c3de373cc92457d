"""What is a graph where features were expected, and what is not."""

import warnings

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from ccassg import as_graph
from ccassg.graph.kinds import is_graph, refuse_graph

RNG = np.random.default_rng(0)
PLAIN = {
    "numbers": RNG.normal(size=(9, 2)),
    "switches": RNG.integers(0, 2, (9, 2)),
    "switches as text": RNG.integers(0, 2, (9, 2)).astype(str),
    "negative": RNG.integers(-5, 5, (9, 2)),
    "three columns": RNG.integers(0, 9, (9, 3)),
    "identity": np.eye(5),
    "sparse identity": sp.eye_array(5, format="csr"),
    "kernel": np.cov(RNG.random((5, 9))) ** 2,
    "square of counts": RNG.integers(1, 9, (5, 5)),
    "zeros": np.zeros((5, 5)),
    "not numbers": np.full((5, 5), np.nan),
    "wide and sparse": sp.random_array((5, 9), density=0.5, rng=0),
    "ragged": [[1], [2, 3]],
}
ADJACENCY = np.array([[0, 2, 0], [2, 0, 1], [0, 1, 0]])


@pytest.mark.parametrize("given", PLAIN.values(), ids=PLAIN)
def test_features_are_let_through_without_a_word(given):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refuse_graph("X", given)


@pytest.mark.parametrize("given", [ADJACENCY, np.triu(ADJACENCY > 0), ADJACENCY * 0.5])
def test_adjacencies_are_refused(given):
    with pytest.raises(
        ValueError, match=r"X of shape \(3, 3\) looks like an adjacency.*read_graph\(scipy.sparse.csr_array\(X\)\)"
    ):
        refuse_graph("X", given)
    for kind in ("csr_array", "lil_array", "dok_array", "coo_matrix"):
        with pytest.raises(
            ValueError, match=r"read_graph\(X\).*if these are features, pass \(scipy.sparse.csr_array\(\(3, 3\)\), X\)"
        ):
            refuse_graph("X", getattr(sp, kind)(given))
    refuse_graph("X", given, n_features=3)  # what a model of three features is given


def test_objects_of_graph_libraries_are_known():
    graph = nx.path_graph(3)
    assert is_graph(graph)
    assert is_graph([graph])
    assert is_graph([as_graph(graph)])
    assert not any(map(is_graph, (as_graph(graph), ADJACENCY, [[0, 1], [1, 2]], [], None, "edges.csv")))
