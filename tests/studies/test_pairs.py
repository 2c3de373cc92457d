"""Differences between series of runs that share their seeds."""

import pytest

from ccassg.experiments import Records
from ccassg.model.presets import FAST
from studies.fast_presets import STUDY
from studies.pairs import difference, paired


def test_differences_are_paired_by_seed(tmp_path, fake):
    records, plan = Records(tmp_path), STUDY.plan(datasets=["cora"], n_seeds=4)
    exact, fast = STUDY.cells(plan).values()
    assert fast[0]["settings"]["loss_nodes"] == FAST["cora"]["loss_nodes"]
    for seed, run in enumerate(exact):
        records.add(fake(run) | {"result": {"test_accuracy": [0.8 + 0.01 * seed], "val_accuracy": [0.7]}})
    for seed, run in enumerate(fast[:3]):
        records.add(fake(run) | {"result": {"test_accuracy": [0.81 + 0.01 * seed], "val_accuracy": [0.7]}})
    found = STUDY.found(records, plan)
    pairs = paired(found["cora", "exact"], found["cora", "fast"])
    assert len(pairs) == 3
    mean, error = difference(pairs, "test_accuracy")
    assert mean == pytest.approx(1.0)
    assert error == pytest.approx(0.0, abs=1e-9)
    row = STUDY.draw(found, plan, tmp_path).tables[""][0]
    assert row["difference, test"] == "+1.00 ± 0.00"
    assert row["exact"] == "81.00 ± 1.00"
