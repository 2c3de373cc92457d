"""Pictures of the absolute correlation of the dimensions, without and with the decorrelation term (appendix of the paper)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ccassg.experiments.experiment import Drawn, Experiment, Plan, settings, verdict
from ccassg.experiments.published import TITLES
from ccassg.experiments.records import Records, Run, unpack
from ccassg.report import style

# Columns that are shown: enough to see the texture, few enough to keep in a record.
N_COLUMNS = 256
PANELS = ("raw features", "without decorrelation", "with decorrelation")


def runs(plan: Plan) -> list[Run]:
    """Three matrices per dataset."""
    return [_run(dataset, panel) for dataset in plan.datasets for panel in PANELS]


def draw(records: Records, plan: Plan, figures: Path) -> Drawn | None:
    """A row of panels per dataset, and the mean absolute correlation behind each."""
    found = {dataset: records.of(_run(dataset, panel) for panel in PANELS) for dataset in plan.datasets}
    found = {dataset: done for dataset, done in found.items() if len(done) == len(PANELS)}
    if not found:
        return None
    with style.figure(len(found), len(PANELS), width=8.4, height=2.6 * len(found)) as (fig, axes):
        for line, (dataset, done) in zip(axes, found.items(), strict=True):
            for ax, panel, record in zip(line, PANELS, done, strict=True):
                style.heat_map(ax, unpack(record["result"]["matrix"]), low=0, high=1)
                ax.set(title=f"{TITLES[dataset]}: {panel}", xticks=[], yticks=[])
        style.save(fig, figures / "correlation")
    rows: list[dict[str, Any]] = [
        {
            "dataset": TITLES[dataset],
            "vectors": panel,
            "dimensions": record["result"]["n_columns"],
            "constant": record["result"]["n_constant_columns"],
            "mean absolute correlation": round(record["result"]["off_diagonal_correlation"], 4),
            "effective rank": round(record["result"]["effective_rank"], 1),
        }
        for dataset, done in found.items()
        for panel, record in zip(PANELS, done, strict=True)
    ]
    notes = f"The pictures show {N_COLUMNS} evenly spaced dimensions; the numbers are of all."
    values = {d: [record["result"]["off_diagonal_correlation"] for record in done] for d, done in found.items()}
    holds = {dataset: without > 2 * max(raw, with_) for dataset, (raw, without, with_) in values.items()}
    statement = "Without the decorrelation term dimensions become correlated, at least twice as much as with it or in the features"
    return Drawn({"": rows}, figures=("correlation",), notes=f"{notes}\n\n{verdict(statement, holds)}")


def _run(dataset: str, panel: str) -> Run:
    changes = {"decorrelation": 0.0} if panel == "without decorrelation" else {}
    return {
        "task": "correlation",
        "method": "raw-features" if panel == "raw features" else "cca-ssg",
        "dataset": dataset,
        "settings": {} if panel == "raw features" else settings(dataset, **changes),
        "n_columns": N_COLUMNS,
        "seed": 0,
    }


EXPERIMENT = Experiment(
    title="Absolute correlation of the dimensions: raw features, without and with decorrelation",
    datasets=("cora", "citeseer", "pubmed"),
    runs=runs,
    draw=draw,
    n_seeds=1,
    quick_seeds=1,
)
