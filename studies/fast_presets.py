"""The `fast` presets, whose loss sees a random subset of the nodes at each step, against the exact ones."""

from pathlib import Path
from typing import Any

from ccassg.experiments import Drawn, Experiment, Plan
from ccassg.experiments.experiment import Cells, Found
from ccassg.experiments.published import TITLES
from ccassg.experiments.runs import OURS, classification_runs
from ccassg.experiments.tables import count_note
from ccassg.model.presets import FAST, PRESETS
from studies import pairs
from studies.command import run_study


def cells(plan: Plan) -> Cells:
    """The exact and the fast preset on every dataset."""
    return {
        (dataset, kind): classification_runs(OURS, dataset, plan.n_seeds, changes)
        for dataset in plan.datasets
        for kind, changes in (("exact", {}), ("fast", FAST[dataset]))
    }


def draw(found: Found, plan: Plan, _: Path) -> Drawn | None:
    """Datasets in rows."""
    rows: list[dict[str, Any]] = []
    counts: list[int] = []
    for dataset in plan.datasets:
        both = pairs.paired(found.get((dataset, "exact"), []), found.get((dataset, "fast"), []))
        if both:
            counts.append(len(both))
            row = {
                "dataset": TITLES[dataset],
                "nodes in the loss": FAST[dataset]["loss_nodes"],
                "steps": (PRESETS[dataset] | FAST[dataset])["n_steps"],
            }
            rows.append(row | pairs.columns(both, "exact", "fast"))
    return Drawn({"": rows}, notes=f"{count_note(counts)} {pairs.NOTE}") if rows else None


STUDY = Experiment(
    title="Test accuracy (%) of the fast presets beside the exact ones",
    datasets=tuple(PRESETS),
    cells=cells,
    draw=draw,
)

if __name__ == "__main__":
    run_study("fast-presets", STUDY)
