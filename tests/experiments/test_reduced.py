"""What is run with less than was published is in the runs, and said below the table."""

import pytest

from ccassg.experiments import reduced
from ccassg.experiments.published import NAMES
from ccassg.experiments.runs import classification_run, method_settings
from ccassg.systems import make


@pytest.mark.parametrize("method", reduced.REDUCED)
def test_every_change_is_a_parameter_and_takes_less(method):
    assert method in NAMES
    for dataset, settings in reduced.REDUCED[method].items():
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
    assert reduced.note([("grace", "cora"), ("gcn", "pubmed")]) == ""
    note = reduced.note([("grace", "pubmed"), ("bgrl", "computers"), ("deepwalk", "cs"), ("deepwalk", "photo")])
    assert "GRACE on Pubmed (loss_nodes 2048 for all, n_steps 200 for 1500)" in note
    assert "BGRL on Computers (n_steps 300 for 10000, n_warmup_steps 30 for 1000)" in note
    assert "DeepWalk on CS, Photo (n_walks 10 for 80)" in note
