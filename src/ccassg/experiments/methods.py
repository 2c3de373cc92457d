"""Table 1 of the paper: what each method needs, read from the classes that implement them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ccassg.baselines import get_class
from ccassg.experiments.experiment import Drawn, Experiment, Plan
from ccassg.experiments.published import NAMES
from ccassg.experiments.records import Records

# Column, attribute of the class, and what CCA-SSG answers: its class carries nothing that only this table reads.
COLUMNS = {
    "target": ("target", "F-F"),
    "MI estimator": ("mi_estimator", False),
    "projector or predictor": ("projector", False),
    "asymmetric": ("asymmetric", False),
    "negative examples": ("negatives", False),
    "space": ("space", "O(D^2)"),
}


def draw(records: Records, plan: Plan, figures: Path) -> Drawn:
    """The table; there is nothing to run."""
    rows: list[dict[str, Any]] = []
    for method in plan.methods:
        values = {column: getattr(get_class(method), name, own) for column, (name, own) in COLUMNS.items()}
        rows.append({"method": NAMES[method]} | values)
    notes = (
        "Target: what is compared, N node, G graph, F feature. Space: memory for all the pairs that are compared, N nodes, "
        "D dimensions. The first five rows and the last are the paper's."
    )
    return Drawn({"": rows}, notes=notes)


EXPERIMENT = Experiment(
    title="What each self-supervised method needs (Table 1)",
    datasets=(),
    methods=("dgi", "mvgrl", "grace", "gca-degree", "bgrl", "graph-barlow-twins", "vicreg", "cca-ssg"),
    runs=lambda _: [],
    draw=draw,
)
