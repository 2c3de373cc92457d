"""Accuracy against the trade-off lambda (the paper's figure "Effect of lambda")."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ccassg.experiments import sweep
from ccassg.experiments.experiment import Drawn, Experiment, Plan
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
    return sweep.draw(records, plan, figures, values, change, name="lambda", label="lambda")


EXPERIMENT = Experiment(
    title="Test accuracy (%) against the weight of the decorrelation term",
    datasets=("cora", "citeseer", "pubmed"),
    runs=runs,
    draw=draw,
    n_seeds=5,
    quick_seeds=2,
)
