from __future__ import annotations

import numpy as np
import pytest
import torch

from ccassg.datasets import stochastic_block_graph
from ccassg.graph import as_graph
from ccassg.graph.sparse import from_scipy
from ccassg.systems.classifier import torch_csr
from ccassg.systems.supervised import chebyshev_filter, edge_index, scaled_laplacian


@pytest.mark.parametrize("n_terms", [1, 2, 3, 5])
@pytest.mark.parametrize("sparse_features", [False, True])
def test_the_filter_is_pygs_with_the_same_weights(n_terms: int, sparse_features: bool) -> None:
    conv = pytest.importorskip("torch_geometric.nn")
    graph = stochastic_block_graph(80, 3, 4.0, n_features=30, sparse_features=sparse_features, seed=1).graph
    dense = torch.as_tensor(np.asarray(graph.features.toarray() if sparse_features else graph.features))
    x = torch_csr(from_scipy(graph.features)) if sparse_features else dense
    ours = chebyshev_filter(30, 7, n_terms)
    pygs = conv.ChebConv(30, 7, K=n_terms)
    pygs.load_state_dict(ours.state_dict())
    weights = torch.linspace(-1, 1, 80 * 7).reshape(80, 7)
    found = []
    for module, out in ((ours, ours(x, scaled_laplacian(graph))), (pygs, pygs(dense, edge_index(graph)))):
        (out * weights).sum().backward()
        found.append([out.detach(), *(parameter.grad for parameter in module.parameters())])
    for mine, theirs in zip(*found, strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-4)


def test_the_laplacian_of_a_path_with_a_loop_and_a_node_alone() -> None:
    graph = as_graph(np.array([[0, 1, 1], [1, 2, 1]]), np.ones((4, 1), np.float32))
    by_hand = np.zeros((4, 4))
    by_hand[0, 1] = by_hand[1, 0] = by_hand[1, 2] = by_hand[2, 1] = -(0.5**0.5)
    np.testing.assert_allclose(scaled_laplacian(graph).to_dense(), by_hand, atol=1e-7)
