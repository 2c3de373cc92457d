"""The runs of most tables: all that determines them, and nothing that a later version may add."""

import pytest

from ccassg.experiments.published import NAMES
from ccassg.experiments.runs import (
    OURS,
    REDUCED,
    classification_run,
    classification_runs,
    method_settings,
    reduced_note,
)
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


@pytest.mark.parametrize("method", REDUCED)
def test_every_change_is_a_parameter_and_takes_less(method):
    assert method in NAMES
    for dataset, settings in REDUCED[method].items():
        published = make(method, dataset)
        make(method, dataset, **settings)
        for name in ("n_steps", "n_walks", "loss_nodes"):
            if name in settings and getattr(published, name) is not None:
                assert settings[name] < getattr(published, name)


def test_runs_have_the_changes_and_all_else_as_published():
    run = classification_run("grace", "pubmed", 0)
    assert run["settings"]["loss_nodes"] == 2048
    assert run["settings"] == method_settings("grace", "pubmed")
    assert run["settings"]["temperature"] == make("grace", "pubmed").temperature
    assert classification_run("grace", "cora", 0)["settings"]["loss_nodes"] is None


def test_the_note_names_what_differs_and_nothing_else():
    assert reduced_note([("grace", "cora"), ("gcn", "pubmed")]) == ""
    note = reduced_note([("grace", "pubmed"), ("bgrl", "computers"), ("deepwalk", "cs"), ("deepwalk", "photo")])
    assert "GRACE on Pubmed (loss_nodes 2048 for all, n_steps 200 for 1500)" in note
    assert "BGRL on Computers (n_steps 300 for 10000, n_warmup_steps 30 for 1000)" in note
    assert "DeepWalk on CS, Photo (n_walks 10 for 80)" in note
