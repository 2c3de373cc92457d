"""The encoders' plain forward pass."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ccassg import as_graph
from ccassg.graph import sparse
from ccassg.model import augment
from ccassg.model.encoder import Encoder, gcn, mlp


@pytest.fixture(scope="module")
def graph():
    return as_graph(sp.random(30, 30, density=0.1, random_state=0) != 0, np.random.default_rng(0).normal(size=(30, 6)))


def test_gcn_equals_dense_equations(graph):
    encoder = gcn((6, 5, 4), seed=0)
    adjacency = graph.adjacency().todense() + np.eye(30)
    a = adjacency / np.sqrt(np.outer(adjacency.sum(1), adjacency.sum(0)))
    w1, w2 = (w.detach().numpy() for w in encoder.weights)
    expected = a @ np.maximum(a @ graph.features @ w1, 0) @ w2
    got = encoder(torch.tensor(graph.features), augment.normalized(graph))
    np.testing.assert_allclose(got.detach(), expected, rtol=1e-4, atol=1e-5)


def test_gcn_equals_pyg(graph):
    conv = pytest.importorskip("torch_geometric.nn").GCNConv
    encoder = gcn((6, 4), seed=0)
    layer = conv(6, 4)
    with torch.no_grad():
        layer.lin.weight.copy_(encoder.weights[0].T)
    coo = graph.adjacency().tocoo()
    edges = torch.tensor(np.stack([coo.row, coo.col]), dtype=torch.int64)
    got = encoder(torch.tensor(graph.features), augment.normalized(graph))
    torch.testing.assert_close(got, layer(torch.tensor(graph.features), edges))


def test_sparse_and_dense_features_agree_and_masks_zero_columns(graph):
    x = torch.tensor(graph.features)
    keep = torch.tensor([True, False, True, True, False, True])
    masked = sparse.from_scipy(sp.csr_array(graph.features))
    for encoder in (gcn((6, 5, 4)), mlp((6, 5, 4)).eval()):
        a = augment.normalized(graph)
        torch.testing.assert_close(encoder(masked, a, keep_columns=keep), encoder(x * keep, a))


def test_initialisation_is_seeded_and_bounded():
    assert torch.equal(gcn((6, 5)).weights[0], gcn((6, 5)).weights[0])
    assert not torch.equal(gcn((6, 5), seed=1).weights[0], gcn((6, 5)).weights[0])
    shape = (60, 50)
    # Glorot's for a GCN, that of torch.nn.Linear for an MLP and its biases.
    for make, bound in ((gcn, (6 / 110) ** 0.5), (mlp, 60**-0.5)):
        assert 0.99 * bound < make(shape).weights[0].abs().max() <= bound
    assert gcn(shape).biases[0].eq(0).all()
    assert 0.9 * 60**-0.5 < mlp(shape).biases[0].abs().max() <= 60**-0.5


def test_counts_and_widths():
    assert mlp((6, 5, 4)).dims == (6, 5, 4)
    assert Encoder((6, 4), propagate=True, batch_norm=True).dims == (6, 4)
    assert (mlp((6, 5, 4)).n_hops, gcn((6, 5, 4)).n_hops) == (0, 2)
    assert sum(parameter.numel() for parameter in mlp((6, 5, 4)).parameters()) == 6 * 5 + 5 + 5 + 5 + 5 * 4 + 4


def test_gradients_flow_through_sparse_products(graph):
    encoder = gcn((6, 3)).double()
    a = augment.normalized(graph)
    a = a.with_values(a.values.double())
    x = torch.tensor(graph.features, dtype=torch.float64)
    weight = encoder.weights[0]
    numeric = torch.zeros_like(weight)
    for index in np.ndindex(*weight.shape):
        for sign in (1, -1):
            with torch.no_grad():
                weight[index] += sign * 1e-5
                numeric[index] += sign * encoder(x, a).square().sum() / 2e-5
                weight[index] -= sign * 1e-5
    encoder(x, a).square().sum().backward()
    torch.testing.assert_close(weight.grad, numeric, rtol=1e-5, atol=1e-7)


def test_the_seed_of_the_weights_is_zero_where_none_is_given():
    for propagate, make in ((True, gcn), (False, mlp)):
        plain = Encoder((6, 5), propagate=propagate, batch_norm=False).weights[0]
        assert torch.equal(plain, make((6, 5), seed=0).weights[0])
        assert torch.equal(plain, make((6, 5)).weights[0])
        assert torch.equal(plain, make((6, 5), seed=2**63).weights[0])  # as many as a generator takes
