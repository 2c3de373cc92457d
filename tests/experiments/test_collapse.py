"""Collapse in two dimensions: it happens where the paper says, by losses that are what they are called."""

import math

import pytest
import torch

from ccassg.experiments.collapse import CASES, EXPERIMENT, SETTINGS, _loss, train_points


def trained(case, **changes):
    given = {"n_steps": 150, "learning_rate": 3e-2, "noise": 0.5} | changes
    return train_points({"task": "collapse", "dataset": "toy", "case": case, "settings": given, "seed": 0}, None)


@pytest.mark.parametrize(
    ("case", "rank", "spread"),
    [
        ("alignment", (1, 2), (0.0, 0.2)),
        ("alignment and uniformity", (1.9, 2), (0.9, 1.0)),
        ("invariance", (1, 1.3), (1.4, 1.42)),
        ("invariance and decorrelation", (1.9, 2.0), (1.4, 1.42)),
    ],
)
def test_collapse_happens_where_it_should(case, rank, spread):
    result = trained(case)
    measures = result["measures"]
    assert rank[0] <= measures["effective_rank"] <= rank[1]
    assert spread[0] <= measures["spread"] <= spread[1]
    assert len(result["points"]) == len(result["classes"]) == 300


def test_alignment_and_uniformity_by_hand():
    # Lengths do not count. Views of the first point are at a right angle, those of the second are equal.
    h1, h2 = torch.tensor([[2.0, 0.0], [0.0, 3.0]]), torch.tensor([[0.0, 1.0], [0.0, 5.0]])
    assert _loss("alignment", h1, h2).item() == pytest.approx((2 + 0) / 2)
    # The one pair of the first view is sqrt(2) apart, that of the second at distance 0: log e^-4 + log 1.
    assert _loss("alignment and uniformity", h1, h2).item() == pytest.approx(1 - 4 + 0, rel=1e-5)


def test_decorrelation_is_what_tells_the_other_two_apart():
    h = torch.tensor([[1.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [-1.0, -1.0]])  # two columns, one dimension
    # Equal views agree as much as they can: -1 per column.
    assert _loss("invariance", h, h).item() == pytest.approx(-2, rel=1e-5)
    # Per view, the squared distance of [[1, 1], [1, 1]] to the identity on top.
    assert _loss("invariance and decorrelation", h, h).item() == pytest.approx(-2 + 2 * 2, rel=1e-5)


def test_points_lie_on_the_circle_or_have_variance_one():
    on_circle = torch.tensor(trained("alignment and uniformity", n_steps=2)["points"])
    assert torch.allclose(on_circle.norm(dim=1), torch.ones(300), atol=1e-3)
    scaled = torch.tensor(trained("invariance", n_steps=2)["points"])
    assert torch.allclose(scaled.mean(0), torch.zeros(2), atol=1e-3)
    assert torch.allclose(scaled.std(0), torch.ones(2), atol=1e-2)


def test_one_run_per_objective():
    cells = EXPERIMENT.cells(EXPERIMENT.plan())
    assert list(cells) == [(case,) for case in CASES]
    for case in CASES:
        (run,) = cells[case,]
        assert run == {"task": "collapse", "dataset": "toy", "case": case, "settings": SETTINGS, "seed": 0}


def test_drawn_when_all_four_are_there(tmp_path, fake):
    plan = EXPERIMENT.plan()
    found = {cell: [fake(run) for run in runs] for cell, runs in EXPERIMENT.cells(plan).items()}
    for number, done in enumerate(found.values()):
        done[0]["result"]["measures"]["spread"] = math.sqrt(number)
    drawn = EXPERIMENT.draw(found, plan, tmp_path)
    assert [row["objective"] for row in drawn.tables[""]] == list(CASES)
    assert [row["spread"] for row in drawn.tables[""]] == [math.sqrt(number) for number in range(4)]
    assert set(drawn.tables[""][0]) == {"objective", "final loss", "spread", "absolute correlation", "effective rank"}
    assert {path.name for path in tmp_path.iterdir()} == {"collapse.svg", "collapse.png"}
    del found["invariance",]
    assert EXPERIMENT.draw(found, plan, tmp_path) is None
