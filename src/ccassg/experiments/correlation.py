"""Pictures of the absolute correlation of the dimensions, without and with the decorrelation term (appendix of the paper)."""

from pathlib import Path
from typing import Any

from ccassg.experiments.experiment import Cells, Drawn, Experiment, Found, Plan
from ccassg.experiments.published import TITLES
from ccassg.experiments.records import unpack
from ccassg.experiments.runs import OURS, a_run
from ccassg.experiments.tables import verdict
from ccassg.report import style

# Columns that are shown: enough to see the texture, few enough to keep in a record.
N_COLUMNS = 256
# What is shown: which system's vectors, and what differs from its settings.
PANELS: dict[str, tuple[str, dict[str, Any]]] = {
    "raw features": ("raw-features", {}),
    "without decorrelation": (OURS, {"decorrelation": 0.0}),
    "with decorrelation": (OURS, {}),
}


def cells(plan: Plan) -> Cells:
    """Three matrices per dataset."""
    return {
        (dataset, panel): [a_run("correlation", method, dataset, changes=changes, n_columns=N_COLUMNS)]
        for dataset in plan.datasets
        for panel, (method, changes) in PANELS.items()
    }


def draw(found: Found, plan: Plan, figures: Path) -> Drawn | None:
    """Draw a row of panels per dataset, and the mean absolute correlation behind each."""
    results = {
        dataset: {panel: found[dataset, panel][0]["result"] for panel in PANELS}
        for dataset in plan.datasets
        if all((dataset, panel) in found for panel in PANELS)
    }
    if not results:
        return None
    with style.figure(len(results), len(PANELS), width=8.4, height=2.6 * len(results)) as (fig, axes):
        for line, (dataset, by_panel) in zip(axes, results.items(), strict=True):
            for ax, (panel, result) in zip(line, by_panel.items(), strict=True):
                style.heat_map(ax, unpack(result["matrix"]), low=0, high=1)
                ax.set(title=f"{TITLES[dataset]}: {panel}", xticks=[], yticks=[])
        style.save(fig, figures / "correlation")
    rows: list[dict[str, Any]] = [
        {
            "dataset": TITLES[dataset],
            "vectors": panel,
            "dimensions": result["n_columns"],
            "constant": result["n_constant_columns"],
            "mean absolute correlation": round(result["off_diagonal_correlation"], 4),
            "effective rank": round(result["effective_rank"], 1),
        }
        for dataset, by_panel in results.items()
        for panel, result in by_panel.items()
    ]
    notes = f"The pictures show {N_COLUMNS} evenly spaced dimensions; the numbers are of all."
    values = {d: [r["off_diagonal_correlation"] for r in by_panel.values()] for d, by_panel in results.items()}
    holds = {dataset: without > 2 * max(raw, with_) for dataset, (raw, without, with_) in values.items()}
    statement = "Without the decorrelation term dimensions become correlated, at least twice as much as with it or in the features"
    return Drawn({"": rows}, figures=("correlation",), notes=notes, findings=verdict(statement, holds))


EXPERIMENT = Experiment(
    title="Absolute correlation of the dimensions: raw features, without and with decorrelation",
    datasets=("cora", "citeseer", "pubmed"),
    cells=cells,
    draw=draw,
    quick_datasets=("citeseer",),
    n_seeds=1,
)
