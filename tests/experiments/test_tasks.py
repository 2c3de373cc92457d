"""What a run of each task comes to."""

import pytest
import torch

from ccassg.datasets import load_dataset, stochastic_block_graph
from ccassg.experiments import EXPERIMENTS, runner
from ccassg.experiments.runner import execute
from ccassg.experiments.runs import OURS, a_run, classification_run, method_settings
from ccassg.experiments.tasks import TASKS

WIDTHS = {"hidden_dim": 8, "embedding_dim": 8, "n_steps": 2}


@pytest.fixture(autouse=True)
def same_threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_classifiers_choose_on_validation_and_see_no_test_label(monkeypatch):
    run = classification_run("label-propagation", "cora", 0)
    assert "probe" not in run
    from ccassg.systems.label_propagation import LabelPropagation

    seen = {}
    fit = LabelPropagation.fit

    def spy(self, graph, y, validation=None):
        seen.update(y=y, validation=validation)
        return fit(self, graph, y, validation=validation)

    monkeypatch.setattr(LabelPropagation, "fit", spy)
    record = execute(run)
    assert (seen["y"] >= 0).sum() == 640
    assert len(seen["validation"]) == 500
    assert 0.6 < record["result"]["test_accuracy"][0] < 0.8


def test_several_label_rates_share_one_embedding():
    splits = [{"label_rate": rate, "seed": 1} for rate in (0.01, 0.05)]
    run = classification_run("cca-ssg", "cora", 1, changes=WIDTHS, splits=splits) | {"probe": {"epochs": 5}}
    assert len(execute(run)["result"]["test_accuracy"]) == 2


@pytest.fixture
def small(monkeypatch):
    """A little graph in the place of Cora."""
    data = stochastic_block_graph(300, n_features=32, sparse_features=True)
    monkeypatch.setattr(runner, "load_dataset", lambda name, data_dir: data)


def test_correlation_of_features_and_embedding(small):
    run = {"task": "correlation", "dataset": "cora", "n_columns": 16, "seed": 0}
    raw = execute(run | {"method": "raw-features", "settings": {}})["result"]
    own = execute(run | {"method": "cca-ssg", "settings": method_settings(OURS, "cora") | WIDTHS})["result"]
    assert (raw["n_columns"], own["n_columns"]) == (32, 8)
    assert raw["matrix"]["shape"] == [16, 16]
    assert raw["off_diagonal_correlation"] < own["off_diagonal_correlation"]


def test_every_run_of_an_experiment_is_a_known_task():
    known = {run["task"] for e in EXPERIMENTS.values() for run in e.runs(e.plan(quick=True))}
    assert known == set(TASKS)


def test_training_alone_says_what_others_took_of_the_processors():
    run = a_run("training-cost", "raw-features", "cora", alone=True)
    result = TASKS["training-cost"](run, load_dataset("cora"))
    assert result["n_parameters"] in (None, 0)
    assert result["seconds"]["fit"] >= 0
    assert result.get("share_of_others", 0.0) >= 0
