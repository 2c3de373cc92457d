"""Accuracy against the width of the embedding (the paper's figure "Effect of D")."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ccassg.experiments import sweep
from ccassg.experiments.experiment import Drawn, Experiment, Plan, verdict
from ccassg.experiments.records import Records, Run

VALUES = (32, 64, 128, 256, 512, 1024, 2048)
QUICK = (64, 512)
# The cost grows with the square of the width; Pubmed at 2048 would take longer than all the rest together.
WIDEST = {"pubmed": 1024}


def values(plan: Plan, dataset: str) -> tuple[int, ...]:
    """Which widths."""
    return tuple(v for v in (QUICK if plan.quick else VALUES) if v <= WIDEST.get(dataset, max(VALUES)))


def change(value: int) -> dict[str, Any]:
    """Hidden layer and embedding have one width, as in the paper's grid; all else stays the paper's."""
    return {"hidden_dim": value, "embedding_dim": value}


def runs(plan: Plan) -> list[Run]:
    """Every width on every dataset."""
    return sweep.runs(plan, values, change)


def draw(records: Records, plan: Plan, figures: Path) -> Drawn | None:
    """Table and curves."""
    return sweep.draw(records, plan, figures, values, change, name="dimension", label="width D", finding=finding)


def finding(means: dict[str, dict[int, float]]) -> str:
    """Whether wide is better than narrow, and too wide worse."""
    holds = {}
    for dataset, by_value in means.items():
        best = max(by_value, key=lambda width: by_value[width])
        holds[dataset] = 256 <= best < max(by_value)
    return verdict("Accuracy rises with the width up to some hundreds of dimensions and falls beyond", holds)


EXPERIMENT = Experiment(
    title="Test accuracy (%) against the width of the embedding",
    datasets=("cora", "citeseer", "pubmed"),
    runs=runs,
    draw=draw,
    n_seeds=5,
    quick_seeds=2,
)
