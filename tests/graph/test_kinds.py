"""What is a graph where features were expected, and what is not."""

import re
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from ccassg import Dataset, as_graph
from ccassg.graph.kinds import is_graph, refuse_graph, refuse_several

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


def answer(given, n_features=None):
    """What is said of it: "" for nothing, else the call that is named, with a mark where it is only a warning."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            refuse_graph("X", given, n_features)
        except ValueError as error:
            said, mark = [error], ""
        else:
            mark = "warned: "
    return "".join(mark + re.search(r"read_graph\((.*)\) takes it", str(one)).group(1) for one in said)


ENDS = np.array([[0, 1], [1, 2], [2, 0]])
EDGES = {
    "columns": (ENDS, "X.T"),
    "rows": (ENDS.T, "X"),
    "list": (ENDS.tolist(), "numpy.transpose(X)"),
    "list of rows": (ENDS.T.tolist(), "X"),
    "tuple": (tuple(map(tuple, ENDS.tolist())), "numpy.transpose(X)"),
    "frame": (pd.DataFrame(ENDS), "X"),
    "frame of two rows": (pd.DataFrame(ENDS.T), ""),
    "sparse": (sp.csr_array(ENDS), ""),
    "square": (ENDS[1:], ""),
    "three columns": (np.hstack([ENDS, ENDS[:, :1]])[[0, 1, 2, 0]], ""),
    "zeros and ones": (ENDS % 2, ""),
    "beyond one": (ENDS % 2 * 2, "X.T"),
    "from minus one": (ENDS - 1, ""),
    "from one": (ENDS + 1, "X.T"),
    "unsigned": (ENDS.astype(np.uint8), "X.T"),
    "largest": (ENDS.astype(np.uint64) + 2**63 - 3, "X.T"),
    "too large": (ENDS.astype(np.uint64) + 2**63 - 2, ""),
    "truth": (ENDS > 0, ""),
    "whole floats": (ENDS * 1.0, "warned: X.T"),
    "floats": (ENDS * 1.5, ""),
    "numbers as text": (ENDS.astype(str), "X.T"),
    "fractions as text": ((ENDS * 1.5).astype(str), ""),
    "names": (np.array([["a", "b"], ["b", "c"], ["c", "a"]]), "X.T"),
    "names and numbers": (np.array([["a", 1], ["b", 2], ["c", 3]], object), "X.T"),
    "no names": (np.array([["a", None], ["b", "a"], ["c", "a"]], object), ""),
    "no names later": (np.array([["a", "b"]] * 50 + [[None, "b"]], object), "X.T"),  # a hundred are looked at
    "no names soon": (np.array([["a", "b"]] * 49 + [[None, "b"]], object), ""),
    "none": (np.zeros((0, 2), int), ""),
    "one pair": (np.array([[3, 4]]), "X.T"),
    "ragged": ([[1, 2], [3]], ""),
    "flat": (np.array([1, 2]), ""),
    "deep": (np.ones((2, 2, 2)), ""),
    "text": ("edges.csv", ""),
}


@pytest.mark.parametrize("case", EDGES)
def test_edge_lists_are_named_with_the_call_that_takes_them(case):
    given, expected = EDGES[case]
    assert answer(given) == expected
    if expected:
        assert answer(given, 5) == expected.removeprefix("warned: ")  # a model of five features does not wonder
        assert answer(given, np.shape(given)[1]) == ""


SPARSE = sp.csr_array(ADJACENCY)
SQUARES = {
    "weights": (ADJACENCY, "scipy.sparse.csr_array(X)"),
    "list": (ADJACENCY.tolist(), "scipy.sparse.csr_array(X)"),
    "sparse": (SPARSE, "X"),
    "sparse with a loop": (SPARSE + sp.eye_array(3), "X"),
    "sparse loops": (sp.csr_array(np.eye(3)), ""),
    "two edges of two": (np.array([[0, 1], [1, 0]]), ""),
    "two loops of two sparse": (sp.csr_array(np.array([[0, 1], [1, 0]])), ""),
    "a loop": (ADJACENCY + np.diag([1, 0, 0]), ""),
    "one direction": (np.triu(ADJACENCY), ""),
    "one direction of zeros and ones": (np.triu(ADJACENCY) > 0, "scipy.sparse.csr_array(X)"),
    "one direction sparse": (sp.csr_array(np.triu(ADJACENCY)), "X"),
    "negative": (-ADJACENCY, ""),
    "negative sparse": (-SPARSE, ""),
    "nothing": (0 * ADJACENCY, ""),
    "nothing sparse": (sp.csr_array((3, 3)), ""),
    "names": (ADJACENCY.astype(str), ""),
    "wide": (sp.csr_array(np.array([[0, 2, 0], [2, 0, 1]])), ""),
}


@pytest.mark.parametrize("case", SQUARES)
def test_square_matrices_are_adjacencies_where_they_can_be_no_features(case):
    given, expected = SQUARES[case]
    assert answer(given) == expected
    assert answer(given, 7) == expected
    assert answer(given, np.shape(given)[1]) == ""


def test_several_graphs_are_refused():
    class Hetero:
        def to_homogeneous(self): ...

    graph = nx.path_graph(2)
    with pytest.raises(ValueError, match="expected one graph, got a list of 2 graphs"):
        refuse_several([graph, graph])
    with pytest.raises(ValueError, match="HeteroData has nodes or edges of several kinds"):
        refuse_several(Hetero())
    refuse_several([[0, 1], [1, 2]])
    refuse_several(graph)
    assert is_graph([[graph]])
    assert is_graph([Dataset(as_graph(graph))])
