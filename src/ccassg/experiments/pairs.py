"""Two series of runs that share their seeds: what the second gains over the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ccassg.experiments.experiment import accuracies
from ccassg.experiments.records import Record, Records, Run
from ccassg.report.tables import mean_std


def paired(records: Records, first: Sequence[Run], second: Sequence[Run]) -> list[tuple[Record, Record]]:
    """Those pairs of runs, one of each series, that are both recorded."""
    found = ((records.of([a]), records.of([b])) for a, b in zip(first, second, strict=True))
    return [(a[0], b[0]) for a, b in found if a and b]


def difference(pairs: Sequence[tuple[Record, Record]], key: str) -> tuple[float, float]:
    """Mean of second less first, in points, and its standard error."""
    points = np.array([100 * (b["result"][key][0] - a["result"][key][0]) for a, b in pairs])
    return float(points.mean()), float(points.std(ddof=1) / len(points) ** 0.5) if len(points) > 1 else float("nan")


def signed(value: float, error: float) -> str:
    """A difference with its sign and standard error."""
    return f"{value:+.2f} ± {error:.2f}"


def columns(pairs: Sequence[tuple[Record, Record]], first: str, second: str) -> dict[str, Any]:
    """Columns of a table: both test accuracies under their names, and the differences on test and validation nodes."""
    return {
        first: mean_std(accuracies(a for a, _ in pairs), digits=2),
        second: mean_std(accuracies(b for _, b in pairs), digits=2),
        "difference, test": signed(*difference(pairs, "test_accuracy")),
        "difference, validation": signed(*difference(pairs, "val_accuracy")),
    }


NOTE = "Differences are paired by seed, with their standard error."
