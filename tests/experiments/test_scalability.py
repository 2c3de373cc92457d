"""Whether CCA-SSG is lighter is said of time and memory apart; what is measured is said below the table."""

import pytest

from ccassg.experiments.scalability import EXPERIMENT, _lighter


@pytest.mark.parametrize(
    ("seconds", "memory", "word"),
    [(1, 1, True), (9, 9, False), (1, 9, "confirmed for time alone"), (9, 1, "confirmed for memory alone")],
)
def test_lighter_in_both_in_one_or_in_none(seconds, memory, word):
    def record(seconds, memory):
        return {"seconds": {"fit": seconds}, "result": {"peak_memory_fit_bytes": memory}}

    found = {"dgi": [record(0, 0)], "mvgrl": [record(5, 5), record(7, 7)], "grace": [record(6, 6)]}
    assert _lighter(found | {"cca-ssg": [record(20, 20), record(seconds, memory)]}) == word


def test_every_run_has_the_machine_to_itself_and_the_table_says_so(tmp_path, fake):
    plan = EXPERIMENT.plan(datasets=["cora"], methods=["cca-ssg"])
    ((cell, runs),) = EXPERIMENT.cells(plan).items()
    assert [run["alone"] for run in runs] == [True] * 3
    records = [fake(run) | {"seconds": {"fit": 3.0 - run["seed"], "total": 9.0}} for run in runs]
    drawn = EXPERIMENT.draw({cell: records}, plan, tmp_path)
    row = next(row for row in drawn.tables["Cora"] if row["method"] == "CCA-SSG")
    assert (row["parameters"], row["time"], row["memory"]) == ("997K", "1.0 s", "2.0 GB")
    assert drawn.notes.startswith("The best over 3 runs.")
    assert "one at a time, with all processors" in drawn.notes
    assert "Threads: 2." in drawn.notes
    records[1]["result"]["share_of_others"] = 0.034
    assert "Threads: 2; other programs took up to 3 % of" in EXPERIMENT.draw({cell: records}, plan, tmp_path).notes
