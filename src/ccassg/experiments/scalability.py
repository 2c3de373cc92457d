"""Table 5 of the paper: size of the model, time and memory of training."""

from pathlib import Path

from ccassg.experiments.experiment import Drawn, Experiment, Found, Plan, by_method
from ccassg.experiments.published import NAMES, SCALABILITY, TITLES
from ccassg.experiments.records import Record, Run
from ccassg.experiments.runs import OURS, a_run, reduced_note
from ccassg.experiments.tables import count_note, verdict
from ccassg.report.tables import beside

HEAVIER = ("mvgrl", "grace")
METHODS = ("dgi", "mvgrl", "grace", OURS)
NOTE = (
    "Time is that of a whole training, `fit` with all the steps of the preset, in a process of its own: no data are read, nothing is "
    "embedded or scored. `ccassg bench` times steps, and the front page shows those. Memory: the highest resident memory of the process "
    "up to the end of training, of which Python and its libraries take about 0.4 GB. Runs are done one at a time, with all "
    "processors, and nothing else beside them."
)


def draw(found: Found, plan: Plan, _: Path) -> Drawn:
    """Draw a table per dataset."""
    tables = {}
    holds: dict[str, bool | str] = {}
    for dataset in plan.datasets:
        by_method = {method: found[method, dataset] for method in plan.methods if (method, dataset) in found}
        published = {NAMES[method]: values for method, values in SCALABILITY[dataset].items()}
        rows = [{"method": NAMES[method]} | _costs(done) for method, done in by_method.items()]
        if rows:
            tables[TITLES[dataset]] = beside(rows, published, key="method")
        if {*HEAVIER, OURS} <= set(by_method):
            holds[dataset] = _lighter(by_method)
    notes = (
        f"{count_note(map(len, found.values()), 'The best')} {NOTE} {_machine_note(found)} The paper's figures are those of an NVIDIA V100 "
        "and of its memory."
    )
    findings = verdict("CCA-SSG trains in less time and memory than MVGRL and GRACE", holds)
    return Drawn(tables, notes=f"{notes} {reduced_note(found)}".strip(), findings=findings)


def _costs(done: list[Record]) -> dict[str, str]:
    """Trained values, and the least time and memory of training of runs that differ in the seed only."""
    n_parameters = done[0]["result"]["n_parameters"]
    return {
        "parameters": f"{n_parameters / 1000:.0f}K" if n_parameters else "0",
        "time": f"{min(record['seconds']['fit'] for record in done):.1f} s",
        "memory": f"{min(record['result']['peak_memory_fit_bytes'] for record in done) / 1e9:.1f} GB",
    }


def _machine_note(found: Found) -> str:
    """Say how many threads the runs had, and how much of the processors other programs took meanwhile, where that is known."""
    records = [record for done in found.values() for record in done]
    threads = sorted({record["machine"]["threads"] for record in records})
    shares = [record["result"].get("share_of_others") for record in records]
    known = [share for share in shares if share is not None]
    others = f"; other programs took up to {100 * max(known):.0f} % of the processors meanwhile" if known else ""
    return f"Threads: {', '.join(map(str, threads))}{others}."


def _run(method: str, dataset: str, seed: int) -> Run:
    """Return a run of training alone, with the machine to itself."""
    return a_run("training-cost", method, dataset, seed, alone=True)


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
    cells=by_method(_run),
    draw=draw,
    n_seeds=3,
    quick_datasets=("cora",),
    quick_methods=("dgi", "mvgrl", OURS),
)
