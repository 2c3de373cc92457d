"""Accuracy against the trade-off lambda (the paper's figure "Effect of lambda")."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ccassg.experiments import sweep
from ccassg.experiments.experiment import Drawn, Experiment, Plan, verdict
from ccassg.experiments.records import Records, Run

# The paper's search grid, and beyond it to both sides until something breaks.
VALUES = (1e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 1e-1)
QUICK = (1e-4, 1e-3, 1e-2)


def values(plan: Plan, _: str) -> tuple[float, ...]:
    """Which lambdas."""
    return QUICK if plan.quick else VALUES


def change(value: float) -> dict[str, Any]:
    """All else stays the paper's."""
    return {"decorrelation": value}


def runs(plan: Plan) -> list[Run]:
    """Every lambda on every dataset."""
    return sweep.runs(plan, values, change)


def draw(records: Records, plan: Plan, figures: Path) -> Drawn | None:
    """Table and curves."""
    return sweep.draw(records, plan, figures, values, change, name="lambda", label="lambda", finding=finding)


def finding(means: dict[str, dict[float, float]]) -> str:
    """Whether the paper's two values hold one that is near the best, and both ends are worse."""
    holds = {}
    for dataset, by_value in means.items():
        near = sweep.near_best(by_value)
        holds[dataset] = bool({5e-4, 1e-3} & set(near)) and min(by_value) < near[0] and near[-1] < max(by_value)
    return verdict(
        "A lambda of 0.0005 or 0.001 is right (one of them within one point of the best), much less or much more is worse",
        holds,
    )


EXPERIMENT = Experiment(
    title="Test accuracy (%) against the weight of the decorrelation term",
    datasets=("cora", "citeseer", "pubmed"),
    runs=runs,
    draw=draw,
    n_seeds=5,
    quick_seeds=2,
)
