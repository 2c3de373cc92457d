"""What the two main tables share: methods in rows, datasets in columns, the published value beside ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from ccassg.experiments import reduced
from ccassg.experiments.costs import NOTE, costs
from ccassg.experiments.experiment import Drawn, Plan, accuracies, classification_run, count_note, verdict
from ccassg.experiments.published import NAMES, TITLES, Table
from ccassg.experiments.records import Records, Run
from ccassg.report.tables import beside, mean_std


def runs(plan: Plan) -> list[Run]:
    """Every method on every dataset, as many seeds as planned."""
    return [
        classification_run(method, dataset, seed)
        for dataset in plan.datasets
        for method in plan.methods
        for seed in range(plan.n_seeds)
    ]


def draw(records: Records, plan: Plan, published: Table, *, digits: int) -> Drawn | None:
    """The table from what is recorded; published rows that were not run are shown as well."""
    rows: list[dict[str, Any]] = []
    taken: list[dict[str, Any]] = []
    counts: list[int] = []
    shown: list[tuple[str, str]] = []
    scores: dict[str, dict[str, list[float]]] = {dataset: {} for dataset in plan.datasets}
    for method in plan.methods:
        row: dict[str, Any] = {"method": NAMES[method]}
        cost: dict[str, Any] = {"method": NAMES[method]}
        for dataset in plan.datasets:
            found = records.of(classification_run(method, dataset, seed) for seed in range(plan.n_seeds))
            row[TITLES[dataset]] = mean_std(accuracies(found), digits=digits) if found else None
            cost[TITLES[dataset]] = ", ".join(costs(found).values()) if found else None
            counts.append(len(found))
            if found:
                shown.append((method, dataset))
                scores[dataset][method] = accuracies(found)
        if any(row[TITLES[dataset]] for dataset in plan.datasets):
            rows.append(row)
            taken.append(cost)
    if not rows:
        return None
    paper = {
        NAMES[method]: {TITLES[dataset]: value for dataset, value in values.items()}
        for method, values in published.items()
    }
    made = beside(rows, paper, key="method")
    order = list(NAMES.values())
    made.sort(key=lambda row: order.index(row["method"]))
    notes = f"{count_note(counts)} Cost: trained values, time, memory. {NOTE} "
    notes += (
        "Runs were made at different commits and beside others: compare times by the experiment scalability instead."
    )
    notes = f"{notes} {reduced.note(shown)}".strip()
    words = {dataset: _rank(found) for dataset, found in scores.items() if len(found) > 1 and "cca-ssg" in found}
    if words:
        notes += "\n\n" + verdict("CCA-SSG is above every other method", words)
    return Drawn({"": made, "cost": taken}, notes=notes)


def _rank(scores: dict[str, list[float]]) -> str:
    """How CCA-SSG compares with the best of the others, by more than the standard error of the difference or not."""
    ours = scores["cca-ssg"]
    best, theirs = max(((m, v) for m, v in scores.items() if m != "cca-ssg"), key=lambda pair: np.mean(pair[1]))
    if min(len(ours), len(theirs)) < 2:
        return f"undecided ({NAMES[best]} with too few runs)"
    above = np.mean(ours) - np.mean(theirs)
    error = np.sqrt(np.var(ours, ddof=1) / len(ours) + np.var(theirs, ddof=1) / len(theirs))
    if abs(above) <= error:
        return f"undecided ({NAMES[best]} within the standard error)"
    return "confirmed" if above > 0 else f"contradicted ({NAMES[best]} {-above:.1f} points above)"
