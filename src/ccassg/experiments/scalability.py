"""Table 5 of the paper: size of the model, time and memory of training."""

import functools
from pathlib import Path

from ccassg.experiments.experiment import Drawn, Experiment, Found, Plan, by_method
from ccassg.experiments.published import NAMES, SCALABILITY, TITLES
from ccassg.experiments.records import Record
from ccassg.experiments.runs import OURS, a_run, reduced_note
from ccassg.experiments.tables import COST_NOTE, costs, count_note, verdict
from ccassg.report.tables import beside

HEAVIER = ("mvgrl", "grace")
METHODS = ("dgi", "mvgrl", "grace", OURS)


def draw(found: Found, plan: Plan, _: Path) -> Drawn:
    """Draw a table per dataset."""
    tables = {}
    holds: dict[str, bool | str] = {}
    for dataset in plan.datasets:
        by_method = {method: found[method, dataset] for method in plan.methods if (method, dataset) in found}
        published = {NAMES[method]: values for method, values in SCALABILITY[dataset].items()}
        rows = [{"method": NAMES[method]} | costs(done) for method, done in by_method.items()]
        if rows:
            tables[TITLES[dataset]] = beside(rows, published, key="method")
        if {*HEAVIER, OURS} <= set(by_method):
            holds[dataset] = _lighter(by_method)
    notes = (
        f"{count_note(map(len, found.values()))} {COST_NOTE} The number of steps was chosen on validation. The paper's figures are those of an "
        "NVIDIA V100 and of its memory."
    )
    findings = verdict("CCA-SSG trains in less time and memory than MVGRL and GRACE", holds)
    return Drawn(tables, notes=f"{notes} {reduced_note(found)}".strip(), findings=findings)


def _lighter(by_method: dict[str, list[Record]]) -> bool | str:
    """Whether the paper's statement holds for time and memory, for one of them, or for neither."""
    won = []
    for what, part, name in (("time", "seconds", "fit"), ("memory", "result", "peak_memory_fit_bytes")):
        least = {method: min(record[part][name] for record in by_method[method]) for method in (*HEAVIER, OURS)}
        if all(least[OURS] < least[method] for method in HEAVIER):
            won.append(what)
    return f"confirmed for {won[0]} alone" if len(won) == 1 else bool(won)


EXPERIMENT = Experiment(
    title="Parameters, training time and memory (Table 5)",
    datasets=("cora", "pubmed", "computers"),
    methods=METHODS,
    # Training alone, apart from the runs of other tables: these may have shared the machine.
    cells=by_method(functools.partial(a_run, "training-cost")),
    draw=draw,
    n_seeds=3,
    quick_seeds=1,
)
