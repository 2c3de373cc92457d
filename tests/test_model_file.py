"""Saved models of every system: what is in the files, and what is refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from ccassg import CCASSG
from ccassg.graph import Graph
from ccassg.systems import load, make
from ccassg.systems.grace import GRACE
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


def test_parameters_come_back_as_they_were(folder: Path) -> None:
    model = GRACE.load(folder)
    assert model.edge_drop_rate == (0.1, 0.2)
    assert model.random_state == 5
    assert len(model.history_["loss"]) == 2


def test_nothing_in_it_is_a_pickle(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "config.json", "model.safetensors"]
    config = json.loads((folder / "config.json").read_text())
    assert config["format"] == 6
    assert config["method"] == "GRACE"
    assert config["features"] == {"n_features": 6, "names": None, "scaling": None, "edges": None, "idf": None}
    assert {"parameters", "state", "history", "fit_seconds", "versions", "weights_sha256"} < config.keys()


@pytest.mark.parametrize(("name", "use"), [("grace", "model.transform(graph)"), ("gcn", "model.predict(graph)")])
def test_the_card_says_what_it_is_for(name: str, use: str, graph: Graph, tmp_path: Path) -> None:
    model = make(name, n_steps=1)
    (model.fit(graph) if name == "grace" else model.fit(graph, np.arange(30) % 2)).save(tmp_path)
    card = (tmp_path / "README.md").read_text()
    assert f"A fitted {type(model).__name__}" in card
    assert "nodes with 6 features" in card
    assert use in card
    assert "| learning_rate |" in card


def test_earlier_formats_are_to_be_fitted_again(folder: Path, ours: Path) -> None:
    for model in (folder, ours):
        for earlier in (1, 2, 3, 4, 99, None, [4]):
            change(model, "format", to=earlier)
            with pytest.raises(ValueError, match=r"has format .*, and this version reads 6; fit the model again"):
                load(model)


def test_altered_weights(folder: Path, ours: Path) -> None:
    for path in (folder / "model.safetensors", ours / "model.safetensors"):
        good = path.read_bytes()
        for bad in (good[:-4], good + b"x", good[:-1] + b"x", b""):
            path.write_bytes(bad)
            with pytest.raises(ValueError, match="was altered: the hash differs"):
                load(path.parent)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["raw-features", "linear-cca", "deepwalk", "grace", "bgrl", "cca-ssg", "gcn"])
def test_weights_that_are_not_finite(name: str, value: float, graph: Graph, tmp_path: Path) -> None:
    model = make(name, **({"n_steps": 1} if name in ("grace", "bgrl", "gcn") else {}))
    model.fit(graph, *([np.arange(30) % 2] if name == "gcn" else [])).save(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    for key in [key for key in weights if weights[key].numel() and weights[key].is_floating_point()]:
        damaged = {other: x.clone() for other, x in weights.items()}
        damaged[key].view(-1)[-1] = value
        save_file(damaged, tmp_path / "model.safetensors")
        digest = hashlib.sha256((tmp_path / "model.safetensors").read_bytes()).hexdigest()
        change(tmp_path, "weights_sha256", to=digest)
        with pytest.raises(
            ValueError, match=rf"config.json belongs to weights that are not finite \({key}\); fit the model"
        ):
            load(tmp_path)


def test_number_of_features_that_the_weights_do_not_have(folder: Path, ours: Path) -> None:
    for model in (folder, ours):
        change(model, "features", "n_features", to=10**9)
        with pytest.raises(ValueError, match="do not fit its config"):
            load(model)


@pytest.mark.parametrize(("name", "parameter"), [("untrained-gcn", "n_layers"), ("chebnet", "n_terms")])
def test_depths_that_nobody_builds(name: str, parameter: str, graph: Graph, tmp_path: Path) -> None:
    model = make(name, hidden_dim=4)
    (model.fit(graph) if name == "untrained-gcn" else model.fit(graph, np.arange(30) % 2)).save(tmp_path)
    change(tmp_path, "parameters", parameter, to=10**9)
    with pytest.raises(ValueError, match=f"do not fit its config: {parameter} must be at most"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("dims", [6, 9, 4]),
        ("dims", [6, 10**12, 4]),
        ("dims", [6]),
        ("dims", [6, -8, 4]),
        ("dims", "wide"),
        ("batch_norm", True),
    ],
)
def test_shapes_that_the_encoder_does_not_have(ours: Path, key: str, value: Any) -> None:
    change(ours, "state", "encoder", key, to=value)
    with pytest.raises(ValueError, match="do not fit its config"):
        CCASSG.load(ours)


@pytest.mark.parametrize("settings", [[[None, None]], [], "wide", None])
def test_settings_that_are_no_object(ours: Path, settings: Any) -> None:
    change(ours, "state", "settings", to=settings)
    with pytest.raises(ValueError, match="do not fit its config: settings must be an object"):
        CCASSG.load(ours)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("widths", [5, 5]),
        ("widths", [5, 5, -5]),
        ("widths", [5, 5, 10**12]),
        ("widths", None),
        ("hops", []),
        ("hops", [1, 2]),
        ("hops", [0, 2, 1]),
        ("hops", [0, 10**6]),
        ("n_features", 7),
        ("n_features", -1),
    ],
)
def test_shapes_that_canonical_directions_do_not_have(graph: Graph, tmp_path: Path, key: str, value: Any) -> None:
    CCASSG(random_state=0).fit(graph).save(tmp_path)
    CCASSG.load(tmp_path)
    change(tmp_path, "state", "encoder", key, to=value)
    with pytest.raises(ValueError, match="do not fit its config"):
        CCASSG.load(tmp_path)


@pytest.mark.parametrize("place", ["parameters", "state", "history", "features", "fit_seconds"])
@pytest.mark.parametrize("value", [[1], "x", None])
def test_parts_of_another_kind(folder: Path, ours: Path, place: str, value: Any) -> None:
    for model in (folder, ours):
        change(model, place, to=value)
        with pytest.raises(ValueError, match="not a model's config"):
            load(model)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("n_features", -1, "n_features must be a count"),
        ("n_features", "6", "n_features must be a count"),
        ("n_features", True, "n_features must be a count"),
        ("names", ["a", "b"], "there must be 6 feature names, one per feature, got 2"),
        ("names", [1] * 6, "must be a list of text"),
        ("names", "abcdef", "must be a list of text"),
        ("names", ["a", "b", "c", "d", "e", "\ud800"], "must be a list of text"),
        ("scaling", {"means": [0] * 6, "deviations": [1] * 5}, "must hold 6 deviations, one per feature, got 5"),
        ("scaling", {"means": [float("nan")] * 6, "deviations": [1] * 6}, "must hold finite numbers, got 'nan'"),
        ("scaling", {"means": [0] * 6, "deviations": [-1] * 6}, "must hold no negative deviation"),
        ("edges", 7, "must be text"),
    ],
)
def test_features_that_do_not_fit_together(folder: Path, key: str, value: Any, message: str) -> None:
    change(folder, "features", key, to=value)
    with pytest.raises(ValueError, match=message):
        load(folder)


@pytest.mark.parametrize("text", ["{", "[]", '{"method": "GRACE"}', "\udcff", '{"a":' * 100_000])
def test_a_config_that_is_none(folder: Path, text: str) -> None:
    (folder / "config.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match="is not a model's config"):
        load(folder)


def test_a_system_that_is_none(folder: Path) -> None:
    change(folder, "method", to="os.system")
    with pytest.raises(ValueError, match=r"names the system 'os.system', which this version does not know"):
        load(folder)


def test_no_folder(tmp_path: Path) -> None:
    for read in (load, GRACE.load, CCASSG.load):
        with pytest.raises(
            ValueError, match=r"nothing holds no model: there is no such folder; make one with: ccassg fit"
        ):
            read(tmp_path / "nothing")
        with pytest.raises(ValueError, match=r"holds no model: config.json and model.safetensors must be there"):
            read(tmp_path)


def test_only_an_earlier_model_is_replaced(ours: Path, tmp_path: Path) -> None:
    model = CCASSG.load(ours)
    model.save(ours)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "README.md").write_text("my thesis")
    with pytest.raises(ValueError, match="mine holds files that ccassg is not known to have written"):
        model.save(tmp_path / "mine")
    assert (tmp_path / "mine" / "README.md").read_text() == "my thesis"
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["README.md"]
    (ours / "README.md").write_text("my notes on this model")
    with pytest.raises(ValueError, match=r"README\.md is not as ccassg wrote it; move it away, or name another folder"):
        model.save(ours)
    assert (ours / "README.md").read_text() == "my notes on this model"
