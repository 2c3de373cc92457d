"""Table 4 of the paper: what each term of the loss is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ccassg.experiments.experiment import Drawn, Experiment, Plan, accuracies, classification_run, count_note, verdict
from ccassg.experiments.published import ABLATION, TITLES
from ccassg.experiments.records import Records, Run
from ccassg.report.tables import beside, mean_std

VARIANTS: dict[str, dict[str, Any]] = {
    "full": {},
    "without decorrelation": {"decorrelation": 0.0},
    "without invariance": {"invariance": 0.0},
}


def runs(plan: Plan) -> list[Run]:
    """Every variant on every dataset."""
    return [run for dataset in plan.datasets for name in VARIANTS for run in _runs(plan, dataset, name)]


def draw(records: Records, plan: Plan, _: Path) -> Drawn | None:
    """Variants in rows."""
    rows, counts = [], []
    means: dict[str, list[float]] = {dataset: [] for dataset in plan.datasets}
    for name in VARIANTS:
        row: dict[str, Any] = {"objective": name}
        for dataset in plan.datasets:
            values = accuracies(records.of(_runs(plan, dataset, name)))
            means[dataset] += [sum(values) / len(values)] if values else []
            row[TITLES[dataset]] = mean_std(values) if values else None
            counts.append(len(values))
        rows.append(row)
    if not any(counts):
        return None
    paper = {name: {TITLES[dataset]: v for dataset, v in values.items()} for name, values in ABLATION.items()}
    order = {d: done == sorted(done, reverse=True) for d, done in means.items() if len(done) == len(VARIANTS)}
    notes = count_note(counts)
    if order:
        statement = "The full loss is best, then the one without decorrelation, and the one without invariance is worst"
        notes += f"\n\n{verdict(statement, order)}"
    return Drawn({"": beside(rows, paper, key="objective")}, notes=notes)


def _runs(plan: Plan, dataset: str, name: str) -> list[Run]:
    return [classification_run("cca-ssg", dataset, seed, changes=VARIANTS[name]) for seed in range(plan.n_seeds)]


EXPERIMENT = Experiment(
    title="Ablation: test accuracy (%) without each term of the loss (Table 4)",
    datasets=("cora", "citeseer", "pubmed"),
    runs=runs,
    draw=draw,
    n_seeds=10,  # the objectives are one to fifty points apart, runs of one a point or two
)
