"""How long a run will take, from those that are recorded: a guess that is right to a factor of two or three."""

import statistics
from collections.abc import Iterable
from typing import Any

from ccassg.datasets import CARDS
from ccassg.experiments.records import Record, Run, key_of

# Of what nobody ever ran.
UNKNOWN_SECONDS = 60.0
# Only the last runs count: systems become faster.
N_LAST = 3


class Estimates:
    """Seconds by what runs have in common, the latest last."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._seconds: dict[Any, list[float]] = {}
        self._datasets: dict[Any, list[str]] = {}
        for record in sorted(records, key=lambda record: record["time"]):
            run = record["run"]
            for alike in (_settings(run), _system(run, run["dataset"])):
                self._seconds.setdefault(alike, []).append(record["seconds"]["total"])
            self._datasets.setdefault(_system(run), []).append(run["dataset"])

    def seconds(self, run: Run) -> float:
        """Estimate a run by the same one with other seeds; by its system on its dataset; or on another one, as their sizes are."""
        for alike in (_settings(run), _system(run, run["dataset"])):
            if alike in self._seconds:
                return self._median(alike)
        others = {name for name in self._datasets.get(_system(run), ()) if name in CARDS}
        if not others or run["dataset"] not in CARDS:
            return UNKNOWN_SECONDS
        nearest = min(sorted(others), key=lambda name: abs(_size(name) - _size(run["dataset"])))
        return self._median(_system(run, nearest)) * _size(run["dataset"]) / _size(nearest)

    def _median(self, alike: Any) -> float:
        return statistics.median(self._seconds[alike][-N_LAST:])


def _settings(run: Run) -> str:
    """What runs of the same cost have in common: all but the seed, the split, the revision, and rates, which are no whole numbers."""
    alike = {name: value for name, value in run.items() if name not in ("seed", "splits", "revision", "alone")}
    settings = run.get("settings", {})
    return key_of(alike | {"settings": {name: v for name, v in settings.items() if not isinstance(v, float)}})


def _system(run: Run, dataset: str | None = None) -> tuple[Any, ...]:
    """Task, system and dataset, and whether the settings are left to the graph."""
    return run["task"], run.get("method"), "defaults" in run, run.get("contestant"), dataset


def _size(dataset: str) -> int:
    return CARDS[dataset].n_nodes + CARDS[dataset].n_edges
