"""The fast step gives the loss and gradients of the plain one: same views, autograd on the definition."""

import pytest
import scipy.sparse as sp
import torch

from ccassg import as_graph
from ccassg.graph import draws, sparse
from ccassg.model import augment
from ccassg.model.algorithm import Algorithm1, cca_ssg
from ccassg.model.encoder import Encoder
from ccassg.model.loss import Objective, cca_ssg_loss
from ccassg.training.products import SeparateProducts, first_product
from ccassg.training.rows import neighbours, take_rows
from ccassg.training.step import ExactStep, StepView
from ccassg.training.views import TwoWayEdges, needed_rows, onto, pair_layers, partners

N, F = 120, 30


@pytest.fixture(scope="module")
def graph():
    adjacency = sp.random(N, N, density=0.04, random_state=0)
    return as_graph(adjacency, sp.random(N, F, density=0.15, random_state=1, format="csr"))


def make_views(graph, n_layers, propagate, rate, dtype, nodes=None, weighted=False):
    edges = TwoWayEdges(augment.edge_structure(graph), weighted=graph.weights is not None)
    fast, plain = [], []
    for v in (0, 1):
        a, a_t = edges.drop(0.3, seed=0, step=3, view=v)
        a, a_t = (m.with_values(m.values.to(dtype)) for m in (a, a_t))
        columns = augment.mask_features(F, rate, seed=0, step=3, view=v)
        layers = [(a, a_t)] * n_layers
        if nodes is not None:
            layers = [(b, sparse.transpose(b)) for b in onto(torch.arange(N), *needed_rows(a, nodes, n_layers))]
        fast.append(StepView(columns, layers if propagate else [None] * n_layers))
        plain.append((a, columns))
    return tuple(fast), plain


def reference(encoder, x, plain, objective, nodes=None):
    """The definition: encoder(view), loss, autograd."""
    outputs = [encoder(x, a, keep_columns=columns) for a, columns in plain]
    if nodes is not None:
        outputs = [h[nodes] for h in outputs]
    terms = cca_ssg_loss(*outputs, objective)
    terms.loss.backward()
    return terms


def assert_same_gradients(encoder, expected, rtol):
    for (name, p), q in zip(encoder.named_parameters(), expected.parameters(), strict=True):
        scale = max(float(q.grad.abs().max()), 1.0 if "biases" in name else 1e-12)
        assert float((p.grad - q.grad).abs().max()) <= rtol * scale, name


@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("dims", [(F, 16), (F, 24, 16), (F, 24, 20, 16), (F, 16, 16, 16, 8), (F, 90, 80)])
@pytest.mark.parametrize("kind", ["gcn", "mlp", "gcn-norm"])
@pytest.mark.parametrize("dense", [False, True])
def test_equals_autograd_on_the_definition(graph, dense, kind, dims, rate):
    for dtype, rtol in ((torch.float64, 1e-9), (torch.float32, 2e-3)):
        propagate, norm = kind != "mlp", kind != "gcn"
        encoder, expected = (
            Encoder(dims, propagate=propagate, batch_norm=norm, seed=1).to(dtype).train() for _ in range(2)
        )
        x = sparse.from_scipy(graph.features, dtype)
        x = x.to_dense() if dense else x
        fast, plain = make_views(graph, len(dims) - 1, propagate, rate, dtype)
        objective = Objective(1e-2)
        terms = ExactStep(encoder, objective)(first_product(x), fast, N)
        torch.testing.assert_close(tuple(terms), tuple(reference(expected, x, plain, objective)), rtol=rtol, atol=rtol)
        assert_same_gradients(encoder, expected, rtol)
        for got, want in zip(encoder.buffers(), expected.buffers(), strict=True):
            torch.testing.assert_close(got, want)


