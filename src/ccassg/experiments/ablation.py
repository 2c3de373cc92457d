"""Table 4 of the paper: what each term of the loss is worth."""

from pathlib import Path
from typing import Any

import numpy as np

from ccassg.experiments.experiment import Cells, Drawn, Experiment, Found, Plan
from ccassg.experiments.published import ABLATION
from ccassg.experiments.runs import OURS, classification_runs
from ccassg.experiments.tables import accuracies, count_note, in_titles, rows_by_dataset, verdict
from ccassg.report.tables import beside

# From the best to the worst, says the paper.
VARIANTS: dict[str, dict[str, Any]] = {
    "full": {},
    "without decorrelation": {"decorrelation": 0.0},
    "without invariance": {"invariance": 0.0},
}
NAMES = {name: name for name in VARIANTS}


def cells(plan: Plan) -> Cells:
    """Name every variant on every dataset."""
    return {
        (name, dataset): classification_runs(OURS, dataset, plan.n_seeds, changes)
        for dataset in plan.datasets
        for name, changes in VARIANTS.items()
    }


def draw(found: Found, plan: Plan, _: Path) -> Drawn:
    """Variants in rows."""
    rows = beside(
        rows_by_dataset(found, "objective", NAMES, plan.datasets), in_titles(ABLATION, NAMES), key="objective"
    )
    complete = [dataset for dataset in plan.datasets if all((name, dataset) in found for name in VARIANTS)]
    means = {dataset: [float(np.mean(accuracies(found[name, dataset]))) for name in VARIANTS] for dataset in complete}
    holds = {dataset: by_variant == sorted(by_variant, reverse=True) for dataset, by_variant in means.items()}
    claim = "The full loss is best, then the one without decorrelation, and the one without invariance is worst"
    return Drawn({"": rows}, notes=count_note(map(len, found.values())), findings=verdict(claim, holds))


EXPERIMENT = Experiment(
    title="Ablation: test accuracy (%) without each term of the loss (Table 4)",
    datasets=("cora", "citeseer", "pubmed"),
    cells=cells,
    draw=draw,
    quick_datasets=("cora", "citeseer"),
    n_seeds=10,  # the objectives are one to fifty points apart, runs of one a point or two
)
