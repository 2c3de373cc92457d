"""DGI's loss against its definition."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from ccassg.datasets import stochastic_block_graph
from ccassg.graph import Graph
from ccassg.systems.dgi import DGI
from ccassg.systems.encoder import inputs


@pytest.fixture(scope="module")
def graph() -> Graph:
    return stochastic_block_graph(40, 2, 5.0, n_features=7, seed=3).graph


@pytest.fixture
def model(graph: Graph) -> DGI:
    return DGI(embedding_dim=6, n_steps=1, random_state=0).fit(graph)


def cross_entropy(real: Tensor, corrupted: Tensor) -> Tensor:
    """Of the scores (n,) of real nodes, which should be high, and of corrupted ones, which should be low."""
    return -torch.log(torch.sigmoid(real)).mean() - torch.log(1 - torch.sigmoid(corrupted)).mean()


def test_the_loss_of_given_embeddings_by_hand() -> None:
    model = DGI(embedding_dim=2)
    model.n_features_in_ = 3
    module = model._module()
    with torch.no_grad():
        module.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 2.0]]))
    real, corrupted = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[0.0, 0.0], [-1.0, 0.0]])
    # With the summary s = (1, 1/2) a node h scores h' W s = h1 + h2: 1 and 1, then 0 and -1.
    loss = module.loss(real, corrupted, torch.tensor([1.0, 0.5])).item()
    expected = math.log(1 + math.exp(-1)) + (math.log(2) + math.log(1 + math.exp(-1))) / 2
    assert loss == pytest.approx(expected, rel=1e-6)


def test_the_loss_is_that_of_shuffled_features(graph: Graph, model: DGI) -> None:
    encoder, weight = model.module_.encoder, model.module_.weight
    _, a = inputs(graph)
    x, dense_a = torch.from_numpy(graph.features).float(), a.to_dense()

    def embed(features: Tensor) -> Tensor:
        h = dense_a @ features @ encoder.weights[0] + encoder.biases[0]
        return torch.where(h > 0, h, encoder.activations[0].weight * h)

    with torch.random.fork_rng():
        torch.manual_seed(5)
        order = torch.randperm(40)
        torch.manual_seed(5)
        loss = model._loss(*inputs(graph))
    real, corrupted = embed(x), embed(x[order])
    direction = weight @ torch.sigmoid(real.mean(0))
    assert loss.item() == pytest.approx(cross_entropy(real @ direction, corrupted @ direction).item(), rel=1e-5)
    assert torch.allclose(torch.from_numpy(model.transform(graph)), real, atol=1e-5)


def test_training_leaves_the_loss_of_a_coin() -> None:
    graph = stochastic_block_graph(100, 2, 8.0, 0.9, n_features=7, feature_noise=0.3, seed=3).graph
    model = DGI(embedding_dim=16, n_steps=60, learning_rate=1e-2, random_state=0).fit(graph)
    coin = 2 * math.log(2)  # real and corrupted nodes score 0
    with torch.no_grad():
        model.module_.weight.zero_()
    assert model._loss(*inputs(graph)).item() == pytest.approx(coin, rel=1e-6)
    assert min(model.history_["loss"]) < 0.9 * coin
