"""Views: counter-based draws, right rates, right degrees, self-loops kept."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ccassg import as_graph
from ccassg.model import augment


def random_graph(n=60, density=0.1, seed=0, weighted=False, directed=False):
    matrix = sp.random(n, n, density=density, random_state=seed, format="csr")
    if not weighted:
        matrix.data[:] = 1
    return as_graph(matrix, np.ones((n, 1)), directed=directed)


def dense_view(graph, kept):
    """Reference: normalise the kept directed messages with self-loops; rows receive."""
    a = kept + np.eye(graph.n_nodes)
    return a / np.sqrt(np.outer(a.sum(1), a.sum(0)))


def dense_of(a):
    return a.to_dense()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_view_equals_dense_reference(weighted, directed, rate):
    graph = random_graph(weighted=weighted, directed=directed)
    edges = augment.edge_structure(graph)
    a = augment.drop_edges(edges, rate, seed=1, step=2, view=0)
    dense = dense_of(a).numpy()
    messages = graph.adjacency().todense().T  # row i receives from those that point to it
    kept = np.where(dense - np.diag(np.diag(dense)) != 0, messages, 0)
    np.testing.assert_allclose(dense, dense_view(graph, kept), rtol=1e-5)
    if rate == 0:
        np.testing.assert_allclose(kept, messages)
        assert torch.equal(dense_of(augment.normalized(graph)), dense_of(a))
    else:
        assert a.nnz < edges.a.nnz


def test_no_node_loses_itself():
    edges = augment.edge_structure(random_graph())
    a = augment.drop_edges(edges, 0.999999, seed=0, step=0, view=0)
    assert (a.to_dense().diagonal() > 0).all()
    np.testing.assert_allclose(augment.drop_edges(edges, 0.999999, seed=0, step=0, view=0).to_dense(), np.eye(60))


def test_rate_is_met_and_directions_are_independent_unless_asked():
    graph = random_graph(n=400, density=0.05)
    for both in (False, True):
        edges = augment.edge_structure(graph, both_directions=both)
        a = augment.drop_edges(edges, 0.3, seed=0, step=5, view=1)
        pattern = a.to_dense() > 0
        fraction = (a.nnz - 400) / graph.n_edges
        assert abs(fraction - 0.7) < 4 * (0.21 / graph.n_edges * 2) ** 0.5
        assert bool((pattern == pattern.T).all()) is both


def test_edge_draws_do_not_depend_on_the_rest_of_the_graph():
    graph = random_graph()
    adjacency = graph.adjacency().tocoo()
    some = (adjacency.row + adjacency.col) % 3 == 0
    part = as_graph(sp.csr_array((adjacency.data[some], (adjacency.row[some], adjacency.col[some])), (60, 60)))
    assert 60 < part.n_edges < graph.n_edges / 2
    kept, kept_of_part = (
        augment.drop_edges(augment.edge_structure(g), 0.5, seed=3, step=1, view=0).to_dense() > 0 for g in (graph, part)
    )
    there = torch.from_numpy(part.adjacency().toarray().T > 0) | torch.eye(60, dtype=torch.bool)
    assert torch.equal(kept & there, kept_of_part)
    assert 0.3 < (kept_of_part.sum() - 60) / part.n_edges < 0.7


def test_mask_features_rate_and_none():
    assert augment.mask_features(10, 0.0, seed=0, step=0, view=0) is None
    kept = augment.mask_features(20_000, 0.3, seed=0, step=0, view=0)
    assert abs(kept.double().mean() - 0.7) < 0.02
