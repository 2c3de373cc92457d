"""Tables 2 and 3 of the paper, node classification: methods in rows, datasets in columns, the published value beside ours."""

import functools
from pathlib import Path

import numpy as np

from ccassg.experiments.experiment import Drawn, Experiment, Found, Plan, by_method
from ccassg.experiments.published import CITATION, COPURCHASE, NAMES, Table
from ccassg.experiments.runs import OURS, classification_run, reduced_note
from ccassg.experiments.tables import (
    COST_NOTE,
    accuracies,
    accuracy_cell,
    costs,
    count_note,
    in_titles,
    rows_by_dataset,
    verdict,
)
from ccassg.report.tables import beside


def draw(found: Found, plan: Plan, _: Path, *, published: Table, digits: int) -> Drawn:
    """Draw the table from what is recorded; published rows that were not run are shown as well."""
    names = {method: NAMES[method] for method in plan.methods}
    rows = rows_by_dataset(found, "method", names, plan.datasets, functools.partial(accuracy_cell, digits=digits))
    taken = rows_by_dataset(found, "method", names, plan.datasets, lambda done: ", ".join(costs(done).values()))
    made = beside(rows, in_titles(published, NAMES), key="method")
    order = list(NAMES.values())
    made.sort(key=lambda row: order.index(row["method"]))
    notes = (
        f"{count_note(map(len, found.values()))} Cost: trained values, time, memory. {COST_NOTE} "
        "Runs were made at different commits and beside others: compare times by the experiment scalability instead."
    )
    less = reduced_note((m, d) for m in plan.methods for d in plan.datasets if (m, d) in found)
    scores = {d: {m: accuracies(found[m, d]) for m in plan.methods if (m, d) in found} for d in plan.datasets}
    words = {dataset: _rank(done) for dataset, done in scores.items() if len(done) > 1 and OURS in done}
    findings = verdict("CCA-SSG is above every other method", words)
    return Drawn({"": made, "cost": taken}, notes=f"{notes} {less}".strip(), findings=findings, folded=("cost",))


def _rank(scores: dict[str, list[float]]) -> str:
    """Return how CCA-SSG compares with the best of the others, by more than the standard error of the difference or not."""
    ours = scores[OURS]
    best, theirs = max(((m, v) for m, v in scores.items() if m != OURS), key=lambda pair: np.mean(pair[1]))
    if min(len(ours), len(theirs)) < 2:
        return f"undecided ({NAMES[best]} with too few runs)"
    above = np.mean(ours) - np.mean(theirs)
    error = np.sqrt(np.var(ours, ddof=1) / len(ours) + np.var(theirs, ddof=1) / len(theirs))
    if abs(above) <= error:
        return f"undecided ({NAMES[best]} within the standard error)"
    return "confirmed" if above > 0 else f"contradicted ({NAMES[best]} {-above:.1f} points above)"


def _experiment(title: str, published: Table, *, digits: int) -> Experiment:
    """Make the experiment of every method on the datasets of a published table."""
    return Experiment(
        title=title,
        datasets=tuple(published[OURS]),
        methods=tuple(NAMES),
        default_methods=(OURS,),
        cells=by_method(classification_run),
        draw=functools.partial(draw, published=published, digits=digits),
    )


CITATION_GRAPHS = _experiment("Test accuracy (%) on citation graphs, public splits (Table 2)", CITATION, digits=1)
COPURCHASE_GRAPHS = _experiment(
    "Test accuracy (%) on co-purchase and co-author graphs, random splits (Table 3)", COPURCHASE, digits=2
)
