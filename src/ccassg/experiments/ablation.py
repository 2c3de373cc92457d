"""Table 4 of the paper: what each term of the loss is worth."""

from pathlib import Path
from typing import Any

import numpy as np

from ccassg.experiments.experiment import Cells, Drawn, Experiment, Found, Plan
from ccassg.experiments.published import ABLATION
from ccassg.experiments.runs import OURS, classification_runs
from ccassg.experiments.tables import accuracies, count_note, in_titles, paragraphs, rows_by_dataset, verdict
from ccassg.report.tables import beside

# From the best to the worst, says the paper.
VARIANTS: dict[str, dict[str, Any]] = {
    "full": {},
    "without decorrelation": {"decorrelation": 0.0},
    "without invariance": {"invariance": 0.0},
}
NAMES = {name: name for name in VARIANTS}


def cells(plan: Plan) -> Cells:
    """Every variant on every dataset."""
    return {
        (name, dataset): classification_runs(OURS, dataset, plan.n_seeds, changes)
        for dataset in plan.datasets
        for name, changes in VARIANTS.items()
    }


def draw(found: Found, plan: Plan, _: Path) -> Drawn | None:
    """Variants in rows."""
    if not found:
        return None
    rows = beside(
        rows_by_dataset(found, "objective", NAMES, plan.datasets), in_titles(ABLATION, NAMES), key="objective"
    )
    means = {cell: float(np.mean(accuracies(done))) for cell, done in found.items()}
    holds = {}
    for dataset in plan.datasets:
        by_variant = [means[name, dataset] for name in VARIANTS if (name, dataset) in means]
        if len(by_variant) == len(VARIANTS):
            holds[dataset] = by_variant == sorted(by_variant, reverse=True)
    statement = "The full loss is best, then the one without decorrelation, and the one without invariance is worst"
    notes = paragraphs(count_note(map(len, found.values())), verdict(statement, holds))
    return Drawn({"": rows}, notes=notes)


EXPERIMENT = Experiment(
    title="Ablation: test accuracy (%) without each term of the loss (Table 4)",
    datasets=("cora", "citeseer", "pubmed"),
    cells=cells,
    draw=draw,
    n_seeds=10,  # the objectives are one to fifty points apart, runs of one a point or two
)
