"""GAE's loss against dense products."""

from __future__ import annotations

import pytest
import torch

from ccassg.datasets import stochastic_block_graph
from ccassg.graph import Graph
from ccassg.systems.encoder import inputs
from ccassg.systems.gae import GAE


@pytest.fixture(scope="module", params=[False, True], ids=["dense", "sparse"])
def graph(request: pytest.FixtureRequest) -> Graph:
    return stochastic_block_graph(40, 2, 5.0, n_features=7, sparse_features=request.param, seed=3).graph


def dense_embedding(model: GAE, graph: Graph) -> torch.Tensor:
    """Return A relu(A X W1 + b1) W2 + b2."""
    features = graph.features if not hasattr(graph.features, "toarray") else graph.features.toarray()
    a, x = inputs(graph)[1].to_dense(), torch.from_numpy(features).float()
    (w1, w2), (b1, b2) = model.module_.encoder.weights, model.module_.encoder.biases
    return a @ torch.relu(a @ x @ w1 + b1) @ w2 + b2


def test_the_loss_is_the_cross_entropy_of_edges_and_random_pairs(graph: Graph) -> None:
    model = GAE(hidden_dim=6, embedding_dim=4, n_steps=3, random_state=0).fit(graph)
    z = dense_embedding(model, graph)
    likely = torch.sigmoid(z @ z.T)
    connected = torch.from_numpy(graph.adjacency().toarray() > 0) | torch.eye(40, dtype=torch.bool)
    with torch.random.fork_rng():
        torch.manual_seed(5)
        senders, receivers = torch.randint(40, (2, int(connected.sum())))
        torch.manual_seed(5)
        loss = model._losses(graph)(0)
    expected = -torch.log(likely[connected]).mean() - torch.log(1 - likely[senders, receivers]).mean()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)


def test_the_embedding_is_the_encoders(graph: Graph) -> None:
    model = GAE(hidden_dim=6, embedding_dim=4, n_steps=3, random_state=0).fit(graph)
    z = torch.from_numpy(model.transform(graph))
    assert z.shape == (40, 4)
    assert torch.allclose(z, dense_embedding(model, graph), atol=1e-5)


def test_edges_score_above_other_pairs_after_training(graph: Graph) -> None:
    z = GAE(n_steps=60, random_state=0).fit_transform(graph)
    scores, connected = z @ z.T, graph.adjacency().toarray() > 0
    assert scores[connected].mean() > scores[~connected].mean()
