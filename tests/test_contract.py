"""What every system keeps to, CCA-SSG included: one interface, one seed one result, clear refusals."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone

import traces
from ccassg import as_graph, linear_probe
from ccassg.datasets import stochastic_block_graph
from ccassg.graph import Dataset, Graph
from ccassg.system import System
from ccassg.systems import METHODS, get_class, load, make, presets

# Small and short, so that the whole contract takes seconds; never weaker in kind.
BRIEF: dict[str, dict[str, Any]] = {
    "untrained-gcn": {"hidden_dim": 32, "embedding_dim": 32},
    "linear-cca": {"embedding_dim": 8},
    "deepwalk": {"embedding_dim": 16, "n_walks": 10, "walk_length": 20, "window_length": 4},
    "gae": {"n_steps": 40},
    "dgi": {"embedding_dim": 32, "n_steps": 60, "learning_rate": 1e-2},
    "mvgrl": {"embedding_dim": 32, "n_steps": 60, "learning_rate": 1e-2},
    "cca-ssg": {"encoder": "gcn", "hidden_dim": 32, "embedding_dim": 16, "n_steps": 20, "decorrelation": 1e-2},
    "gcn": {"n_steps": 60},
    "mlp": {"n_steps": 60},
    "gat": {"n_steps": 40, "n_heads": 2, "learning_rate": 2e-2},
    "chebnet": {"n_steps": 40},
}
BRIEF["deepwalk-features"] = BRIEF["deepwalk"]
TWO_VIEWS = {"hidden_dim": 32, "embedding_dim": 16, "n_steps": 40, "learning_rate": 5e-3}
for _name in ("grace", "gca-degree", "gca-pagerank", "gca-eigenvector", "bgrl", "graph-barlow-twins", "vicreg"):
    BRIEF[_name] = TWO_VIEWS
BRIEF["bgrl"] = TWO_VIEWS | {"n_warmup_steps": 5, "predictor_dim": 32}
BRIEF["vicreg"] = TWO_VIEWS | {"expander_dim": 32}

EMBEDDERS = [name for name, method in METHODS.items() if method.kind == "embedder"]
CLASSIFIERS = [name for name, method in METHODS.items() if method.kind == "classifier"]
KEPT = json.loads(traces.FILE.read_text())
DETERMINISTIC = {"raw-features", "propagated-features", "hops", "label-propagation"}


def brief(name: str, **parameters: Any) -> Any:
    return make(name, **({"random_state": 0} | BRIEF.get(name, {}) | parameters))


@pytest.fixture(scope="module", params=["dense", "sparse"])
def data(request: pytest.FixtureRequest) -> Dataset:
    return stochastic_block_graph(
        300, 3, 8.0, 0.85, n_features=30, feature_noise=0.6, sparse_features=request.param == "sparse", seed=1
    )


@pytest.fixture(scope="module")
def small() -> Dataset:
    return stochastic_block_graph(60, 3, 6.0, 0.9, n_features=12, feature_noise=0.3, seed=2)


def known(dataset: Dataset) -> np.ndarray:
    """Labels of the training nodes, -1 elsewhere."""
    y = np.full_like(dataset.y, -1)
    train = dataset.split(0).train
    y[train] = dataset.y[train]
    return y


def quick(name: str, **parameters: Any) -> Any:
    """A few steps: enough for all that does not ask how good the result is."""
    model = brief(name, **parameters)
    return model.set_params(n_steps=5) if "n_steps" in model.get_params() else model


def fit(name: str, model: Any, dataset: Dataset) -> Any:
    return model.fit(dataset.graph) if name in EMBEDDERS else model.fit(dataset.graph, known(dataset))


@functools.cache
def fitted(name: str, dataset: Dataset) -> Any:
    """Fitted once for all tests that only read."""
    return fit(name, quick(name), dataset)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Threads cost more than they bring at this size."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def output(name: str, model: Any, graph: Graph | Dataset) -> np.ndarray:
    result: np.ndarray = model.transform(graph) if name in EMBEDDERS else model.predict_proba(graph)
    return result


@pytest.mark.parametrize("name", EMBEDDERS)
def test_an_embedder_beats_chance(name: str, data: Dataset) -> None:
    z = brief(name).fit_transform(data.graph)
    assert z.shape[0] == data.graph.n_nodes
    assert z.dtype == np.float32
    assert np.isfinite(z).all()
    accuracy = linear_probe(z, data.y, data.split(0), epochs=300, standardize=True).accuracy
    assert accuracy > 0.5  # chance is 1/3


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_beats_chance(name: str, data: Dataset) -> None:
    split = data.split(0)
    model = brief(name).fit(data.graph, known(data))
    predicted = model.predict(data.graph)
    assert predicted.shape == data.y.shape
    assert (predicted == data.y)[split.test].mean() > 0.5
    assert np.allclose(model.predict_proba(data.graph).sum(1), 1, atol=1e-5)


@pytest.mark.parametrize("name", METHODS)
def test_parameters_and_clone(name: str) -> None:
    model = brief(name)
    twin = clone(model)
    assert type(twin) is get_class(name)
    assert twin.get_params() == model.get_params()
    assert clone(model.set_params(random_state=7)).random_state == 7
    assert not [key for key in vars(model) if key.endswith("_")]


@pytest.mark.parametrize("name", METHODS)
def test_one_seed_one_result(name: str, small: Dataset) -> None:
    before = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002 - that it is left alone
    first, second, other = (
        output(name, fit(name, quick(name, random_state=seed), small), small.graph) for seed in (3, 3, 4)
    )
    assert np.array_equal(first, second)
    if name not in DETERMINISTIC:
        assert not np.array_equal(first, other)
    assert torch.equal(torch.random.get_rng_state(), before[0])
    assert np.array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002


@pytest.mark.parametrize("name", traces.NAMES)
def test_other_results_need_another_revision(name: str) -> None:
    assert traces.complaint(name, KEPT.get(name)) is None


def test_what_to_do_about_other_results_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, cls = KEPT["dgi"], get_class("dgi")
    changed = [[loss * (1 + by) for loss in kept["loss"]] for by in (1e-7, 1e-4)]
    assert traces.complaint("dgi", kept | {"loss": changed[0]}) is None
    assert traces.complaint("dgi", kept | {"loss": changed[1]}) == (
        "dgi gives other results than revision 1 did; if they are meant, set `revision` of ccassg.systems.dgi.DGI to 2 and run "
        "`python tests/traces.py`: its recorded runs then count as missing"
    )
    assert "other results" in traces.complaint("dgi", kept | {"loss": kept["loss"][:2]})
    monkeypatch.setattr(cls, "revision", 2)
    assert traces.complaint("dgi", kept) == (
        "tests/traces.json has no trace of dgi in revision 2: run `python tests/traces.py`"
    )


@pytest.mark.parametrize("name", METHODS)
def test_save_and_load(name: str, small: Dataset, tmp_path: Path) -> None:
    model = fitted(name, small)
    model.save(tmp_path)
    again = load(tmp_path)
    assert type(again) is type(model)
    assert np.array_equal(output(name, model, small.graph), output(name, again, small.graph))
    assert again.n_parameters_ == model.n_parameters_
    assert again.history_ == model.history_
    if name in CLASSIFIERS:
        assert np.array_equal(again.predict(small.graph), model.predict(small.graph))


@pytest.mark.parametrize("name", METHODS)
def test_what_a_system_says_of_itself(name: str) -> None:
    cls = get_class(name)
    assert issubclass(cls, System)
    assert cls.kind == METHODS[name].kind
    assert hasattr(cls, "transform" if cls.kind == "embedder" else "predict")
    taken = {method: set(inspect.signature(getattr(cls, method)).parameters) for method in ("fit", "load", "save")}
    assert {"X", "y", "on_step"} <= taken["fit"]
    assert ("checkpoint" in taken["fit"]) == ("checkpoint_every" in taken["fit"]) == cls.resumable
    if cls.kind == "embedder":
        assert ("out" in inspect.signature(cls.transform).parameters) == cls.embeds_in_blocks


@pytest.mark.parametrize("name", METHODS)
def test_every_step_is_reported_alike(name: str, small: Dataset) -> None:
    model, seen = quick(name), []
    labels = () if name in EMBEDDERS else (known(small),)
    model.fit(small.graph, *labels, on_step=lambda *given: seen.append(given))
    n_steps = model.get_params().get("n_steps", 0)
    assert [step for step, _, _ in seen] == list(range(n_steps))
    assert {total for _, _, total in seen} <= {n_steps}
    for step, losses, _ in seen:
        assert losses == {part: values[step] for part, values in model.history_.items()}
        assert {type(value) for value in losses.values()} == {float}


@pytest.mark.parametrize("name", METHODS)
def test_a_dataset_is_known_again_by_its_names(name: str, small: Dataset, tmp_path: Path) -> None:
    named = dataclasses.replace(small, feature_names=tuple(f"f{i}" for i in range(12)))
    order = np.random.default_rng(0).permutation(12)
    shuffled = dataclasses.replace(
        named,
        graph=small.graph.with_features(small.graph.features[:, order]),
        feature_names=tuple(f"f{i}" for i in order),
    )
    labels = () if name in EMBEDDERS else (known(small),)
    model = quick(name).fit(named, *labels)
    assert np.array_equal(output(name, model, named), output(name, fitted(name, small), small.graph))
    model.save(tmp_path)
    for each in (model, load(tmp_path)):
        assert each.feature_names_in_.tolist() == list(named.feature_names)
        assert each.n_features_in_ == 12
        assert each.scaling_ is None
        assert np.array_equal(output(name, each, shuffled), output(name, model, named))
        if each.needs_features:
            with pytest.raises(
                ValueError, match="lacks 12 of the 12 features used in training, first 'f0', 'f1', 'f2'"
            ):
                output(name, each, dataclasses.replace(named, feature_names=tuple("abcdefghijkl")))
    assert not hasattr(model.fit(small.graph, *labels), "feature_names_in_")


@pytest.mark.parametrize("name", METHODS)
def test_isolated_nodes(name: str, small: Dataset) -> None:
    graph = small.graph
    n = graph.n_nodes
    adjacency = sp.csr_array(
        (graph.adjacency().data, graph.indices, np.r_[graph.indptr, [graph.n_edges] * 2]), shape=(n + 2, n + 2)
    )
    features = np.vstack([graph.features, np.ones((1, 12)), np.zeros((1, 12))])
    wider = as_graph(adjacency, features)
    model = quick(name)
    if name in EMBEDDERS:
        assert np.isfinite(model.fit_transform(wider)).all()
    else:
        predicted = model.fit(wider, np.r_[known(small), -1, -1]).predict(wider)
        assert set(predicted) <= {0, 1, 2}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_one_class(name: str, small: Dataset) -> None:
    y = np.where(known(small) >= 0, 5, -1)
    assert (quick(name).fit(small.graph, y).predict(small.graph) == 5).all()


@pytest.mark.parametrize("name", [name for name in METHODS if name not in {"deepwalk", "label-propagation"}])
def test_features_are_asked_for(name: str, small: Dataset) -> None:
    bare = as_graph(small.graph.adjacency())
    with pytest.raises(ValueError, match="features"):
        quick(name).fit(bare) if name in EMBEDDERS else quick(name).fit(bare, known(small))


@pytest.mark.parametrize("name", ["deepwalk", "deepwalk-features", "gae", "label-propagation"])
def test_edges_are_asked_for(name: str, small: Dataset) -> None:
    bare = as_graph(sp.csr_array((60, 60)), small.graph.features)
    with pytest.raises(ValueError, match="edges"):
        quick(name).fit(bare) if name in EMBEDDERS else quick(name).fit(bare, known(small))


@pytest.mark.parametrize("name", [name for name in METHODS if name not in {"deepwalk", "label-propagation"}])
def test_another_width_is_refused(name: str, small: Dataset) -> None:
    model = fitted(name, small)
    other = small.graph.with_features(np.ones((60, 5)))
    with pytest.raises(ValueError, match="5 features"):
        output(name, model, other)


@pytest.mark.parametrize(
    "name", [n for n in METHODS if n not in {"deepwalk", "deepwalk-features", "label-propagation"}]
)
def test_nodes_never_seen(name: str, small: Dataset) -> None:
    part = small.graph.subgraph(np.arange(40))
    assert output(name, fitted(name, small), part).shape[0] == 40


@pytest.mark.parametrize("name", ["deepwalk", "label-propagation"])
def test_a_transductive_system_says_so(name: str, small: Dataset) -> None:
    with pytest.raises(ValueError, match="fitted on"):
        output(name, fitted(name, small), small.graph.subgraph(np.arange(40)))


@pytest.mark.parametrize("name", METHODS)
def test_presets_are_parameters(name: str) -> None:
    for dataset in presets.DATASETS:
        model = make(name, dataset, random_state=1)
        assert model.random_state == 1
        for key, value in METHODS[name].parameters.items():
            assert getattr(model, key) == value


def test_presets_apply() -> None:
    assert make("grace", "cora").temperature == 0.4
    assert make("grace", "cora", temperature=1.0).temperature == 1.0
    assert make("cca-ssg", "citeseer").n_layers == 1
    assert make("mvgrl", "physics").subgraph_nodes == 4000


def test_unknown_names() -> None:
    with pytest.raises(ValueError, match="there is no method 'grcae'; did you mean 'grace'"):
        make("grcae")
    with pytest.raises(ValueError, match="no preset for dataset 'coar'"):
        make("dgi", "coar")
    with pytest.raises(ValueError, match="dgi has no parameter 'temperature'"):
        make("dgi", temperature=1.0)


def test_optional_libraries_stay_out() -> None:
    code = (
        "import sys, ccassg, ccassg.systems; "
        "print([m for m in ('torch_geometric', 'gensim', 'ccassg.systems.base') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
