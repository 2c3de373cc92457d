"""Two series of runs that share their seeds: what the second gains over the first."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ccassg.experiments.records import Record
from ccassg.experiments.tables import accuracies
from ccassg.report.tables import mean_std

NOTE = "Differences are paired by seed, with their standard error."


def paired(first: Sequence[Record], second: Sequence[Record]) -> list[tuple[Record, Record]]:
    """Those pairs of records, one of each series, that have the same seed."""
    by_seed = {record["run"]["seed"]: record for record in second}
    return [(record, by_seed[seed]) for record in first if (seed := record["run"]["seed"]) in by_seed]


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
