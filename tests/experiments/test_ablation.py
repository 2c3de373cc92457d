"""Table 4: three objectives, and whether they come in the paper's order."""

from ccassg.experiments.ablation import EXPERIMENT
from ccassg.experiments.runs import OURS, classification_run
from fake_records import scored

FULL, NO_DECORRELATION, NO_INVARIANCE = "full", "without decorrelation", "without invariance"


def test_each_variant_lacks_one_term():
    cells = EXPERIMENT.cells(EXPERIMENT.plan(datasets=["citeseer"], n_seeds=2))
    assert list(cells) == [(name, "citeseer") for name in (FULL, NO_DECORRELATION, NO_INVARIANCE)]
    assert [run["seed"] for run in cells[FULL, "citeseer"]] == [0, 1]
    full = cells[FULL, "citeseer"][0]
    assert full == classification_run(OURS, "citeseer", 0)
    for name, term in ((NO_DECORRELATION, "decorrelation"), (NO_INVARIANCE, "invariance")):
        run = cells[name, "citeseer"][0]
        assert full["settings"][term] > 0
        assert run == full | {"settings": full["settings"] | {term: 0.0}}


def test_objectives_stand_in_rows_beside_the_papers(tmp_path):
    found = {
        (FULL, "cora"): scored(83, 85),
        (NO_DECORRELATION, "cora"): scored(79, 79),
        (NO_INVARIANCE, "cora"): scored(40, 42),
        (FULL, "pubmed"): scored(80, 80),
        (NO_DECORRELATION, "pubmed"): scored(75, 75),
        (NO_INVARIANCE, "pubmed"): scored(76, 76),  # not the worst
        (FULL, "citeseer"): scored(70),  # alone, so that there is no order to judge
    }
    drawn = EXPERIMENT.draw(found, EXPERIMENT.plan(), tmp_path)
    rows = drawn.tables[""]
    assert [row["objective"] for row in rows] == [FULL, NO_DECORRELATION, NO_INVARIANCE]
    assert (rows[0]["Cora"], rows[0]["Cora (paper)"]) == ("84.0 ± 1.4", "84.2")
    assert (rows[2]["Citeseer"], rows[2]["Citeseer (paper)"]) == (None, "28.9")
    assert drawn.notes == "Mean and standard deviation over 1 to 2 runs."
    (finding,) = drawn.findings
    assert finding.claim.endswith("without invariance is worst")
    assert finding.found == "confirmed on Cora, contradicted on Pubmed"
    assert not list(tmp_path.iterdir())


def test_nothing_is_said_of_the_order_before_all_are_run(tmp_path):
    drawn = EXPERIMENT.draw({(FULL, "cora"): scored(84)}, EXPERIMENT.plan(), tmp_path)
    assert drawn.notes == "One run per entry."
