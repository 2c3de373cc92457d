"""Table 5 of the paper: size of the model, time and memory of training."""

from collections.abc import Callable
from pathlib import Path

from ccassg.experiments import reduced
from ccassg.experiments.costs import NOTE, costs
from ccassg.experiments.experiment import Drawn, Experiment, Found, Plan, by_method
from ccassg.experiments.published import NAMES, SCALABILITY, TITLES
from ccassg.experiments.records import Record, Run
from ccassg.experiments.runs import OURS, method_settings
from ccassg.experiments.tables import count_note, paragraphs, verdict
from ccassg.report.tables import beside

HEAVIER = ("mvgrl", "grace")
METHODS = ("dgi", "mvgrl", "grace", OURS)


def draw(found: Found, plan: Plan, _: Path) -> Drawn | None:
    """A table per dataset."""
    if not found:
        return None
    tables = {}
    holds: dict[str, bool | str] = {}
    for dataset in plan.datasets:
        by_method = {method: found[method, dataset] for method in plan.methods if (method, dataset) in found}
        rows = [{"method": NAMES[method]} | costs(done) for method, done in by_method.items()]
        if rows:
            tables[TITLES[dataset]] = beside(rows, _published(dataset), key="method")
        if {*HEAVIER, OURS} <= set(by_method):
            holds[dataset] = _lighter(by_method)
    notes = (
        f"{count_note(map(len, found.values()))} {NOTE} The number of steps was chosen on validation. The paper's figures are those of an "
        "NVIDIA V100 and of its memory."
    )
    finding = verdict("CCA-SSG trains in less time and memory than MVGRL and GRACE", holds)
    return Drawn(tables, notes=paragraphs(f"{notes} {reduced.note(found)}".strip(), finding))


def _lighter(by_method: dict[str, list[Record]]) -> bool | str:
    """Whether the paper's statement holds for time and memory, for one of them, or for neither."""

    def least(cost: Callable[[Record], float]) -> bool:
        return all(min(map(cost, by_method[OURS])) < min(map(cost, by_method[method])) for method in HEAVIER)

    holds = {
        "time": least(lambda record: record["seconds"]["fit"]),
        "memory": least(lambda record: record["result"]["peak_memory_fit_bytes"]),
    }
    if all(holds.values()) or not any(holds.values()):
        return all(holds.values())
    return f"confirmed for {next(what for what, held in holds.items() if held)} alone"


def _run(method: str, dataset: str, seed: int) -> Run:
    """Training alone, apart from the runs of other tables: these may have shared the machine."""
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
    cells=by_method(_run),
    draw=draw,
    n_seeds=3,
    quick_seeds=1,
)
