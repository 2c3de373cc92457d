"""Successive halving: halves, ranks, keeps its budget, goes on, and never reads a test node."""

import json

import numpy as np
import pytest

from ccassg import tune
from ccassg.datasets import stochastic_block_graph
from ccassg.estimator import CCASSG
from ccassg.graph.dataset import Split, random_split

OPTIONS = {"n_candidates": 4, "rungs": (2, 4), "minutes": 60}


@pytest.fixture(scope="module")
def data():
    return stochastic_block_graph(n_nodes=120, n_classes=3, mean_degree=6, homophily=0.9, n_features=20, seed=0)


def test_candidates_are_different_settings_that_fit_the_graph(data):
    found = tune.candidates(30, data.graph, seed=1)
    assert len({json.dumps(settings, sort_keys=True) for settings in found}) == 30
    assert {settings["embedding_dim"] for settings in found} == {20}
    for settings in found:
        assert (settings["edge_drop_rate"], settings["feature_mask_rate"]) != (0, 0)
        CCASSG(**settings)
    wide = stochastic_block_graph(n_nodes=600, n_features=300, seed=0).graph
    assert {settings["embedding_dim"] for settings in tune.candidates(30, wide)} == {128, 256}


def test_the_better_half_goes_on_and_the_best_is_named(data, tmp_path):
    seen = []
    found = tune.search(data.graph, tmp_path, on_trial=lambda trial, n, total: seen.append((n, total)), **OPTIONS)
    assert seen == [(i, 6) for i in range(1, 7)]
    by_rung = {n: [t for t in found["trials"] if t["n_steps"] == n] for n in (2, 4)}
    assert {n: len(trials) for n, trials in by_rung.items()} == {2: 4, 4: 2}
    better = sorted(by_rung[2], key=lambda trial: -trial["score"])[:2]
    assert {t["candidate"] for t in by_rung[4]} == {t["candidate"] for t in better}
    assert found["settings"]["n_steps"] == 4
    assert found["score"] == max(t["score"] for t in by_rung[4])
    assert found["is_complete"]
    assert tune.as_arguments({"n_steps": 4, "encoder": "gcn"}) == "--set n_steps=4 --set encoder=gcn"


def test_a_search_that_ran_out_of_time_goes_on_to_the_same_result(data, tmp_path):
    whole = tune.search(data.graph, tmp_path / "whole", **OPTIONS)
    for _ in range(20):
        found = tune.search(data.graph, tmp_path / "parts", **OPTIONS | {"minutes": 1e-9})
        if found["is_complete"]:
            break
        # Each visit may be too short for anything but what was begun; give it one training.
        state = json.loads((tmp_path / "parts" / tune.STATE).read_text())
        assert len(state["trials"]) == 1
        found = tune.search(data.graph, tmp_path / "parts", **OPTIONS)
    assert found["trials"] == whole["trials"]
    with pytest.raises(ValueError, match="belongs to another search"):
        tune.search(data.graph, tmp_path / "parts", **OPTIONS | {"seed": 1})
    (tmp_path / "parts" / tune.STATE).write_text("[]")
    with pytest.raises(ValueError, match="not the state of a search"):
        tune.search(data.graph, tmp_path / "parts", **OPTIONS)


def test_with_labels_only_training_and_validation_nodes_count(data, tmp_path):
    split = random_split(data.y, 0)
    split = Split(split.train, split.test[:40], split.test[40:])
    found = tune.search(data.graph, tmp_path / "a", y=data.y, split=split, **OPTIONS)
    assert found["criterion"] == "validation accuracy"
    blind = data.y.copy()
    blind[split.test] = -1  # whatever they are
    assert tune.search(data.graph, tmp_path / "b", y=blind, split=split, **OPTIONS)["trials"] == found["trials"]


def test_impossible_budgets_are_refused(data, tmp_path):
    with pytest.raises(ValueError, match="needs candidates and time"):
        tune.search(data.graph, tmp_path, minutes=0)
    assert np.isfinite(tune.search(data.graph, tmp_path, **OPTIONS | {"minutes": 1e-9})["score"])
