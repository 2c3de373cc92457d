"""The `fast` presets, whose loss sees a random subset of the nodes at each step, against the exact ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ccassg.experiments import pairs
from ccassg.experiments.experiment import Drawn, Experiment, Plan, classification_run, count_note
from ccassg.experiments.published import TITLES
from ccassg.experiments.records import Records, Run
from ccassg.model.presets import FAST, PRESETS


def runs(plan: Plan) -> list[Run]:
    """The exact and the fast preset on every dataset."""
    return [run for dataset in plan.datasets for fast in (False, True) for run in _runs(plan, dataset, fast=fast)]


def draw(records: Records, plan: Plan, _: Path) -> Drawn | None:
    """Datasets in rows."""
    rows: list[dict[str, Any]] = []
    counts: list[int] = []
    for dataset in plan.datasets:
        found = pairs.paired(records, _runs(plan, dataset, fast=False), _runs(plan, dataset, fast=True))
        if not found:
            continue
        counts.append(len(found))
        row = {"dataset": TITLES[dataset], "nodes in the loss": FAST[dataset]["loss_nodes"]}
        rows.append(row | pairs.columns(found, "exact", "fast"))
    if not rows:
        return None
    return Drawn({"": rows}, notes=f"{count_note(counts)} {pairs.NOTE}")


def _runs(plan: Plan, dataset: str, *, fast: bool) -> list[Run]:
    changes = FAST[dataset] if fast else {}
    return [classification_run("cca-ssg", dataset, seed, changes=changes) for seed in range(plan.n_seeds)]


EXPERIMENT = Experiment(
    title="Test accuracy (%) of the fast presets beside the exact ones",
    datasets=tuple(PRESETS),
    runs=runs,
    draw=draw,
)
