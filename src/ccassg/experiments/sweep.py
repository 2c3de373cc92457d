"""What the paper's two figures of one setting share: accuracy against the setting, a curve per dataset."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ccassg.experiments.experiment import Cells, Drawn, Experiment, Found, Plan
from ccassg.experiments.published import TITLES
from ccassg.experiments.runs import OURS, classification_runs
from ccassg.experiments.tables import accuracies, count_note, rows_by_dataset, verdict
from ccassg.report import style

ByValue = dict[Any, float]


def experiment(
    title: str,
    *,
    name: str,
    label: str,
    values: Callable[[Plan, str], Sequence[Any]],
    change: Callable[[Any], dict[str, Any]],
    statement: str,
    holds: Callable[[ByValue], bool],
) -> Experiment:
    """A table with the values in rows and a figure with a logarithmic axis, on the three citation graphs.

    Parameters
    ----------
    name : str
        Of the figure.
    label : str
        Of the setting.
    values : function of (plan, dataset)
        The values of the setting.
    change : function of a value
        The settings that differ from the paper's.
    statement : str
        Of the paper.
    holds : function of the mean accuracies by value
        Whether the statement is true of them.
    """

    def cells(plan: Plan) -> Cells:
        return {
            (value, dataset): classification_runs(OURS, dataset, plan.n_seeds, change(value))
            for dataset in plan.datasets
            for value in values(plan, dataset)
        }

    def draw(found: Found, plan: Plan, figures: Path) -> Drawn | None:
        means = {
            d: {value: float(np.mean(accuracies(done))) for (value, dataset), done in found.items() if dataset == d}
            for d in plan.datasets
        }
        # One value, which other tables have recorded, says nothing about the others.
        judged = {dataset: by_value for dataset, by_value in means.items() if len(by_value) > 1}
        if not judged:
            return None
        shown = {value: f"{value:g}" for value in sorted({value for value, _ in found})}
        rows = rows_by_dataset(found, label, shown, plan.datasets)
        _draw_curves(found, plan.datasets, label, figures / name)
        best = "; ".join(_best(dataset, by_value) for dataset, by_value in judged.items())
        finding = verdict(statement, {dataset: holds(by_value) for dataset, by_value in judged.items()})
        notes = f"{count_note(map(len, found.values()))} Best: {best}.\n\n{finding}"
        return Drawn({"": rows}, figures=(name,), notes=notes)

    return Experiment(
        title=title, datasets=("cora", "citeseer", "pubmed"), cells=cells, draw=draw, n_seeds=5, quick_seeds=2
    )


def near_best(by_value: ByValue, *, within: float = 1.0) -> list[Any]:
    """The values whose accuracy is within so many points of the best, in increasing order."""
    top = max(by_value.values())
    return sorted(value for value, mean in by_value.items() if mean >= top - within)


def _draw_curves(found: Found, datasets: Sequence[str], label: str, path: Path) -> None:
    with style.figure(width=5.0, height=3.2) as (fig, axes):
        ax = axes[0, 0]
        for name in datasets:
            done = {value: accuracies(records) for (value, dataset), records in found.items() if dataset == name}
            if done:
                x = sorted(done)
                mean, std = [np.mean(done[value]) for value in x], [np.std(done[value]) for value in x]
                style.band(ax, np.array(x, dtype=float), np.array(mean), np.array(std), label=TITLES[name])
        ax.set(xscale="log", xlabel=label, ylabel="test accuracy (%)")
        values = sorted({value for value, _ in found})
        if all(isinstance(value, int) for value in values):  # widths double: a tick for each
            ax.set_xticks(values, labels=[str(value) for value in values])
            ax.minorticks_off()
        ax.legend()
        style.save(fig, path)


def _best(dataset: str, by_value: ByValue) -> str:
    top, near = max(by_value, key=lambda value: by_value[value]), near_best(by_value)
    if len(near) == 1:
        return f"{TITLES[dataset]} at {top:g}, with no other within one point"
    return f"{TITLES[dataset]} at {top:g}, within one point of that from {near[0]:g} to {near[-1]:g}"
