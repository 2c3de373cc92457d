"""The runs of most tables: all that determines them, and nothing that a later version may add."""

import pytest

from ccassg.experiments.runs import OURS, classification_run, classification_runs, method_settings
from ccassg.model.presets import PRESETS
from ccassg.systems import METHODS, make


@pytest.mark.parametrize("method", METHODS)
def test_a_run_makes_the_published_system(method):
    settings = method_settings(method, "cora")
    published = make(method, "cora")
    model = make(method, **settings)
    for name, value in published.get_params().items():
        made = getattr(model, name)
        assert made == value or list(made) == list(value), name
    assert "random_state" not in settings


def test_our_runs_name_what_the_paper_names():
    variations = {"drop_both_directions": False, "loss_nodes": None, "invariance": 1.0}
    for dataset, preset in PRESETS.items():
        assert method_settings(OURS, dataset) == preset | variations


def test_settings_are_a_copy():
    method_settings(OURS, "cora")["n_steps"] = 1
    assert method_settings(OURS, "cora")["n_steps"] == 50


def test_a_run_per_seed_on_the_papers_kind_of_split():
    first, second = classification_runs(OURS, "photo", 2, {"n_steps": 3})
    assert first == classification_run(OURS, "photo", 0, changes={"n_steps": 3})
    assert second["splits"] == [{"kind": "random", "seed": 1}]
    assert classification_run("gcn", "cora", 1)["splits"] == [{"kind": "public"}]
