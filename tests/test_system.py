"""What all systems share: what they remember, refuse, save and load, and the seed of their initial weights."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.exceptions import NotFittedError
from torch import nn

from ccassg import CCASSG, Dataset, as_graph
from ccassg.graph import Graph
from ccassg.graph.scaling import Scaling
from ccassg.system import System, seeded, with_weights
from ccassg.systems import METHODS, get_class, load, make
from ccassg.systems.dgi import DGI
from saved_models import change, save_grace, save_ours, small_graph


@pytest.fixture(scope="module")
def graph() -> Graph:
    return small_graph()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save_grace(tmp_path)


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    return save_ours(tmp_path / "ours")


def test_table_1_of_the_paper() -> None:
    """Target, MI estimator, projector or predictor, asymmetric, negative examples, space."""
    paper = {
        "dgi": ("N-G", True, False, False, True, "O(N)"),
        "mvgrl": ("N-G", True, False, True, True, "O(N)"),
        "grace": ("N-N", False, True, False, True, "O(N^2)"),
        "gca-degree": ("N-N", False, True, False, True, "O(N^2)"),
        "bgrl": ("N-N", False, True, True, False, "O(N)"),
    }
    columns = ("target", "mi_estimator", "projector", "asymmetric", "negatives", "space")
    for name, row in paper.items():
        assert tuple(getattr(get_class(name), column) for column in columns) == row


def test_a_system_is_abstract() -> None:
    with pytest.raises(TypeError, match="_restore"):
        System()  # type: ignore[abstract]


def test_what_cannot_be_worked_on_is_refused(graph: Graph) -> None:
    bare = as_graph(sp.csr_array((30, 30)), graph.features)
    with pytest.raises(
        ValueError, match=r"^GAE learns from edges and the graph has none; use a system that reads features$"
    ):
        make("gae", n_steps=1).fit(bare)
    with pytest.raises(ValueError, match="no features and this method needs them"):
        make("raw-features").fit(as_graph(graph.adjacency()))
    with pytest.raises(NotFittedError):
        make("raw-features").save("nowhere")


def test_what_is_remembered_of_the_features(graph: Graph) -> None:
    scaling = Scaling((1.0,) * 6, (2.0,) * 6)
    data = Dataset(graph, feature_names=tuple("abcdef"), scaling=scaling)
    model = make("raw-features").fit(data)
    assert model.n_features_in_ == 6
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert model.scaling_ == scaling
    # New nodes, columns in another order and not scaled: (x - 1) / 2, in the old order.
    raw = np.arange(12.0).reshape(2, 6)
    new = Dataset(as_graph(np.array([[0], [1]]), raw[:, ::-1]), feature_names=tuple("fedcba"))
    np.testing.assert_allclose(model.transform(new), (raw - 1) / 2)
    # A plain graph is taken as it is, if it has as many.
    assert np.array_equal(model.transform(graph), np.asarray(graph.features))
    with pytest.raises(ValueError, match="5 features"):
        model.transform(graph.with_features(np.ones((30, 5))))
    assert not hasattr(model.fit(graph), "feature_names_in_")
    assert model.scaling_ is None


@pytest.mark.parametrize("name", [name for name in METHODS if METHODS[name].kind == "embedder"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_features_that_are_not_finite_are_refused_at_the_door(name: str, value: float, graph: Graph) -> None:
    """A graph that nobody checked: one made by hand, or in a store with hashes of its own."""
    features = np.array(graph.features)
    features[7, 2] = value
    damaged = dataclasses.replace(graph, features=features)
    with pytest.raises(ValueError, match=r"^features must be finite 32-bit numbers, .* the first at \(7, 2\)\)"):
        make(name).fit(damaged)
    model = make("raw-features").fit(graph)
    with pytest.raises(ValueError, match=r"the first at \(7, 2\)\)"):
        model.transform(dataclasses.replace(graph, features=sp.csr_array(features).todense()))
    with pytest.raises(ValueError, match=r"^weights must be finite"):
        model.transform(dataclasses.replace(graph, weights=np.full(graph.n_edges, value, np.float32)))


@pytest.mark.parametrize("encoder", ["canonical", "gcn", "mlp"])
def test_an_embedding_that_overflows_is_refused(encoder: str, graph: Graph, tmp_path: Path) -> None:
    model = CCASSG(encoder=encoder, random_state=0, **({} if encoder == "canonical" else {"n_steps": 2})).fit(graph)
    for value in model.encoder_.state_dict().values():
        if value.is_floating_point():
            value.fill_(3e38)
    huge = graph.with_features(np.full((30, 6), 3e38))
    for out in (None, tmp_path / "z.npy"):
        with pytest.raises(
            ValueError, match=r"^the embedding of node 0 is not finite; most likely features or edge weights"
        ):
            model.transform(huge, out=out)
    assert not list(tmp_path.iterdir())


def test_an_embedding_of_any_system_that_overflows_is_refused(graph: Graph) -> None:
    model = make("linear-cca", embedding_dim=3).fit(graph)
    assert np.isfinite(model.transform(graph)).all()
    model.weights_.fill_(1e300)
    with pytest.raises(ValueError, match="is not finite; most likely features or edge weights are extremely large"):
        model.transform(graph)


def test_trained_values_are_counted(graph: Graph) -> None:
    assert make("raw-features").fit(graph).n_parameters_ == 0
    untrained = make("untrained-gcn", hidden_dim=5, embedding_dim=3).fit(graph)
    assert untrained.n_parameters_ == (6 * 5 + 5) + (5 * 3 + 3)


def test_another_class(folder: Path) -> None:
    for other in (DGI, CCASSG):
        with pytest.raises(ValueError, match=f"holds a GRACE, not a {other.__name__}"):
            other.load(folder)


def test_parameters_that_there_are_not(folder: Path, ours: Path) -> None:
    for model in (folder, ours):
        change(model, "parameters", "colour", to="red")
        with pytest.raises(ValueError, match=r"names settings that .* does not have: colour"):
            load(model)


@pytest.mark.parametrize("parameter", ["hidden_dim", "embedding_dim", "projector_dim"])
@pytest.mark.parametrize("value", [9, 10**7, 10**12, -1, "wide", None])
def test_sizes_are_compared_before_memory_is_taken(folder: Path, parameter: str, value: Any) -> None:
    change(folder, "parameters", parameter, to=value)
    with pytest.raises(ValueError, match="do not fit its config"):
        load(folder)


@pytest.mark.parametrize("name", ["untrained-gcn", "cca-ssg"])
def test_a_seed_that_nobody_gave_is_saved(name: str, tmp_path: Path, graph: Graph) -> None:
    model = make(name, **({"encoder": "gcn"} if name == "cca-ssg" else {}), hidden_dim=8, embedding_dim=4).fit(graph)
    model.save(tmp_path)
    again = load(tmp_path)
    assert np.array_equal(again.fit(graph).transform(graph), model.transform(graph))


def test_functions_and_devices_stay_behind(tmp_path: Path, graph: Graph) -> None:
    model = CCASSG(
        encoder="gcn",
        n_steps=1,
        embedding_dim=4,
        augmentations=(lambda g, *_: g,),
        random_state=np.random.RandomState(3),
    )
    model.fit(graph).save(tmp_path)
    again = CCASSG.load(tmp_path)
    assert again.augmentations == ()
    assert again.random_state == model.seed_
    assert np.array_equal(again.transform(graph), model.transform(graph))


def test_weights_must_be_those_of_the_module() -> None:
    weights = nn.Linear(3, 2).state_dict()
    module = with_weights(lambda: nn.Linear(3, 2), weights)
    assert torch.equal(module.weight, weights["weight"])
    assert not module.training
    for n_inputs, tensors, sentence in (
        (4, weights, r"^weight has shape \(2, 3\), not \(2, 4\)$"),
        (3, {"weight": weights["weight"]}, r"^bias has shape None, not \(2,\)$"),
        (3, weights | {"more": torch.ones(1)}, r"^more has shape \(1,\), not None$"),
        (10**15, weights, r"^weight has shape \(2, 3\), not \(2, 1000000000000000\)$"),  # no memory is taken for it
    ):
        with pytest.raises(ValueError, match=sentence):
            with_weights(lambda n=n_inputs: nn.Linear(n, 2), tensors)


def test_loading_leaves_the_generator_alone() -> None:
    weights = {"weight": torch.zeros(2, 3), "bias": torch.ones(2)}
    before = torch.random.get_rng_state()
    assert with_weights(lambda: nn.Linear(3, 2), weights)(torch.ones(3)).tolist() == [1, 1]
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_seed_holds_inside_and_is_gone_afterwards() -> None:
    before = torch.random.get_rng_state()
    drawn = []
    for seed in (3, 3, 4, 3 + 2**63):
        with seeded(seed):
            drawn.append(torch.rand(4).tolist())
        assert torch.equal(torch.random.get_rng_state(), before)
    assert drawn[0] == drawn[1] == drawn[3] == torch.rand(4, generator=torch.Generator().manual_seed(3)).tolist()
    assert drawn[2] != drawn[0]
