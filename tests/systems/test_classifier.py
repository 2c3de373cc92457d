from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from ccassg.datasets import stochastic_block_graph
from ccassg.graph import Dataset, as_graph
from ccassg.graph.sparse import from_scipy
from ccassg.systems import make
from ccassg.systems.classifier import SparseLinear, TwoLayers, torch_csr
from ccassg.systems.label_propagation import LabelPropagation


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


def test_classes_keep_their_names(data: Dataset) -> None:
    names = np.array([3, 10, 42])
    y = np.where(np.arange(200) < 100, names[data.y], -1)
    model = make("gcn", n_steps=30, random_state=0).fit(data.graph, y)
    assert model.classes_.tolist() == [3, 10, 42]
    assert set(model.predict(data.graph)) <= {3, 10, 42}


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


def test_labels_spread_along_a_path() -> None:
    # 0 - 1 - 2   3 - 4   5: the first component knows class 7, the second class 9, the last node nothing.
    graph = as_graph(np.array([[0, 1, 3], [1, 2, 4]]), n_nodes=6)
    model = LabelPropagation(n_hops=10, alpha=0.9).fit(graph, np.array([7, -1, 7, -1, 9, -1]))
    assert model.predict(graph).tolist() == [7, 7, 7, 9, 9, 7]


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
