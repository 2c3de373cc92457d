from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ccassg.datasets import stochastic_block_graph
from ccassg.graph import Graph, sparse
from ccassg.graph.sparse import CSR
from ccassg.model import augment
from ccassg.model.encoder import gcn
from ccassg.systems.classifier import torch_csr
from ccassg.systems.encoder import GraphEncoder, PReLU, features_of, inputs, projector
from ccassg.training.products import first_product


@pytest.fixture(params=[False, True], ids=["dense", "sparse"])
def graph(request: pytest.FixtureRequest) -> Graph:
    return stochastic_block_graph(50, 2, 5.0, n_features=9, sparse_features=request.param, seed=3).graph


def dense_features(graph: Graph) -> torch.Tensor:
    x = inputs(graph)[0]
    return x.to_dense() if isinstance(x, CSR) else x


def dense_adjacency(graph: Graph) -> torch.Tensor:
    """D^-1/2 (A + I) D^-1/2, written out."""
    a = torch.from_numpy(graph.adjacency().toarray()) + torch.eye(graph.n_nodes)
    scale = a.sum(1).rsqrt()
    return scale[:, None] * a * scale


def test_our_convolution_is_pygs_and_the_dense_one(graph: Graph) -> None:
    """One layer three ways: this package's encoders, PyG's ``GCNConv`` on an edge index, and dense products."""
    pyg = pytest.importorskip("torch_geometric.nn")
    layer = pyg.GCNConv(9, 4)
    torch.nn.init.normal_(layer.bias)
    weight, bias = layer.lin.weight.detach().T, layer.bias.detach()
    ours, core = GraphEncoder((9, 4), activate_last=False), gcn((9, 4))
    for encoder in (ours, core):
        encoder.load_state_dict({"weights.0": weight, "biases.0": bias})
    x = dense_features(graph)
    edges = torch.from_numpy(np.stack(graph.adjacency().nonzero()).astype(np.int64))
    expected = dense_adjacency(graph) @ x @ weight + bias
    for result in (layer(x, edges), ours(*inputs(graph)), core(*inputs(graph))):
        assert torch.allclose(result, expected, atol=1e-5)


def test_pygs_layer_takes_sparse_features_and_adjacency() -> None:
    """What the supervised GCN relies on: values and gradients as with dense features and an edge index."""
    pyg = pytest.importorskip("torch_geometric.nn")
    graph = stochastic_block_graph(50, 2, 5.0, n_features=9, sparse_features=True, seed=3).graph
    features, a = sparse.from_scipy(graph.features), inputs(graph)[1]
    layer = pyg.GCNConv(9, 4, normalize=False)
    edges = torch.stack([a.indices.long(), sparse.row_ids(a)])
    results, gradients = [], []
    for arguments in ((torch_csr(features), torch_csr(a)), (features.to_dense(), edges, a.values)):
        layer.zero_grad()
        result = layer(*arguments)
        result.square().sum().backward()
        results.append(result.detach())
        gradients.append(layer.lin.weight.grad.clone())
    assert torch.allclose(*results, atol=1e-5)
    assert torch.allclose(*gradients, atol=1e-4)


def test_masking_columns_is_zeroing_them(graph: Graph) -> None:
    encoder = GraphEncoder((9, 6, 4), activation="prelu", batch_norm=True)
    features, a = inputs(graph)
    keep = torch.arange(9) % 3 != 0
    assert torch.allclose(encoder(features, a, keep), encoder(dense_features(graph) * keep, a), atol=1e-6)


def test_gradient_reaches_every_parameter(graph: Graph) -> None:
    encoder = GraphEncoder((9, 6, 4), activation="prelu", batch_norm=True)
    encoder(*inputs(graph)).square().sum().backward()
    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all()


def test_rrelu_is_the_evaluation_mode_of_torchs() -> None:
    x = torch.linspace(-2, 2, 9)
    graph = Graph(np.zeros(10, np.int64), np.zeros(0, np.int32), features=x.numpy()[:, None])
    encoder = GraphEncoder((1, 1), activation="rrelu")
    encoder.load_state_dict({"weights.0": torch.ones(1, 1), "biases.0": torch.zeros(1)})
    a = augment.normalized(graph)
    expected = torch.nn.functional.rrelu(x, training=False)
    assert torch.allclose(encoder(x[:, None], a)[:, 0], expected, atol=1e-6)


