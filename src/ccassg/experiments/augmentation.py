"""Heat maps of accuracy against edge dropping and feature masking (appendix of the paper)."""

from pathlib import Path

import numpy as np

from ccassg.experiments.experiment import Cells, Drawn, Experiment, Found, Plan
from ccassg.experiments.published import NO_AUGMENTATION, TITLES
from ccassg.experiments.runs import OURS, classification_runs
from ccassg.experiments.tables import accuracies, count_note, verdict
from ccassg.model.presets import FAST, PRESETS
from ccassg.report import style
from ccassg.systems.presets import OTHERS

RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)


def cells(plan: Plan) -> Cells:
    """Name every pair of rates on every dataset, with all else as in the fast preset."""
    return {
        (dataset, p_e, p_f): classification_runs(
            OURS, dataset, len(plan.seeds(dataset)), FAST[dataset] | {"edge_drop_rate": p_e, "feature_mask_rate": p_f}
        )
        for dataset in plan.datasets
        # An MLP sees no edges, so that there is nothing to vary.
        for p_e in (RATES[:1] if PRESETS[dataset]["encoder"] == "mlp" else _rates(plan, dataset))
        for p_f in _rates(plan, dataset)
    }


def draw(found: Found, plan: Plan, figures: Path) -> Drawn | None:
    """Draw one heat map per dataset, p_e down, p_f across; what is not recorded is hatched."""
    maps = {dataset: _grid(found, dataset) for dataset in plan.datasets}
    # One cell, the preset's, which other tables have recorded, is no map.
    maps = {dataset: values for dataset, values in maps.items() if np.isfinite(values).sum() > 1}
    if not maps:
        return None
    n_cols = min(len(maps), 3)
    n_rows = -(-len(maps) // n_cols)
    with style.figure(n_rows, n_cols) as (fig, axes):
        for ax in axes.flat[len(maps) :]:
            ax.set_axis_off()
        for ax, (dataset, values) in zip(axes.flat, maps.items(), strict=False):
            down, across = _tried(values)
            style.heat_map(
                ax,
                values[np.ix_(down, across)],
                x_labels=[f"{RATES[i]:g}" for i in across],
                y_labels=[f"{RATES[i]:g}" for i in down],
                low=np.nanmin(values.flat[1:]),  # the corner without augmentation would leave no colours for the others
                text=".1f",
            )
            ax.set(title=TITLES[dataset], xlabel="feature mask rate", ylabel="edge drop rate")
        style.save(fig, figures / "augmentation")
    rows = [_row(dataset, values) for dataset, values in maps.items()]
    holds = {d: bool(values[0, 0] < np.nanmax(values) - 1) for d, values in maps.items() if values[0, 0] > 0}
    notes = count_note((len(done) for (dataset, *_), done in found.items() if dataset in maps), "Mean")
    notes += " All but the rates is as in the fast presets, whose loss sees a random subset of the nodes at each step."
    notes += " Colours span the cells with some augmentation; the corner without any is often far below them."
    if any(np.isnan(values[np.ix_(*_tried(values))]).any() for values in maps.values()):
        notes += " Hatched cells were not run."
    findings = verdict("Without augmentation accuracy is lower by more than a point", holds)
    return Drawn({"": rows}, figures=("augmentation",), notes=notes, findings=findings)


def _tried(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which p_e and which p_f have a value at all."""
    done = np.isfinite(values)
    return np.flatnonzero(done.any(1)), np.flatnonzero(done.any(0))


def _row(dataset: str, values: np.ndarray) -> dict[str, object]:
    p_e, p_f = np.unravel_index(np.nanargmax(values), values.shape)
    preset = PRESETS[dataset]
    # The lowest accuracy with some augmentation of each kind: how sensitive the method is.
    both = values[1:, 1:] if np.isfinite(values[1:, 1:]).any() else values[:, 1:]
    return {
        "dataset": TITLES[dataset],
        "no augmentation": f"{values[0, 0]:.1f}",
        "no augmentation (paper)": f"{NO_AUGMENTATION[dataset]:.1f}",
        "best": f"{values[p_e, p_f]:.1f}",
        "best at (p_e, p_f)": f"{RATES[p_e]:g}, {RATES[p_f]:g}",
        "the paper's (p_e, p_f)": f"{preset['edge_drop_rate']:g}, {preset['feature_mask_rate']:g}",
        "worst with both": f"{np.nanmin(both):.1f}" if np.isfinite(both).any() else None,
    }


def _grid(found: Found, dataset: str) -> np.ndarray:
    """Return the mean accuracies (p_e, p_f), NaN where there is none."""
    means = np.full((len(RATES), len(RATES)), np.nan)
    for (name, p_e, p_f), done in found.items():
        if name == dataset:
            means[RATES.index(p_e), RATES.index(p_f)] = np.mean(accuracies(done))
    return means


def _rates(plan: Plan, dataset: str) -> tuple[float, ...]:
    if not plan.quick:
        return RATES
    return (0.0, 0.2, 0.4) if dataset in ("cora", "citeseer", "cs") else (0.0, 0.4)


EXPERIMENT = Experiment(
    title="Test accuracy (%) against the strength of the augmentation",
    datasets=("cora", "citeseer", "pubmed", "computers", "photo", "cs", "physics"),
    cells=cells,
    draw=draw,
    n_seeds=3,
    # Public splits are small: a run of another seed is a point away, on the larger sets a tenth.
    fewer=dict.fromkeys(OTHERS, 1),
    quick_datasets=("cora",),
)
