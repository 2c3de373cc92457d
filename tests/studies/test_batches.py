"""Batches of an eighth of the graph."""

from ccassg.experiments import Records
from studies.batches import AS_NEEDED, EIGHT, STUDY

PLAN = STUDY.plan(datasets=["cora"], n_seeds=1)


def test_batches_are_an_eighth_of_the_nodes():
    cells = STUDY.cells(PLAN)
    (twice,) = cells["cora", 2, AS_NEEDED]
    assert (twice["settings"]["batch_nodes"], twice["settings"]["n_steps"]) == (339, 100)
    (whole,) = cells["cora", None]
    assert "batch_nodes" not in whole["settings"]


def test_moments_of_eight_batches_are_shown_and_never_done(tmp_path, fake):
    records = Records(tmp_path)
    (eight,) = STUDY.former(PLAN)["cora", 1, EIGHT]
    assert eight not in STUDY.runs(PLAN)
    for run in (eight, *STUDY.cells(PLAN)["cora", None]):
        records.add(fake(run))
    (row,) = STUDY.draw(STUDY.found(records, PLAN), PLAN, tmp_path).tables[""]
    assert (row["moments"], row["nodes"]) == (EIGHT, 339)
