"""Pictures of correlation: three per dataset, and whether the decorrelation term lowers it."""

import pytest

from ccassg.experiments.correlation import EXPERIMENT, N_COLUMNS, PANELS
from ccassg.experiments.runs import OURS, method_settings


def test_features_and_both_objectives_of_every_dataset():
    cells = EXPERIMENT.cells(EXPERIMENT.plan(datasets=["cora", "pubmed"]))
    assert list(cells) == [(dataset, panel) for dataset in ("cora", "pubmed") for panel in PANELS]
    ours = method_settings(OURS, "pubmed")
    expected = {"task": "correlation", "revision": 1, "dataset": "pubmed", "seed": 0, "n_columns": N_COLUMNS}
    assert cells["pubmed", "raw features"] == [expected | {"method": "raw-features", "settings": {}}]
    assert cells["pubmed", "with decorrelation"] == [expected | {"method": OURS, "settings": ours}]
    without = ours | {"decorrelation": 0.0}
    assert cells["pubmed", "without decorrelation"] == [expected | {"method": OURS, "settings": without}]


@pytest.fixture
def recorded(fake):
    """A function from the correlations of a dataset's panels to what is found of it."""

    def found(dataset, *correlations):
        cells = EXPERIMENT.cells(EXPERIMENT.plan(datasets=[dataset]))
        records = {cell: [fake(run)] for cell, (run,) in cells.items()}
        for (record,), correlation in zip(records.values(), correlations, strict=True):
            record["result"]["off_diagonal_correlation"] = correlation
        return records

    return found


def test_twice_as_much_without_the_term_as_with_it_and_in_the_features(recorded, tmp_path):
    found = recorded("cora", 0.02, 0.31, 0.12345)
    found |= recorded("citeseer", 0.02, 0.15, 0.1)  # less than twice that with the term
    found |= recorded("pubmed", 0.2, 0.3, 0.1)  # less than twice that of the features
    drawn = EXPERIMENT.draw(found, EXPERIMENT.plan(), tmp_path)
    assert [finding.found for finding in drawn.findings] == ["confirmed on Cora, contradicted on Citeseer and Pubmed"]
    assert len(drawn.tables[""]) == 9
    assert drawn.tables[""][2] == {
        "dataset": "Cora",
        "vectors": "with decorrelation",
        "dimensions": 16,
        "constant": 0,
        "mean absolute correlation": 0.1235,
        "effective rank": 9.0,
    }
    assert {path.name for path in tmp_path.iterdir()} == {"correlation.svg", "correlation.png"}


def test_a_dataset_is_drawn_when_its_three_pictures_are_there(recorded, tmp_path):
    found = recorded("cora", 0.1, 0.2, 0.1)
    del found["cora", "raw features"]
    assert EXPERIMENT.draw(found, EXPERIMENT.plan(), tmp_path) is None
    drawn = EXPERIMENT.draw(found | recorded("pubmed", 0.1, 0.5, 0.1), EXPERIMENT.plan(), tmp_path)
    assert {row["dataset"] for row in drawn.tables[""]} == {"Pubmed"}
