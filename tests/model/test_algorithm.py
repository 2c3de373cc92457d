"""Algorithm 1 as written, and that the definition and the fast step compute the same: views, loss, gradients."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ccassg import as_graph
from ccassg.graph import sparse
from ccassg.model import augment
from ccassg.model.algorithm import Algorithm1, cca_ssg, normalized_adjacency
from ccassg.model.encoder import Encoder
from ccassg.model.loss import Objective, cca_ssg_loss

N, F = 40, 5
SETTINGS = {
    "encoder": "gcn", "n_layers": 2, "hidden_dim": 8, "embedding_dim": 6, "learning_rate": 1e-3,
    "decorrelation": 1e-2, "feature_mask_rate": 0.2, "edge_drop_rate": 0.3,
}  # fmt: skip


@pytest.fixture(scope="module", params=[False, True], ids=["undirected", "directed"])
def graph(request):
    pattern = sp.random(N, N, density=0.1, random_state=0) != 0
    return as_graph(pattern, np.random.default_rng(0).normal(size=(N, F)), directed=request.param)


def test_the_whole_graph_is_normalised_as_in_the_package(graph):
    algorithm = Algorithm1(graph, SETTINGS)
    whole = normalized_adjacency(algorithm.receivers, algorithm.senders, N)
    torch.testing.assert_close(whole.to_dense(), augment.normalized(graph).to_dense())


@pytest.mark.parametrize("encoder", ["gcn", "mlp"])
@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_encoder_and_loss_are_those_of_the_package(graph, encoder, n_layers):
    algorithm = Algorithm1(graph, SETTINGS | {"encoder": encoder, "n_layers": n_layers})
    dims = (F, *[8] * (n_layers - 1), 6)
    encoder = Encoder(dims, propagate=encoder == "gcn", batch_norm=encoder == "mlp").double()
    algorithm.f.double()
    with torch.no_grad():
        for i, layer in enumerate(algorithm.layers):
            encoder.weights[i].copy_(layer.weight.T)
            encoder.biases[i].copy_(layer.bias)
    views = [
        (None if g is None else g.to(torch.float64), feat.double())
        for g, feat in (algorithm.augment(), algorithm.augment())
    ]
    theirs = cca_ssg(*(algorithm.encode(g, feat) for g, feat in views), 1e-2)
    theirs.backward()
    adjacencies = [
        None if g is None else sparse.from_scipy(sp.csr_array(g.to_dense().numpy()), torch.float64) for g, _ in views
    ]
    ours = [encoder(feat, a) for (_, feat), a in zip(views, adjacencies, strict=True)]
    terms = cca_ssg_loss(*ours, Objective(1e-2))
    terms.loss.backward()
    torch.testing.assert_close(terms.loss, theirs)
    for i, layer in enumerate(algorithm.layers):
        torch.testing.assert_close(encoder.weights[i].grad.T, layer.weight.grad)


@pytest.mark.parametrize("encoder", ["gcn", "mlp"])
def test_it_learns(graph, encoder):
    algorithm = Algorithm1(graph, SETTINGS | {"encoder": encoder, "learning_rate": 1e-2})
    losses = [algorithm.step() for _ in range(60)]
    assert np.mean(losses[-10:]) < np.mean(losses[:10])


def test_the_seed_decides_and_is_0_if_none_is_given(graph):
    first, same, other = Algorithm1(graph, SETTINGS), Algorithm1(graph, SETTINGS, 0), Algorithm1(graph, SETTINGS, 1)
    assert torch.equal(first.layers[0].weight, same.layers[0].weight)
    assert not torch.equal(first.layers[0].weight, other.layers[0].weight)
