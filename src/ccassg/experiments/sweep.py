"""Accuracy against one setting (the paper's figures "Effect of lambda" and "Effect of D"): a curve per citation graph."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ccassg.experiments.experiment import Cells, Drawn, Experiment, Found, Plan
from ccassg.experiments.published import TITLES
from ccassg.experiments.runs import OURS, classification_runs
from ccassg.experiments.tables import accuracies, count_note, rows_by_dataset, verdict
from ccassg.report import style

# Mean accuracy by value of the setting.
ByValue = dict[Any, float]


def _experiment(
    title: str,
    *,
    name: str,
    label: str,
    values: Callable[[Plan, str], Sequence[Any]],
    change: Callable[[Any], dict[str, Any]],
    statement: str,
    holds: Callable[[ByValue], bool],
) -> Experiment:
    """Make an experiment: a table with the values in rows, and a figure of this name with a logarithmic axis.

    ``change`` gives the settings of a value that differ from the paper's; ``holds`` tells whether the paper's statement is
    true of what was measured.
    """

    def cells(plan: Plan) -> Cells:
        return {
            (value, dataset): classification_runs(OURS, dataset, plan.n_seeds, change(value))
            for dataset in plan.datasets
            for value in values(plan, dataset)
        }

    def draw(found: Found, plan: Plan, figures: Path) -> Drawn | None:
        scores: dict[str, dict[Any, list[float]]] = {dataset: {} for dataset in plan.datasets}
        for value, dataset in sorted(found):
            scores[dataset][value] = accuracies(found[value, dataset])
        # One value, which other tables have recorded, says nothing about the others.
        judged = {
            dataset: {value: float(np.mean(runs)) for value, runs in by_value.items()}
            for dataset, by_value in scores.items()
            if len(by_value) > 1
        }
        if not judged:
            return None
        shown = {value: f"{value:g}" for value in sorted({value for value, _ in found})}
        rows = rows_by_dataset(found, label, shown, plan.datasets)
        _draw_curves(scores, label, figures / name)
        best = "; ".join(_best(dataset, by_value) for dataset, by_value in judged.items())
        findings = verdict(statement, {dataset: holds(by_value) for dataset, by_value in judged.items()})
        notes = f"{count_note(map(len, found.values()))} Best: {best}."
        return Drawn({"": rows}, figures=(name,), notes=notes, findings=findings)

    return Experiment(
        title=title,
        datasets=("cora", "citeseer", "pubmed"),
        cells=cells,
        draw=draw,
        n_seeds=5,
        quick_datasets=("cora", "citeseer"),
    )


def _near_best(by_value: ByValue, *, within: float = 1.0) -> list[Any]:
    """Return the values whose accuracy is within so many points of the best, in increasing order."""
    top = max(by_value.values())
    return sorted(value for value, mean in by_value.items() if mean >= top - within)


def _draw_curves(scores: dict[str, dict[Any, list[float]]], label: str, path: Path) -> None:
    with style.figure(width=5.0, height=3.2) as (fig, axes):
        ax = axes[0, 0]
        for dataset, done in scores.items():
            if done:
                means, stds = [np.mean(runs) for runs in done.values()], [np.std(runs) for runs in done.values()]
                style.band(ax, list(done), means, stds, label=TITLES[dataset])
        ax.set(xscale="log", xlabel=label, ylabel="test accuracy (%)")
        values = sorted({value for done in scores.values() for value in done})
        if all(isinstance(value, int) for value in values):  # widths double: a tick for each
            ax.set_xticks(values, labels=[str(value) for value in values])
            ax.minorticks_off()
        ax.legend()
        style.save(fig, path)


def _best(dataset: str, by_value: ByValue) -> str:
    top, near = max(by_value, key=lambda value: by_value[value]), _near_best(by_value)
    if len(near) == 1:
        return f"{TITLES[dataset]} at {top:g}, with no other within one point"
    return f"{TITLES[dataset]} at {top:g}, within one point of that from {near[0]:g} to {near[-1]:g}"


def _lambdas(plan: Plan, _dataset: str) -> tuple[float, ...]:
    """Return the paper's search grid, and beyond it to both sides until something breaks."""
    return (1e-4, 1e-3, 1e-2) if plan.quick else (1e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 1e-1)


def _near_best_inside(by_value: ByValue) -> bool:
    """Whether the paper's two values hold one that is near the best, and both ends are worse."""
    near = _near_best(by_value)
    return bool({5e-4, 1e-3} & set(near)) and min(by_value) < near[0] and near[-1] < max(by_value)


def _widths(plan: Plan, dataset: str) -> tuple[int, ...]:
    """The cost grows with the square of the width; Pubmed at 2048 would take longer than all the rest together."""
    if plan.quick:
        return (64, 512)
    return (32, 64, 128, 256, 512, 1024) if dataset == "pubmed" else (32, 64, 128, 256, 512, 1024, 2048)


def _rises_and_falls(by_value: ByValue) -> bool:
    """Whether wide is better than narrow, and too wide worse."""
    best = max(by_value, key=lambda width: by_value[width])
    return bool(256 <= best < max(by_value))


TRADE_OFF = _experiment(
    "Test accuracy (%) against the weight of the decorrelation term",
    name="lambda",
    label="lambda",
    values=_lambdas,
    change=lambda value: {"decorrelation": value},
    statement="A lambda of 0.0005 or 0.001 is right (one of them within one point of the best), much less or much more is worse",
    holds=_near_best_inside,
)
DIMENSION = _experiment(
    "Test accuracy (%) against the width of the embedding",
    name="dimension",
    label="width D",
    values=_widths,
    # Hidden layer and embedding have one width, as in the paper's grid.
    change=lambda width: {"hidden_dim": width, "embedding_dim": width},
    statement="Accuracy rises with the width up to some hundreds of dimensions and falls beyond",
    holds=_rises_and_falls,
)
