import json

import pytest

from ccassg.experiments.runs import classification_run
from ccassg.experiments.summary import summarize


def test_runs_that_differ_in_the_seed_come_together(fake):
    records = [fake(classification_run("cca-ssg", name, seed)) for name in ("cora", "photo") for seed in range(3)]
    for record, accuracy in zip(records, [0.80, 0.81, 0.82, 0.90, 0.90, 0.93], strict=True):
        record["result"]["test_accuracy"] = [accuracy]
    made = json.loads(json.dumps(summarize("citation", records)))
    cora, photo = made["results"]
    assert (cora["dataset"], photo["dataset"]) == ("cora", "photo")
    assert cora["test_accuracies"] == [80, 81, 82]
    assert (cora["mean"], cora["std"]) == (81, 1)
    assert photo["std"] == pytest.approx(1.7321)
    assert photo["splits"][2] == [{"kind": "random", "seed": 2}]
    assert cora["hyper_parameters"]["settings"]["n_steps"] == 50
    assert cora["hyper_parameters"]["probe"]["weight_decay"] == 1e-4
    assert cora["seconds"]["fit"] == [1.0] * 3
    assert cora["peak_memory_bytes"] == [10**9] * 3
    assert made["commits"] == [{"id": "0123456789abcdef", "modified": False}]
    assert made["unit"] == "percent"


def test_several_splits_per_run_stay_lists(fake):
    splits = [{"label_rate": rate, "seed": 0} for rate in (0.01, 0.02)]
    record = fake(classification_run("gcn", "cora", 0, splits=splits))
    record["result"]["test_accuracy"] = [0.5, 0.6]
    (row,) = summarize("label-rates", [record])["results"]
    assert row["test_accuracies"] == [[50, 60]]
    assert (row["mean"], row["std"]) == ([50, 60], [0, 0])
    assert "probe_epoch" not in row
