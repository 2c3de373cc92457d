"""Training on batches of an eighth of the graph against training on the whole graph at every step."""

import itertools
from pathlib import Path
from typing import Any

from ccassg.datasets import CARDS
from ccassg.experiments import Drawn, Experiment, Plan
from ccassg.experiments.experiment import Cells, Found
from ccassg.experiments.published import TITLES
from ccassg.experiments.records import Run
from ccassg.experiments.runs import OURS, classification_runs
from ccassg.experiments.tables import count_note
from ccassg.model.presets import PRESETS
from ccassg.training import batches
from studies import pairs
from studies.command import run_study

PART = 8
# How second moments are estimated, by what a run says of it. Training does it as needed; the other has records, which show why.
EIGHT, AS_NEEDED = "eight batches", "as needed"
ESTIMATES: dict[str, dict[str, Any]] = {EIGHT: {}, AS_NEEDED: {"sampling": batches.VERSION}}
# Batches per step of the preset: as many and, on the smallest, twice as many.
STEPS = {"cora": (1, 2), "pubmed": (1,), "computers": (1,), "physics": (1,)}


def cells(plan: Plan) -> Cells:
    """The whole graph, and batches for as many steps or more."""
    made: Cells = {}
    for dataset in plan.datasets:
        made[dataset, None] = classification_runs(OURS, dataset, plan.n_seeds)
        for factor in STEPS[dataset]:
            made[dataset, factor, AS_NEEDED] = batch_runs(plan, dataset, factor, AS_NEEDED)
    return made


def former(plan: Plan) -> Cells:
    """Batches with the moments of eight of them."""
    return {(d, factor, EIGHT): batch_runs(plan, d, factor, EIGHT) for d in plan.datasets for factor in STEPS[d]}


def batch_runs(plan: Plan, dataset: str, factor: int, estimate: str) -> list[Run]:
    """Batches of an eighth of the nodes, so many per step of the preset."""
    changes = {"batch_nodes": -(-CARDS[dataset].n_nodes // PART), "n_steps": factor * PRESETS[dataset]["n_steps"]}
    return [run | ESTIMATES[estimate] for run in classification_runs(OURS, dataset, plan.n_seeds, changes)]


def draw(found: Found, plan: Plan, _: Path) -> Drawn | None:
    """Datasets and numbers of steps in rows."""
    rows: list[dict[str, Any]] = []
    counts: list[int] = []
    for dataset in plan.datasets:
        for factor, estimate in itertools.product(STEPS[dataset], ESTIMATES):
            batched = found.get((dataset, factor, estimate), [])
            both = pairs.paired(found.get((dataset, None), []), batched)
            if both:
                counts.append(len(both))
                settings = batched[0]["run"]["settings"]
                row = {"dataset": TITLES[dataset], "nodes": settings["batch_nodes"], "steps": settings["n_steps"]}
                rows.append(row | {"moments": estimate} | pairs.columns(both, "whole graph", "batches"))
    if not rows:
        return None
    notes = (
        f"{count_note(counts)} {pairs.NOTE} Moments: the loss of a batch is taken at second moments over {EIGHT}, or "
        f"{AS_NEEDED}, which is what training does: over as many as give {batches.NODES_PER_DIMENSION:g} nodes per dimension."
    )
    return Drawn({"": rows}, notes=notes)


STUDY = Experiment(
    title="Test accuracy (%) with batches of an eighth of the graph beside the whole graph",
    datasets=("cora", "pubmed", "computers", "physics"),
    cells=cells,
    former=former,
    draw=draw,
    n_seeds=5,
)

if __name__ == "__main__":
    run_study("batches", STUDY)
