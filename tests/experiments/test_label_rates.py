"""Few labels: one run for all rates, and whether CCA-SSG is above the GCN at the lowest."""

import pytest

from ccassg.experiments.label_rates import DECAYS, EXPERIMENT, RATES
from ccassg.experiments.runs import OURS, classification_run


def test_one_run_has_a_split_per_rate():
    cells = EXPERIMENT.cells(EXPERIMENT.plan(datasets=["pubmed"], n_seeds=2))
    assert list(cells) == [(method, "pubmed") for method in ("label-propagation", "chebnet", "gcn", OURS)]
    splits = [{"label_rate": rate, "seed": 1} for rate in (0.0005, 0.001, 0.003)]
    assert cells["gcn", "pubmed"][1] == classification_run("gcn", "pubmed", 1, splits=splits)
    ours = cells[OURS, "pubmed"][1]
    assert ours["splits"] == splits
    assert ours["settings"] == classification_run(OURS, "pubmed", 1)["settings"]


def test_the_probe_chooses_its_decay_here_and_nowhere_else():
    runs = EXPERIMENT.cells(EXPERIMENT.plan(datasets=["cora"], n_seeds=1))
    assert runs[OURS, "cora"][0]["probe"]["weight_decay"] == list(DECAYS)
    assert "probe" not in runs["gcn", "cora"][0]
    assert classification_run(OURS, "cora", 0)["probe"]["weight_decay"] not in (None, list(DECAYS))


@pytest.fixture
def recorded():
    """A function from a dataset and, per run, its accuracy in percent at the lowest rate; each next rate has one more."""

    def records(dataset, *first):
        return [
            {"result": {"test_accuracy": [(lowest + i) / 100 for i in range(len(RATES[dataset]))]}} for lowest in first
        ]

    return records


def test_a_table_and_a_verdict_per_dataset(recorded, tmp_path):
    found = {
        ("gcn", "cora"): recorded("cora", 60, 62),
        (OURS, "cora"): recorded("cora", 70, 72),
        ("gcn", "pubmed"): recorded("pubmed", 65, 65),
        (OURS, "pubmed"): recorded("pubmed", 64, 64),
        (OURS, "citeseer"): recorded("citeseer", 50, 50),  # no GCN to compare with
    }
    drawn = EXPERIMENT.draw(found, EXPERIMENT.plan(), tmp_path)
    assert list(drawn.tables) == ["Cora", "Pubmed", "Citeseer"]
    rows = {row["method"]: row for row in drawn.tables["Cora"]}
    assert (rows["CCA-SSG"]["1 %"], rows["CCA-SSG"]["5 %"]) == ("71.0 ± 1.4", "75.0 ± 1.4")
    assert (rows["GCN"]["1 %"], rows["GCN"]["1 % (paper)"]) == ("61.0 ± 1.4", "62.3")
    assert rows["ChebNet"]["1 %"] is None
    pubmed = {row["method"]: row for row in drawn.tables["Pubmed"]}
    assert pubmed["CCA-SSG"]["0.3 %"] == "66.0 ± 0.0"
    assert drawn.notes.startswith("Mean and standard deviation over 2 runs.")
    assert [finding.found for finding in drawn.findings] == ["confirmed on Cora, contradicted on Pubmed"]
    assert {path.name for path in tmp_path.iterdir()} == {"label-rates.svg", "label-rates.png"}


def test_the_fewest_labels_decide(recorded, tmp_path):
    ahead_at_first = recorded("pubmed", 70)
    ahead_at_first[0]["result"]["test_accuracy"][1:] = [0.1, 0.1]
    found = {("gcn", "pubmed"): recorded("pubmed", 60), (OURS, "pubmed"): ahead_at_first}
    (finding,) = EXPERIMENT.draw(found, EXPERIMENT.plan(), tmp_path).findings
    assert finding.found == "confirmed on Pubmed"