def test_unknown_activation() -> None:
    with pytest.raises(ValueError, match="activation must be one of relu, prelu, elu, rrelu, got 'swish'"):
        GraphEncoder((3, 2), activation="swish")


def test_features_are_dense_where_that_is_faster() -> None:
    for n_stored, form in ((1, CSR), (5, torch.Tensor)):
        x = np.zeros((4, 9), np.float32)
        x[:, :n_stored] = 1
        graph = Graph(np.zeros(5, np.int64), np.zeros(0, np.int32), features=sp.csr_array(x))
        features = features_of(graph)
        assert isinstance(features, form)
        assert np.array_equal(features.to_dense(), x)


def test_shuffled_projections_are_projections_of_shuffled_features(graph: Graph) -> None:
    encoder = GraphEncoder((9, 6, 4), activation="prelu")
    features, a = inputs(graph)
    order = torch.randperm(graph.n_nodes, generator=torch.Generator().manual_seed(0))
    result = encoder.propagate(encoder.project(features)[order], a)
    expected = encoder(dense_features(graph)[order], a)
    assert not torch.allclose(expected, encoder(features, a), atol=1e-2)
    assert torch.allclose(result, expected, atol=1e-6)


@pytest.mark.parametrize("dims", [(9, 4), (9, 6, 4)])
def test_some_nodes_are_embedded_as_among_all(graph: Graph, dims: tuple[int, ...]) -> None:
    encoder = GraphEncoder(dims)
    features, a = inputs(graph)
    nodes = torch.tensor([7, 0, 49])
    assert torch.allclose(encoder(features, a, nodes=nodes), encoder(features, a)[nodes], atol=1e-6)


def test_prelu_is_torchs() -> None:
    x = torch.randn(7, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x[0, 0] = 0
    results = []
    for layer in (PReLU(dtype=torch.float64), torch.nn.PReLU(dtype=torch.float64)):
        given = x.clone().requires_grad_()
        y = layer(given.T)
        (y * y.cos()).sum().backward()
        assert given.grad is not None
        assert layer.weight.grad is not None
        results.append((y.detach(), given.grad, layer.weight.grad))
    for ours, torchs in zip(*results, strict=True):
        assert torch.allclose(ours, torchs)


def test_projector_shape() -> None:
    head = projector((4, 8, 3), "relu", batch_norm=True)
    assert [type(layer).__name__ for layer in head] == ["Linear", "BatchNorm1d", "ReLU", "Linear"]
    assert head(torch.ones(5, 4)).shape == (5, 3)


@pytest.mark.parametrize("rates", [(0.3, 0.5), (0.4, 0.0), (0.0, 0.0)])
@pytest.mark.parametrize("subset", [None, [7, 0, 49]])
def test_both_views_at_once_are_each_by_itself(
    graph: Graph, rates: tuple[float, float], subset: list[int] | None
) -> None:
    encoder = GraphEncoder((9, 6, 4), activation="prelu")
    nodes = None if subset is None else torch.tensor(subset)
    edges = augment.edge_structure(graph)
    a = [augment.drop_edges(edges, 0.3, seed=0, step=1, view=v) for v in (0, 1)]
    keeps = [augment.mask_features(9, rate, seed=0, step=1, view=v) for v, rate in enumerate(rates)]
    product = first_product(sparse.from_scipy(graph.features) if sp.issparse(graph.features) else dense_features(graph))
    results = []
    for h1, h2 in (
        encoder.both(((product, a[0], keeps[0]), (product, a[1], keeps[1])), nodes=nodes),
        [encoder(features_of(graph), a[v], keeps[v], nodes=nodes) for v in (0, 1)],
    ):
        encoder.zero_grad()
        (h1.cos() * h2.exp()).sum().backward()
        results.append([h1, h2, *(parameter.grad for parameter in encoder.parameters())])
    for ours, expected in zip(*results, strict=True):
        assert torch.allclose(ours, expected, atol=1e-5)