def test_two_nodes_are_enough_for_batch_norm():
    x = torch.tensor([[1.0, 2.0, 0.0], [0.0, 3.0, 5.0]], dtype=torch.float64)
    encoder, expected = (Encoder((3, 5, 2), propagate=False, batch_norm=True).double().train() for _ in range(2))
    views = [StepView(None, [None, None])] * 2
    ExactStep(encoder, Objective(1e-2))(first_product(x), views, 2)
    reference(expected, x, [(None, None)] * 2, Objective(1e-2))
    for got, want in zip(encoder.buffers(), expected.buffers(), strict=True):
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize("kind", ["gcn", "mlp"])
@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_equals_algorithm_1(graph, kind, n_layers):
    """Nothing of ours in the reference: the paper's lines in plain PyTorch, on the same views."""
    plain_graph = as_graph(graph.adjacency().astype(bool), graph.features)
    settings = {"encoder": kind, "n_layers": n_layers, "hidden_dim": 24, "embedding_dim": 16, "learning_rate": 1e-3}
    algorithm = Algorithm1(plain_graph, settings)
    algorithm.f.double()
    encoder = Encoder((F, *[24] * (n_layers - 1), 16), propagate=kind == "gcn", batch_norm=kind == "mlp").double()
    with torch.no_grad():
        for i, layer in enumerate(algorithm.layers):
            encoder.weights[i].copy_(layer.weight.T)
            encoder.biases[i].copy_(layer.bias)
    fast, plain = make_views(plain_graph, n_layers, kind == "gcn", 0.3, torch.float64)
    features = torch.tensor(plain_graph.features.toarray(), dtype=torch.float64)
    outputs = [
        algorithm.encode(a.to_dense().to_sparse_csr() if kind == "gcn" else None, features * columns)
        for a, columns in plain
    ]
    loss = cca_ssg(*outputs, 1e-2)
    loss.backward()
    terms = ExactStep(encoder, Objective(1e-2))(
        first_product(sparse.from_scipy(plain_graph.features, torch.float64)), fast, N
    )
    torch.testing.assert_close(terms.loss, loss.detach())
    for i, layer in enumerate(algorithm.layers):
        torch.testing.assert_close(encoder.weights[i].grad, layer.weight.grad.T)


@pytest.mark.parametrize("dims", [(F, 6), (F, 8, 6)])
@pytest.mark.parametrize("dense", [False, True])
def test_graphs_of_more_than_one_block_of_rows(dims, dense):
    n = 2 * sparse.BLOCK_ROWS + 100
    large = as_graph(
        sp.random(n, n, density=2 / n, random_state=0), sp.random(n, F, 0.15, random_state=1, format="csr")
    )
    encoder, expected = (Encoder(dims, propagate=True, batch_norm=False, seed=1).double() for _ in range(2))
    x = sparse.from_scipy(large.features, torch.float64)
    x = x.to_dense() if dense else x
    fast, plain = make_views(large, len(dims) - 1, True, 0.3, torch.float64)
    ExactStep(encoder, Objective(1e-2))(first_product(x), fast, n)
    reference(expected, x, plain, Objective(1e-2))
    assert_same_gradients(encoder, expected, 1e-9)


@pytest.mark.parametrize("weights", [(1.0, 0.0), (0.0, 1e-2)])
def test_ablated_objectives(graph, weights):
    objective = Objective(decorrelation=weights[1], invariance=weights[0])
    encoder, expected = (Encoder((F, 8, 6), propagate=True, batch_norm=False, seed=1).double() for _ in range(2))
    x = sparse.from_scipy(graph.features, torch.float64)
    fast, plain = make_views(graph, 2, True, 0.2, torch.float64)
    ExactStep(encoder, objective)(first_product(x), fast, N)
    reference(expected, x, plain, objective)
    assert_same_gradients(encoder, expected, 1e-9)


