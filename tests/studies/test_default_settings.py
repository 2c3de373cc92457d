"""The automatic settings beside the paper's and beside simpler things."""

from ccassg.datasets import stochastic_block_graph
from ccassg.estimator import CCASSG
from ccassg.experiments import tasks
from ccassg.experiments.runs import classification_run
from studies import default_settings


def test_the_default_names_no_setting_and_is_scored_like_the_preset():
    ours, paper = default_settings._default("cora", 3), classification_run("cca-ssg", "cora", 3)
    assert tasks.make_model(ours).get_params() == CCASSG(random_state=3).get_params()
    assert {name: value for name, value in ours.items() if name not in ("settings", "defaults")} == {
        name: value for name, value in paper.items() if name != "settings"
    }


def test_every_way_is_scored_on_one_split():
    graph = {"n_nodes": 150, "n_classes": 3, "mean_degree": 6, "homophily": 0.8, "n_features": 12}
    found = default_settings.embed_every_way({"graph": graph, "epochs": 20, "seed": 0}, None)["accuracy"]
    assert set(found) >= {"default", "raw features", "A^2 X", "untrained GCN", "CCA-SSG, GCN", "CCA-SSG, MLP"}
    assert all(0 <= value <= 1 for value in found.values())


def test_five_seeds_from_unlike_to_like_neighbours():
    experiment = default_settings.STUDY
    runs = experiment.runs(experiment.plan(datasets=["synthetic"]))
    assert len({run["seed"] for run in runs}) == 5
    assert {run["graph"]["homophily"] for run in runs} >= {0.1, 0.9}


def test_the_cost_is_measured_in_turns():
    data = stochastic_block_graph(100, 3, 6.0, n_features=16, seed=0)
    taken = default_settings.time_fits({"rounds": 2, "seed": 0}, data)["fit_seconds"]
    assert {name: len(seconds) for name, seconds in taken.items()} == {"default": 2, "plain": 2}
    assert min(taken["default"] + taken["plain"]) > 0
