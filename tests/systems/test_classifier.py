from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from ccassg.datasets import stochastic_block_graph
from ccassg.graph import Dataset
from ccassg.graph.sparse import from_scipy
from ccassg.systems import make
from ccassg.systems.classifier import SparseLinear, TwoLayers, torch_csr


@pytest.fixture(scope="module")
def data() -> Dataset:
    return stochastic_block_graph(200, 3, 6.0, 0.8, n_features=20, feature_noise=0.7, seed=6)


def test_validation_is_not_trained_on_but_chooses(data: Dataset) -> None:
    split = data.split(0)
    y = np.full(200, -1)
    y[split.train] = data.y[split.train]
    wrong = y.copy()
    y[split.val] = data.y[split.val]
    wrong[split.val] = (data.y[split.val] + 1) % 3

    def val_accuracy(labels: np.ndarray, **kwargs: object) -> float:
        model = make("gcn", n_steps=60, random_state=0).fit(data.graph, labels, **kwargs)
        return float((model.predict(data.graph) == data.y)[split.val].mean())

    chosen = val_accuracy(y, validation=split.val)
    last = val_accuracy(np.where(np.isin(np.arange(200), split.val), -1, y))
    misled = val_accuracy(wrong, validation=split.val)
    assert chosen >= last  # every step is the same; only the one kept differs
    assert misled < chosen  # an early step is kept, but nothing wrong is learned from the labels
    assert val_accuracy(wrong) < misled  # training on them would be worse still


def test_dropout_of_sparse_features() -> None:
    graph = stochastic_block_graph(60, 2, 4.0, n_features=30, sparse_features=True).graph
    module = TwoLayers(nn.Linear(30, 4), nn.Linear(4, 2), nn.ReLU(), 0.5)
    x = torch_csr(from_scipy(graph.features))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        dropped = module.train()._drop(x)
    values = dropped.values()
    kept = values != 0
    assert torch.allclose(values[kept], 2 * x.values()[kept])
    assert 0.4 < kept.double().mean() < 0.6
    assert module.eval()._drop(x) is x


@pytest.mark.parametrize("bias", [False, True])
def test_linear_layer_on_sparse_rows_is_the_dense_one(bias: bool) -> None:
    graph = stochastic_block_graph(60, 2, 4.0, n_features=30, sparse_features=True).graph
    rows = from_scipy(graph.features)
    usual = nn.Linear(30, 4, bias=bias)
    ours = SparseLinear(usual)
    assert ours.state_dict().keys() == usual.state_dict().keys()
    results = []
    for x in (torch_csr(rows), rows.to_dense()):
        ours.zero_grad()
        y = ours(x)
        y.square().sum().backward()
        results.append((y.detach(), *(parameter.grad.clone() for parameter in ours.parameters())))
    for sparse, dense in zip(*results, strict=True):
        assert torch.allclose(sparse, dense, atol=1e-4)
    assert torch.allclose(results[0][0], usual(rows.to_dense()), atol=1e-5)