@pytest.mark.parametrize("propagate", [True, False])
@pytest.mark.parametrize("dims", [(F, 6), (F, 8, 6), (F, 8, 7, 6)])
def test_loss_on_some_nodes_equals_the_loss_of_those_rows(graph, propagate, dims):
    nodes = draws.sample_nodes(N, 40, seed=0, step=0)
    encoder, expected = (Encoder(dims, propagate=propagate, batch_norm=False, seed=1).double() for _ in range(2))
    x = sparse.from_scipy(graph.features, torch.float64)
    fast, plain = make_views(graph, len(dims) - 1, propagate, 0.2, torch.float64, nodes)
    features = first_product(x) if propagate else first_product(x).rows(nodes)
    ExactStep(encoder, Objective(1e-2))(features, fast, 40)
    reference(expected, x, plain, Objective(1e-2), nodes)
    assert_same_gradients(encoder, expected, 1e-9)


def test_views_with_features_of_their_own(graph):
    x1 = sparse.from_scipy(graph.features, torch.float64)
    x2 = x1.with_values(2 * x1.values + 1)
    encoder, expected = (Encoder((F, 8, 6), propagate=True, batch_norm=False, seed=1).double() for _ in range(2))
    fast, plain = make_views(graph, 2, True, 0.2, torch.float64)
    ExactStep(encoder, Objective(1e-2))(SeparateProducts([first_product(x1), first_product(x2)]), fast, N)
    outputs = [expected(x, a, keep_columns=c) for x, (a, c) in zip((x1, x2), plain, strict=True)]
    cca_ssg_loss(*outputs, Objective(1e-2)).loss.backward()
    assert_same_gradients(encoder, expected, 1e-9)


@pytest.mark.parametrize("dims", [(F, 6), (F, 8, 6), (F, 8, 7, 6)])
@pytest.mark.parametrize("rate", [0.0, 0.4])
@pytest.mark.parametrize("n_loss", [N, 40])
@pytest.mark.parametrize("dense", [False, True])
def test_pairs_of_neighbours_equal_the_definition(graph, dense, n_loss, rate, dims):
    """Z1 = f(x_i, mask 1) and Z2 = f(x_j(i), mask 2), through one MLP."""
    nodes = draws.sample_nodes(N, n_loss, seed=0, step=3)
    drawn = partners(neighbours(graph)[0], nodes, seed=0, step=3)
    for dtype, rtol in ((torch.float64, 1e-9), (torch.float32, 2e-3)):
        encoder, expected = (Encoder(dims, propagate=False, batch_norm=True, seed=1).to(dtype) for _ in range(2))
        x = sparse.from_scipy(graph.features, dtype)
        x = x.to_dense() if dense else x
        columns = [augment.mask_features(F, rate, seed=0, step=3, view=v) for v in (0, 1)]
        needed, layers = pair_layers(nodes, drawn, len(dims) - 1, torch.device("cpu"))
        views = tuple(StepView(c, in_precision(each, dtype)) for c, each in zip(columns, layers, strict=True))
        terms = ExactStep(encoder, Objective(1e-2))(first_product(x).rows(needed), views, n_loss)
        outputs = [expected(take_rows(x, w), keep_columns=c) for w, c in zip((nodes, drawn), columns, strict=True)]
        wanted = cca_ssg_loss(*outputs, Objective(1e-2))
        wanted.loss.backward()
        torch.testing.assert_close(tuple(terms), tuple(wanted), rtol=rtol, atol=rtol)
        assert_same_gradients(encoder, expected, rtol)
        for got, want in zip(encoder.buffers(), expected.buffers(), strict=True):
            torch.testing.assert_close(got, want)


def in_precision(layers, dtype):
    return [each and tuple(m.with_values(m.values.to(dtype)) for m in each) for each in layers]


def test_dead_units_and_constant_outputs_have_finite_gradients(graph):
    encoder = Encoder((F, 8, 6), propagate=True, batch_norm=False, seed=1)
    with torch.no_grad():
        encoder.biases[0].fill_(-100.0)  # every hidden unit is off
    fast, _ = make_views(graph, 2, True, 0.2, torch.float32)
    terms = ExactStep(encoder, Objective(1e-2))(first_product(sparse.from_scipy(graph.features)), fast, N)
    assert torch.isfinite(terms.loss)
    assert float(terms.decorrelation) == 12.0  # each of six columns misses its 1, in both views
    assert all(torch.isfinite(p.grad).all() for p in encoder.parameters())
