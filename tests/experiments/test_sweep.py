"""Sweeps over lambda and the width: which values are run, which are near the best, and what the paper says of them."""

import pytest

from ccassg.experiments.runs import OURS, classification_run
from ccassg.experiments.sweep import (
    DIMENSION,
    TRADE_OFF,
    _best,
    _near_best,
    _near_best_inside,
    _rises_and_falls,
)
from fake_records import scored


def test_lambdas_change_one_setting():
    plan = TRADE_OFF.plan(datasets=["citeseer"], n_seeds=2)
    cells = TRADE_OFF.cells(plan)
    assert [value for value, _ in cells] == [1e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 1e-1]
    changes = {"decorrelation": 1e-2}
    assert cells[1e-2, "citeseer"] == [classification_run(OURS, "citeseer", s, changes=changes) for s in (0, 1)]
    quick = TRADE_OFF.cells(TRADE_OFF.plan(datasets=["cora"], quick=True))
    assert {cell: len(runs) for cell, runs in quick.items()} == {(v, "cora"): 1 for v in (1e-4, 1e-3, 1e-2)}


def test_widths_are_of_hidden_layer_and_embedding():
    cells = DIMENSION.cells(DIMENSION.plan(datasets=["cora", "pubmed"], n_seeds=1))
    widths = [32, 64, 128, 256, 512, 1024]
    assert list(cells) == [(w, "cora") for w in [*widths, 2048]] + [(w, "pubmed") for w in widths]
    changes = {"hidden_dim": 64, "embedding_dim": 64}
    assert cells[64, "pubmed"] == [classification_run(OURS, "pubmed", 0, changes=changes)]
    quick = DIMENSION.cells(DIMENSION.plan(datasets=["pubmed"], quick=True))
    assert list(quick) == [(64, "pubmed"), (512, "pubmed")]


def test_near_the_best_is_within_a_point():
    means = {3: 83.0, 1: 84.0, 2: 82.9, 4: 80.0}
    assert _near_best(means) == [1, 3]
    assert _near_best(means, within=2) == [1, 2, 3]
    assert _best("cora", means) == "Cora at 1, within one point of that from 1 to 3"
    assert _best("cora", {1: 84.0, 2: 80.0}) == "Cora at 1, with no other within one point"


@pytest.mark.parametrize(
    ("means", "holds"),
    [
        ({1e-4: 70, 5e-4: 83.5, 1e-3: 84, 1e-2: 75}, True),
        ({1e-4: 70, 1e-3: 80, 5e-3: 84, 1e-2: 75}, False),  # the best is another
        ({1e-4: 83.5, 1e-3: 84, 1e-2: 75}, False),  # much less is no worse
        ({1e-4: 70, 1e-3: 84, 1e-2: 83.5}, False),  # much more is no worse
    ],
)
def test_the_papers_lambdas_are_near_the_best_and_the_ends_worse(means, holds):
    assert _near_best_inside(means) is holds


@pytest.mark.parametrize(
    ("means", "holds"),
    [
        ({64: 80, 256: 82, 512: 84, 1024: 83}, True),
        ({64: 80, 256: 82, 512: 84}, False),  # nothing is wider than the best
        ({64: 84, 256: 82, 512: 80}, False),  # narrow is best
    ],
)
def test_accuracy_rises_with_the_width_and_falls(means, holds):
    assert _rises_and_falls(means) is holds


def test_a_row_per_value_and_a_verdict(tmp_path):
    found = {
        (1e-2, "cora"): scored(75, 75),
        (1e-4, "cora"): scored(70, 72),
        (1e-3, "cora"): scored(83, 85),
        (1e-4, "citeseer"): scored(73),
        (5e-4, "citeseer"): scored(72),
        (1e-3, "pubmed"): scored(81),  # alone, it says nothing about the others
    }
    drawn = TRADE_OFF.draw(found, TRADE_OFF.plan(), tmp_path)
    assert drawn.tables[""] == [
        {"lambda": "0.0001", "Cora": "71.0 ± 1.4", "Citeseer": "73.0", "Pubmed": None},
        {"lambda": "0.0005", "Cora": None, "Citeseer": "72.0", "Pubmed": None},
        {"lambda": "0.001", "Cora": "84.0 ± 1.4", "Citeseer": None, "Pubmed": "81.0"},
        {"lambda": "0.01", "Cora": "75.0 ± 0.0", "Citeseer": None, "Pubmed": None},
    ]
    best = "Best: Cora at 0.001, with no other within one point; Citeseer at 0.0001, within one point of that from 0.0001 to 0.0005."
    assert drawn.notes == f"Mean and standard deviation over 1 to 2 runs. {best}"
    assert [finding.found for finding in drawn.findings] == ["confirmed on Cora, contradicted on Citeseer"]
    assert {path.name for path in tmp_path.iterdir()} == {"lambda.svg", "lambda.png"}


@pytest.mark.parametrize(("experiment", "value"), [(TRADE_OFF, 1e-3), (DIMENSION, 512)])
def test_the_papers_value_alone_is_no_curve(experiment, value, tmp_path):
    found = {(value, dataset): scored(80, 81) for dataset in ("cora", "pubmed")}
    assert experiment.draw(found, experiment.plan(), tmp_path) is None
    assert not list(tmp_path.iterdir())


def test_widths_are_drawn_in_order(tmp_path):
    found = {(width, "cora"): scored(accuracy) for width, accuracy in ((64, 80), (512, 84), (1024, 83))}
    drawn = DIMENSION.draw(found, DIMENSION.plan(), tmp_path)
    assert [row["width D"] for row in drawn.tables[""]] == ["64", "512", "1024"]
    assert [finding.found for finding in drawn.findings] == ["confirmed on Cora"]
    assert (tmp_path / "dimension.svg").is_file()
