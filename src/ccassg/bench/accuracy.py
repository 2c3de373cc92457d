"""What the timed presets reach: the accuracy of recorded runs, beside the time of a whole fit."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ccassg.experiments.records import Records
from ccassg.experiments.runner import carry_out
from ccassg.experiments.runs import OURS, classification_runs
from ccassg.model.presets import FAST


def add_accuracies(
    rows: list[dict[str, Any]], records: Records, *, n_seeds: int, on_run: Callable[[str], None] | None = None
) -> None:
    """Put mean accuracies and standard errors, in percent, beside the times of each dataset; runs without a record are done.

    The textbook and the exact step compute the same loss, so the accuracy of the one is that of the other.
    """
    runs = {
        (row["dataset"], kind): classification_runs(OURS, row["dataset"], n_seeds, changes)
        for row in rows
        for kind, changes in (("exact", {}), ("fast", FAST[row["dataset"]]))
    }
    carry_out([run for some in runs.values() for run in some], records, on_run=on_run)
    for row in rows:
        for kind in ("exact", "fast"):
            done = records.of(runs[row["dataset"], kind])
            for part in ("val", "test"):
                values = 100 * np.array([record["result"][f"{part}_accuracy"][0] for record in done])
                error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0.0
                row[kind][part] = {"mean": float(values.mean()), "error": float(error), "n_seeds": len(values)}


def describe_accuracy(row: dict[str, Any]) -> str:
    """Put a dataset's whole fits and accuracies into a line."""
    fits = ", ".join(
        f"{kind} {row[kind]['n_steps']} steps in {row[kind]['fit_seconds']:.1f} s"
        for kind in ("textbook", "exact", "fast")
    )
    reached = "; ".join(
        f"{kind} {row[kind]['val']['mean']:.2f} ± {row[kind]['val']['error']:.2f} % on validation nodes, "
        f"{row[kind]['test']['mean']:.2f} ± {row[kind]['test']['error']:.2f} % on test nodes"
        for kind in ("exact", "fast")
    )
    return f"{row['dataset']:<10} {fits}; {reached}"
