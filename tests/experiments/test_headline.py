"""The table of the front page: what is recorded, and nothing where nothing is."""

import json

from ccassg.experiments import EXPERIMENTS, Records
from ccassg.experiments.headline import headline


def test_accuracy_and_speed_of_what_is_recorded(tmp_path, fake):
    records = Records(tmp_path)
    assert headline(records) is None
    citation = EXPERIMENTS["citation"]
    for run in citation.runs(citation.plan(datasets=["cora"], n_seeds=2)):
        records.add(fake(run) | {"result": {"test_accuracy": [0.83 + 0.02 * run["seed"]]}})
    table = headline(records)
    assert "step" not in table
    cora, citeseer = table.splitlines()[2:4]
    assert [cell.strip() for cell in cora.strip("|").split("|")][:3] == ["Cora", "84.0 ± 1.4", "2"]
    assert "not recorded yet" in citeseer
    row = {"dataset": "cora", "exact": {"ratio": 3.04}, "fast": {"ratio": 5.0}}
    (tmp_path / "bench.json").write_text(json.dumps({"datasets": [row]}))
    cora = headline(records).splitlines()[2]
    assert [cell.strip() for cell in cora.strip("|").split("|")][4:] == ["3.0x", "5.0x"]
