"""Accuracies beside times are those of recorded runs; what is missing is run and recorded."""

import pytest

from ccassg.bench.accuracy import add_accuracies, describe_accuracy
from ccassg.experiments.records import Records
from ccassg.experiments.runs import OURS, classification_runs
from ccassg.model.presets import FAST, PRESETS


def record(run, val, test):
    result = {"val_accuracy": [val], "test_accuracy": [test]}
    return {"run": run, "result": result, "seconds": {"total": 1.0}}


@pytest.fixture
def rows():
    kinds = {"textbook": 20.0, "exact": 7.0, "fast": 3.0}
    return [{"dataset": "cora"} | {kind: {"n_steps": 50, "fit_seconds": seconds} for kind, seconds in kinds.items()}]


def test_recorded_runs_are_not_run_again(tmp_path, rows):
    records = Records(tmp_path)
    for changes, gain in (({}, 0.0), (FAST["cora"], 0.01)):
        for run, val in zip(classification_runs(OURS, "cora", 3, changes), (0.80, 0.82, 0.81), strict=True):
            records.add(record(run, val + gain, val + 0.02))
    said = []
    add_accuracies(rows, records, n_seeds=3, on_run=said.append)
    assert said == []
    assert rows[0]["exact"]["val"] == pytest.approx({"mean": 81.0, "error": 1 / 3**0.5, "n_seeds": 3})
    assert rows[0]["fast"]["val"]["mean"] == pytest.approx(82.0)
    assert rows[0]["fast"]["test"]["mean"] == pytest.approx(83.0)
    line = describe_accuracy(rows[0])
    assert "exact 50 steps in 7.0 s" in line
    assert "fast 82.00 ± 0.58 % on validation nodes, 83.00 ± 0.58 % on test nodes" in line


def test_missing_runs_are_run_and_recorded(tmp_path, rows, monkeypatch):
    for presets in (PRESETS, FAST):
        monkeypatch.setitem(presets, "cora", presets["cora"] | {"n_steps": 1})
    said = []
    add_accuracies(rows, Records(tmp_path), n_seeds=1, on_run=said.append)
    assert len(said) == 2
    assert len(Records(tmp_path)) == 2
    assert 20 < rows[0]["fast"]["test"]["mean"] < 100
    assert rows[0]["fast"]["test"]["n_seeds"] == 1
