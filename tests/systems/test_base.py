"""What embedders and classifiers have from their base, shown on the smallest ones that there can be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.exceptions import NotFittedError
from torch import Tensor, nn

from ccassg.datasets import stochastic_block_graph
from ccassg.graph import Dataset, Graph
from ccassg.systems import METHODS, make
from ccassg.systems.base import Classifier, Embedder, NetworkEmbedder, Patience, check_labels, dense
from ccassg.training.settings import OnStep

CLASSIFIERS = [name for name, method in METHODS.items() if method.kind == "classifier"]


@pytest.fixture(scope="module")
def data() -> Dataset:
    return stochastic_block_graph(60, 3, 6.0, 0.9, n_features=12, feature_noise=0.3, seed=2)


class Doubled(Embedder):
    def _embed(self, graph: Graph) -> Any:
        return np.asfortranarray(2.0 * graph.features)


@dataclass(kw_only=True, eq=False, repr=False)
class Descent(NetworkEmbedder):
    """One weight per feature, drawn towards 1; the loss as reported falls for three steps, then rises."""

    patience: Patience = None

    def _module(self) -> nn.Module:
        return nn.Linear(self.n_features_in_, 1, bias=False)

    def _losses(self, graph: Graph) -> Callable[[int], Tensor]:
        def loss_at(step: int) -> Tensor:
            pull: Tensor = (self.module_.weight - 1).square().sum()
            return pull - pull.detach() + abs(step - 3)

        return loss_at

    def _embed(self, graph: Graph) -> Any:
        return self.module_(torch.from_numpy(graph.features).float())


class Majority(Classifier):
    """Predicts the most frequent class, and remembers what it was given."""

    def _fit(self, graph: Graph, y: Tensor, train: Tensor, validation: Tensor, on_step: OnStep | None) -> list[float]:
        self.given_ = y[train].tolist(), train.tolist(), y[validation].tolist(), validation.tolist()
        self.shares_ = torch.bincount(y[train], minlength=len(self.classes_)) / len(train)
        return [0.5]

    def _scores(self, graph: Graph) -> Tensor:
        return self.shares_.expand(graph.n_nodes, -1)


def test_an_embedding_is_a_plain_array(data: Dataset) -> None:
    model = Doubled(random_state=3)
    with pytest.raises(NotFittedError):
        model.transform(data.graph)
    z = model.fit_transform(data.graph)
    assert np.allclose(z, 2 * data.graph.features)
    assert z.dtype == np.float32
    assert z.flags.c_contiguous
    assert model.seed_ == 3
    assert model.history_ == {"loss": []}
    assert model.n_parameters_ == 0
    assert model.fit_seconds_ >= 0


def test_weights_follow_the_seed_and_leave_torchs_generator_alone(data: Dataset) -> None:
    before = torch.random.get_rng_state()
    first, again, other = (Descent(n_steps=1, random_state=seed).fit_transform(data.graph) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_network_is_trained_as_its_parameters_say(data: Dataset) -> None:
    seen: list[int] = []
    model = Descent(n_steps=6, random_state=0).fit(data.graph, on_step=lambda step, *_: seen.append(step))
    assert model.history_["loss"] == [3, 2, 1, 0, 1, 2]
    assert seen == [0, 1, 2, 3, 4, 5]
    assert model.n_parameters_ == 12
    assert not model.module_.training
    fast = Descent(n_steps=300, learning_rate=0.1, random_state=0).fit(data.graph)
    assert torch.allclose(fast.module_.weight, torch.ones(1, 12), atol=1e-2)
    patient = Descent(n_steps=300, patience=2, random_state=0).fit(data.graph)
    assert patient.history_["loss"] == [3, 2, 1, 0, 1, 2]


def test_a_classifier_trains_on_codes_and_apart_from_validation(data: Dataset) -> None:
    y = np.full(60, -1)
    y[[3, 8, 10, 20, 30]] = [42, 5, 42, 17, 5]
    model = Majority().fit(data.graph, y, validation=[30, 20])
    assert model.classes_.tolist() == [5, 17, 42]  # what is held out counts as a class too
    assert model.given_ == ([2, 0, 2], [3, 8, 10], [0, 1], [30, 20])
    assert (model.predict(data.graph) == 42).all()
    assert model.predict_proba(data.graph)[7] == pytest.approx([1 / 3, 0, 2 / 3])
    assert model.history_ == {"loss": [0.5]}
    assert Majority().fit(data.graph, y).given_[1:] == ([3, 8, 10, 20, 30], [], [])


def test_classes_keep_their_names() -> None:
    data = stochastic_block_graph(200, 3, 6.0, 0.8, n_features=20, feature_noise=0.7, seed=6)
    names = np.array([3, 10, 42])
    y = np.where(np.arange(200) < 100, names[data.y], -1)
    model = make("gcn", n_steps=30, random_state=0).fit(data.graph, y)
    assert model.classes_.tolist() == [3, 10, 42]
    assert set(model.predict(data.graph)) <= {3, 10, 42}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_labels_at_the_door(name: str, data: Dataset) -> None:
    model, n = make(name, random_state=0), data.graph.n_nodes
    y = np.where(np.arange(n) < 20, data.y, -1)
    with pytest.raises(ValueError, match="label at least one"):
        model.fit(data.graph, np.full(n, -1))
    with pytest.raises(ValueError, match="label at least one"):
        model.fit(data.graph, y, validation=np.arange(20))
    with pytest.raises(ValueError, match=rf"shape \({n},\)"):
        model.fit(data.graph, np.zeros(n - 1, int))
    with pytest.raises(ValueError, match="must be integers"):
        model.fit(data.graph, np.zeros(n))
    with pytest.raises(ValueError, match="without a label"):
        model.fit(data.graph, y, validation=[20, 21, 22])


def test_labels_become_int64() -> None:
    labels = check_labels(np.array([1, 0], np.uint8), 2)
    assert labels.dtype == np.int64
    assert labels.tolist() == [1, 0]
    assert check_labels([-1, 4, 4], 3).tolist() == [-1, 4, 4]


def test_a_matrix_becomes_dense() -> None:
    x = np.array([[0.0, 1.0], [2.0, 0.0]])
    assert dense(x) is x
    assert np.array_equal(dense(sp.csr_array(x)), x)
