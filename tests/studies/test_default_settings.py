"""The automatic settings beside simpler things."""

import numpy as np
import pytest

from ccassg.datasets import load_dataset, stochastic_block_graph
from ccassg.estimator import CCASSG
from ccassg.experiments.summary import summarize
from fake_records import fake_record
from studies import default_settings

GRAPH = {"n_nodes": 150, "n_classes": 3, "mean_degree": 6, "homophily": 0.8, "n_features": 12}


def test_the_default_names_no_setting():
    assert default_settings.CONTESTANTS["default"](64, 3).get_params() == CCASSG(random_state=3).get_params()


def test_every_contestant_is_scored_on_one_split_by_every_probe():
    run = {"graph": GRAPH, "dataset": "synthetic", "epochs": 20, "seed": 0}
    found = default_settings.score_all(run, None)["probes"]
    assert set(found) == set(default_settings.CONTESTANTS)
    for probes in found.values():
        assert set(probes) == {"paper's", "paper's, a tenth of the rate", "convex"}
        assert all(0 < value <= 1 for scores in probes.values() for value in scores.values())
    one = default_settings.score_contestant(run | {"contestant": "default"}, stochastic_block_graph(**GRAPH, seed=0))
    assert one["probes"] == found["default"]


def test_other_splits_are_like_the_public_one():
    data = load_dataset("cora")
    public, drawn = data.public_split, default_settings.redrawn_split(data.y, 20, 0)
    for part in ("train", "val", "test"):
        assert len(getattr(drawn, part)) == len(getattr(public, part))
    assert np.bincount(data.y[drawn.train]).tolist() == [20] * 7
    assert len(np.unique(np.concatenate([drawn.train, drawn.val, drawn.test]))) == 140 + 500 + 1000
    run = {"dataset": "cora", "epochs": 20, "n_per_class": 20}
    found = [default_settings.score_other_splits(run | {"seed": s}, data) for s in (0, 1)]
    assert set(found[0]["probes"]) == {"A X", "A^2 X", "A^4 X", "CCA-SSG, preset", "default"}
    assert found[0] != found[1]  # averaged features are the same for both; the splits are not
    assert default_settings._other_rows({"Cora": [{"result": one} for one in found]})[0][""] == "A X"


def test_the_probe_is_chosen_on_validation():
    probes = [{"paper's": {"val": 0.5, "test": 0.9}, "convex": {"val": 0.6, "test": 0.1}}] * 2
    assert default_settings._best(probes) == [10.0, 10.0]


def test_five_seeds_from_unlike_to_like_neighbours():
    experiment = default_settings.STUDY
    runs = experiment.runs(experiment.plan(datasets=["synthetic"]))
    assert len({run["seed"] for run in runs}) == 5
    assert {run["graph"]["homophily"] for run in runs} >= {0.1, 0.9}


def test_new_nodes_are_scored_with_and_without_their_edges():
    data = stochastic_block_graph(400, 3, 8.0, 0.9, n_features=16, feature_noise=0.9, seed=0)
    found = default_settings.score_new_nodes({"seed": 0}, data)["test_accuracy"]
    assert found["default, with edges"] > found["default, without edges"] > 1 / 3
    assert found["raw features, with edges"] == found["raw features, without edges"]


def test_scores_that_are_not_of_splits_are_left_out_of_the_summary():
    runs = default_settings.cells(default_settings.STUDY.plan(datasets=("cora",), n_seeds=1))
    records = [fake_record(run) | {"result": {"test_accuracy": {"default": 0.8}}} for run in runs["new nodes", "cora"]]
    (made,) = summarize("default-settings", records)["results"]
    assert (made["task"], "mean" in made) == ("default-new-nodes", False)


def test_the_cost_is_measured_in_turns():
    data = stochastic_block_graph(100, 3, 6.0, n_features=16, seed=0)
    taken = default_settings.time_fits({"rounds": 2, "dataset": "citeseer"}, data)["fit_seconds"]
    assert {name: len(seconds) for name, seconds in taken.items()} == {"default": 2, "preset": 2}
    assert np.min([*taken["default"], *taken["preset"]]) > 0


def test_graphs_of_others_are_asked_for_by_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("CCASSG_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="set CCASSG_DATA"):
        default_settings.own_graph("acm")


def test_the_large_graph_is_judged_by_the_convex_probe_alone():
    plan = default_settings.STUDY.plan(datasets=("wordnet",), n_seeds=2)
    assert {cell: len(runs) for cell, runs in default_settings.cells(plan).items()} == {
        ("default", "wordnet"): 2,
        ("raw features", "wordnet"): 2,
    }
    data = load_dataset("cora")
    run = {"dataset": "wordnet", "epochs": 20, "seed": 0}
    assert list(default_settings._probed(data.graph.features, data, run, data.split(0))) == ["convex"]
