from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ccassg.datasets import stochastic_block_graph
from ccassg.systems import load, make
from ccassg.systems.dgi import DGI
from ccassg.systems.grace import GRACE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    graph = stochastic_block_graph(30, 2, 4.0, n_features=6).graph
    model = make("grace", hidden_dim=8, embedding_dim=4, n_steps=2, edge_drop_rate=(0.1, 0.2), random_state=5)
    model.fit(graph).save(tmp_path)
    return tmp_path


def test_parameters_come_back_as_they_were(folder: Path) -> None:
    model = GRACE.load(folder)
    assert model.edge_drop_rate == (0.1, 0.2)
    assert model.random_state == 5
    assert len(model.history_["loss"]) == 2


def test_nothing_in_it_is_a_pickle(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors"]
    assert json.loads((folder / "config.json").read_text())["method"] == "GRACE"


def test_another_class(folder: Path) -> None:
    with pytest.raises(ValueError, match="holds a GRACE, not a DGI"):
        DGI.load(folder)


def test_altered_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(ValueError, match="was altered"):
        load(folder)


def test_weights_that_do_not_fit(folder: Path) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config["parameters"]["hidden_dim"] = 9
    path.write_text(json.dumps(config))
    with pytest.raises(ValueError, match="do not fit its config"):
        load(folder)


@pytest.mark.parametrize("text", ["{", "[]", '{"method": "GRACE"}', "\udcff", '{"method": "Nobody"}'])
def test_a_config_that_is_none(folder: Path, text: str) -> None:
    (folder / "config.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match="config"):
        load(folder)


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no model"):
        load(tmp_path / "nothing")
    with pytest.raises(ValueError, match="holds no model"):
        GRACE.load(tmp_path / "nothing")


def test_a_seed_that_nobody_gave_is_saved(tmp_path: Path) -> None:
    graph = stochastic_block_graph(30, 2, 4.0, n_features=6).graph
    model = make("untrained-gcn", hidden_dim=8, embedding_dim=4).fit(graph)
    model.save(tmp_path)
    again = load(tmp_path)
    assert np.array_equal(again.fit(graph).transform(graph), model.transform(graph))
