"""What the tables share."""

from ccassg.experiments.tables import count_note, rows_by_dataset, verdict


def done(*accuracies):
    return [{"result": {"test_accuracy": [accuracy]}} for accuracy in accuracies]


def test_a_row_per_name_and_a_column_per_dataset():
    found = {("a", "cora"): done(0.8, 0.82), ("b", "cora"): done(0.5), ("b", "pubmed"): done(0.6)}
    names = {"a": "First", "b": "Second", "c": "Never run"}
    assert rows_by_dataset(found, "method", names, ("cora", "pubmed")) == [
        {"method": "First", "Cora": "81.0 ± 1.4", "Pubmed": None},
        {"method": "Second", "Cora": "50.0", "Pubmed": "60.0"},
    ]
    (row, *_) = rows_by_dataset(found, "method", names, ("cora",), cell=lambda records: f"{len(records)} runs")
    assert row["Cora"] == "2 runs"


def test_counts_of_runs():
    assert count_note([1, 1, 0]) == "One run per entry."
    assert count_note([5, 5]) == "Mean and standard deviation over 5 runs."
    assert count_note([3, 5], "Mean") == "Mean over 3 to 5 runs."


def test_a_verdict_names_the_datasets():
    holds = {"cora": True, "citeseer": False, "pubmed": True, "photo": "undecided"}
    found = "confirmed on Cora and Pubmed, contradicted on Citeseer, undecided on Photo"
    assert verdict("It is so", holds) == [("It is so", found)]
    assert verdict("It is so", {}) == []
