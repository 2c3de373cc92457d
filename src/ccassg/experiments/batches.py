"""Training on batches of an eighth of the graph against training on the whole graph at every step."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from ccassg.datasets import CARDS
from ccassg.experiments import pairs
from ccassg.experiments.experiment import Drawn, Experiment, Plan, classification_run, count_note
from ccassg.experiments.published import TITLES
from ccassg.experiments.records import Records, Run
from ccassg.model.presets import PRESETS
from ccassg.training import batches

PART = 8
# How second moments are estimated, by what a run says of it; the first was given up, and its records show why.
FORMER, PRESENT = "eight batches", "as needed"
ESTIMATES: dict[str, dict[str, Any]] = {FORMER: {}, PRESENT: {"sampling": batches.VERSION}}
# Batches per step of the preset: as many and, on the smallest, twice as many.
STEPS = {"cora": (1, 2), "pubmed": (1,), "computers": (1,), "physics": (1,)}


def runs(plan: Plan) -> list[Run]:
    """The whole graph, and batches for as many steps or more."""
    return [
        run for dataset in plan.datasets for factor in (None, *STEPS[dataset]) for run in _runs(plan, dataset, factor)
    ]


def draw(records: Records, plan: Plan, _: Path) -> Drawn | None:
    """Datasets and numbers of steps in rows."""
    rows: list[dict[str, Any]] = []
    counts: list[int] = []
    for dataset in plan.datasets:
        for factor, estimate in itertools.product(STEPS[dataset], ESTIMATES):
            batched = _runs(plan, dataset, factor, estimate)
            found = pairs.paired(records, _runs(plan, dataset, None), batched)
            if not found:
                continue
            counts.append(len(found))
            settings = batched[0]["settings"]
            row = {"dataset": TITLES[dataset], "nodes": settings["batch_nodes"], "steps": settings["n_steps"]}
            row["moments"] = estimate
            rows.append(row | pairs.columns(found, "whole graph", "batches"))
    if not rows:
        return None
    notes = (
        f"{count_note(counts)} {pairs.NOTE} Moments: the loss of a batch is taken at second moments over {FORMER}, as it was at "
        f"first, or {PRESENT}, as it is now: over as many as give {batches.NODES_PER_DIMENSION:g} nodes per dimension."
    )
    return Drawn({"": rows}, notes=notes)


def _runs(plan: Plan, dataset: str, factor: int | None, estimate: str = PRESENT) -> list[Run]:
    changes: dict[str, Any] = {}
    marks: dict[str, Any] = {}
    if factor is not None:
        changes = {"batch_nodes": -(-CARDS[dataset].n_nodes // PART), "n_steps": factor * PRESETS[dataset]["n_steps"]}
        marks = ESTIMATES[estimate]
    return [classification_run("cca-ssg", dataset, seed, changes=changes) | marks for seed in range(plan.n_seeds)]


EXPERIMENT = Experiment(
    title="Test accuracy (%) with batches of an eighth of the graph beside the whole graph",
    datasets=("cora", "pubmed", "computers", "physics"),
    runs=runs,
    draw=draw,
    n_seeds=5,
)
