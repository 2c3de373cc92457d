"""What the two one-parameter studies share: accuracy against one setting, a curve per dataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ccassg.experiments.experiment import Drawn, Plan, accuracies, classification_run, count_note
from ccassg.experiments.published import TITLES
from ccassg.experiments.records import Records, Run
from ccassg.report import style
from ccassg.report.tables import mean_std

Change = Callable[[Any], dict[str, Any]]
Values = Callable[[Plan, str], Sequence[Any]]


def runs(plan: Plan, values: Values, change: Change) -> list[Run]:
    """Every value on every dataset."""
    return [
        run
        for dataset in plan.datasets
        for value in values(plan, dataset)
        for run in _runs(plan, dataset, change(value))
    ]


def draw(
    records: Records,
    plan: Plan,
    figures: Path,
    values: Values,
    change: Change,
    *,
    name: str,
    label: str,
    finding: Callable[[dict[str, dict[Any, float]]], str],
) -> Drawn | None:
    """A table with the values in rows and a figure with a logarithmic axis.

    Parameters
    ----------
    values : function of (plan, dataset)
        The values of the setting.
    change : function of a value
        The settings that differ from the paper's.
    name : str
        Of the figure.
    label : str
        Of the setting.
    finding : function of the mean accuracies by dataset and value
        What they say about the paper's statement.
    """
    found = {
        dataset: {value: accuracies(records.of(_runs(plan, dataset, change(value)))) for value in values(plan, dataset)}
        for dataset in plan.datasets
    }
    counts = [len(runs_) for by_value in found.values() for runs_ in by_value.values()]
    means = {d: {v: float(np.mean(done)) for v, done in values_.items() if done} for d, values_ in found.items()}
    # One value, which other tables have recorded, says nothing about the others.
    judged = {dataset: by_value for dataset, by_value in means.items() if len(by_value) > 1}
    if not judged:
        return None
    shown = sorted({value for by_value in found.values() for value, runs_ in by_value.items() if runs_})
    rows: list[dict[str, Any]] = [
        {label: f"{value:g}"}
        | {TITLES[d]: mean_std(by_value[value]) if by_value.get(value) else None for d, by_value in found.items()}
        for value in shown
    ]
    with style.figure(width=5.0, height=3.2) as (fig, axes):
        ax = axes[0, 0]
        for dataset, by_value in found.items():
            points = [(value, np.mean(runs_), np.std(runs_)) for value, runs_ in sorted(by_value.items()) if runs_]
            if points:
                x, mean, std = np.array(points).T
                style.band(ax, x, mean, std, label=TITLES[dataset])
        ax.set(xscale="log", xlabel=label, ylabel="test accuracy (%)")
        if all(isinstance(value, int) for value in shown):  # widths double: a tick for each
            ax.set_xticks(shown, labels=[str(value) for value in shown])
            ax.minorticks_off()
        ax.legend()
        style.save(fig, figures / name)
    best = "; ".join(_best(dataset, by_value) for dataset, by_value in judged.items())
    notes = f"{count_note(counts)} Best: {best}.\n\n{finding(judged)}"
    return Drawn({"": rows}, figures=(name,), notes=notes)


def near_best(by_value: dict[Any, float], *, within: float = 1.0) -> list[Any]:
    """The values whose accuracy is within so many points of the best, in increasing order."""
    top = max(by_value.values())
    return sorted(value for value, mean in by_value.items() if mean >= top - within)


def _best(dataset: str, by_value: dict[Any, float]) -> str:
    top, near = max(by_value, key=lambda value: by_value[value]), near_best(by_value)
    if len(near) == 1:
        return f"{TITLES[dataset]} at {top:g}, with no other within one point"
    return f"{TITLES[dataset]} at {top:g}, within one point of that from {near[0]:g} to {near[-1]:g}"


def _runs(plan: Plan, dataset: str, changes: dict[str, Any]) -> list[Run]:
    return [classification_run("cca-ssg", dataset, seed, changes=changes) for seed in range(plan.n_seeds)]
