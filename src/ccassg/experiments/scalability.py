"""Table 5 of the paper: size of the model, time and memory of training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ccassg.experiments import reduced
from ccassg.experiments.costs import NOTE, costs
from ccassg.experiments.experiment import Drawn, Experiment, Plan, count_note, method_settings, verdict
from ccassg.experiments.published import NAMES, SCALABILITY, TITLES
from ccassg.experiments.records import Record, Records, Run
from ccassg.report.tables import beside

HEAVIER = ("mvgrl", "grace")
METHODS = ("dgi", "mvgrl", "grace", "cca-ssg")


def runs(plan: Plan) -> list[Run]:
    """Training alone, by every method on every dataset, apart from the runs of other tables: these may have shared the machine."""
    return [
        _run(method, dataset, seed)
        for dataset in plan.datasets
        for method in plan.methods
        for seed in range(plan.n_seeds)
    ]


def draw(records: Records, plan: Plan, _: Path) -> Drawn | None:
    """A table per dataset."""
    tables, counts = {}, []
    shown: list[tuple[str, str]] = []
    holds: dict[str, bool | str] = {}
    for dataset in plan.datasets:
        found = {m: records.of(_run(m, dataset, seed) for seed in range(plan.n_seeds)) for m in plan.methods}
        rows = [{"method": NAMES[method]} | costs(done) for method, done in found.items() if done]
        if rows:
            tables[TITLES[dataset]] = beside(rows, _published(dataset), key="method")
            counts += [len(done) for done in found.values()]
            shown += [(method, dataset) for method, done in found.items() if done]
            if all(found.get(method) for method in (*HEAVIER, "cca-ssg")):
                holds[dataset] = _lighter(found)
    if not tables:
        return None
    notes = (
        f"{count_note(counts)} {NOTE} The number of steps was chosen on validation. The paper's figures are those of an "
        "NVIDIA V100 and of its memory."
    )
    notes = f"{notes} {reduced.note(shown)}".strip()
    if holds:
        statement = "CCA-SSG trains in less time and memory than MVGRL and GRACE"
        notes += f"\n\n{verdict(statement, holds)}"
    return Drawn(tables, notes=notes)


def _lighter(found: dict[str, list[Record]]) -> bool | str:
    """Whether the paper's statement holds for time and memory, for one of them, or for neither."""

    def least(measure: Callable[[Record], float]) -> bool:
        return all(min(map(measure, found["cca-ssg"])) < min(map(measure, found[method])) for method in HEAVIER)

    holds = {
        "time": least(lambda record: record["seconds"]["fit"]),
        "memory": least(lambda record: record["result"]["peak_memory_fit_bytes"]),
    }
    if all(holds.values()) or not any(holds.values()):
        return all(holds.values())
    return f"confirmed for {next(what for what, held in holds.items() if held)} alone"


def _run(method: str, dataset: str, seed: int) -> Run:
    return {
        "task": "training-cost",
        "method": method,
        "dataset": dataset,
        "settings": method_settings(method, dataset),
        "seed": seed,
    }


def _published(dataset: str) -> dict[str, dict[str, str]]:
    return {
        NAMES[method]: {what: values[f"{dataset} {what}"] for what in ("parameters", "time", "memory")}
        for method, values in SCALABILITY.items()
    }


EXPERIMENT = Experiment(
    title="Parameters, training time and memory (Table 5)",
    datasets=("cora", "pubmed", "computers"),
    methods=METHODS,
    default_methods=METHODS,
    runs=runs,
    draw=draw,
    n_seeds=3,
    quick_seeds=1,
)
