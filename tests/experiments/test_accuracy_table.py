"""The two main tables: their runs, published values beside ours, and what they say of the paper's first claim."""

import pytest

from ccassg.experiments.accuracy_table import CITATION_GRAPHS, COPURCHASE_GRAPHS, _rank
from ccassg.experiments.records import Records


@pytest.mark.parametrize(
    ("others", "word"),
    [
        ({"dgi": [80.0, 80.2, 79.8]}, "confirmed"),
        ({"dgi": [80.0, 80.2, 79.8], "mvgrl": [84.9, 85.1, 85.0]}, "contradicted (MVGRL 1.0 points above)"),
        ({"grace": [84.0, 84.3, 83.6]}, "undecided (GRACE within the standard error)"),
        ({"grace": [99.0]}, "undecided (GRACE with too few runs)"),
    ],
)
def test_above_the_best_of_the_others_by_more_than_chance(others, word):
    assert _rank({"cca-ssg": [83.8, 84.2, 84.0], **others}) == word


def test_published_values_stand_beside_ours(tmp_path, fake):
    experiment, records = CITATION_GRAPHS, Records(tmp_path)
    for run in experiment.runs(experiment.plan(datasets=["cora"], n_seeds=2)):
        record = fake(run)
        records.add(record | {"result": record["result"] | {"test_accuracy": [0.83 + 0.02 * run["seed"]]}})
    plan = experiment.plan(methods=["all"])
    drawn = experiment.draw(experiment.found(records, plan), plan, tmp_path)
    rows = {row["method"]: row for row in drawn.tables[""]}
    assert rows["CCA-SSG"]["Cora"] == "84.0 ± 1.4"
    assert rows["CCA-SSG"]["Cora (paper)"] == "84.2 ± 0.4"
    assert rows["CCA-SSG"]["Pubmed"] is None
    assert rows["GAT"]["Citeseer (paper)"] == "72.5 ± 0.7"
    assert next(iter(rows)) == "MLP"
    assert "over 2 runs" in drawn.notes
    (cost,) = drawn.tables["cost"]
    assert cost["method"] == "CCA-SSG"
    assert cost["Cora"].startswith("997K, ")
    assert cost["Cora"].endswith(" s, 2.0 GB")
    assert cost["Pubmed"] is None


def test_random_splits_are_new_for_every_seed():
    runs = COPURCHASE_GRAPHS.runs(COPURCHASE_GRAPHS.plan(datasets=["photo"]))
    assert [run["splits"] for run in runs] == [[{"kind": "random", "seed": seed}] for seed in range(20)]
