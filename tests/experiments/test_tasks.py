"""What a run of each task comes to."""

import pytest
import torch

from ccassg.datasets import stochastic_block_graph
from ccassg.experiments import runner
from ccassg.experiments.runner import execute
from ccassg.experiments.runs import OURS, classification_run, method_settings

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


def test_information_along_training(small):
    run = {"task": "information", "dataset": "cora", "method": "cca-ssg", "seed": 0}
    run |= {"settings": method_settings(OURS, "cora") | WIDTHS, "steps": [0, 1, 3], "n_views": 2, "beta": 0.5}
    snapshots = execute(run)["result"]["snapshots"]
    assert [s["step"] for s in snapshots] == [0, 1, 3]
    for s in snapshots:
        assert s["mutual_information"] == pytest.approx(s["entropy"] - s["conditional_entropy"])
        assert s["bottleneck"] == pytest.approx(0.5 * s["entropy"] - s["conditional_entropy"])
        assert s["loss"] == pytest.approx(s["invariance"] + 1e-3 * s["decorrelation"], rel=1e-4)


@pytest.mark.parametrize(
    ("case", "rank", "spread"),
    [
        ("alignment", (1, 2), (0.0, 0.2)),
        ("alignment and uniformity", (1.9, 2), (0.9, 1.0)),
        ("invariance", (1, 1.3), (1.4, 1.42)),
        ("invariance and decorrelation", (1.9, 2.0), (1.4, 1.42)),
    ],
)
def test_collapse_happens_where_it_should(case, rank, spread):
    given = {"n_steps": 150, "learning_rate": 3e-2, "noise": 0.5}
    result = execute({"task": "collapse", "dataset": "toy", "case": case, "settings": given, "seed": 0})["result"]
    measures = result["measures"]
    assert rank[0] <= measures["effective_rank"] <= rank[1]
    assert spread[0] <= measures["spread"] <= spread[1]
    assert len(result["points"]) == len(result["classes"]) == 300
