"""The views of training are those of the definition, and come with their transposes."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ccassg import as_graph
from ccassg.graph import sparse
from ccassg.model import augment
from ccassg.training.views import TwoWayEdges, needed_rows

N = 60


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_a_view_is_the_definitions_to_the_bit_with_its_transpose(weighted, directed, rate):
    matrix = sp.random(N, N, density=0.1, random_state=0, format="csr")
    graph = as_graph(matrix if weighted else matrix.astype(bool), np.ones((N, 1)), directed=directed)
    structure = augment.edge_structure(graph)
    edges = TwoWayEdges(structure, weighted=weighted)
    for view in (0, 1):
        a, a_t = edges.drop(rate, seed=1, step=2, view=view)
        expected = augment.drop_edges(structure, rate, seed=1, step=2, view=view)
        for got, want in ((a, expected), (a_t, sparse.transpose(expected))):
            assert got.shape == want.shape
            assert torch.equal(got.indptr, want.indptr)
            assert torch.equal(got.to_dense(), want.to_dense())


def test_what_others_receive_counts_for_the_sender():
    graph = as_graph(sp.random(N, N, density=0.1, random_state=0), np.ones((N, 1)))
    edges = TwoWayEdges(augment.edge_structure(graph), weighted=True)
    alone, _ = edges.drop(0.3, seed=1, step=2, view=0)
    shared, _ = edges.drop(0.3, seed=1, step=2, view=0, total_sent=lambda sent: 4 * sent)
    torch.testing.assert_close(shared.to_dense(), alone.to_dense() / 2)


def test_some_rows_of_two_layers_are_those_of_the_whole():
    graph = as_graph(sp.random(N, N, density=0.05, random_state=0), np.ones((N, 1)))
    a, h, nodes = augment.normalized(graph), torch.rand(N, 3), torch.tensor([3, 17, 40])
    (first, first_t), (second, _) = needed_rows(a, nodes, 2)
    whole = a.to_dense() @ (a.to_dense() @ h)
    torch.testing.assert_close(second.to_dense() @ (first.to_dense() @ h), whole[nodes])
    torch.testing.assert_close(first_t.to_dense(), first.to_dense().T)
