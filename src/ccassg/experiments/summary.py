"""Sum up the records of an experiment for ``--json``."""

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from ccassg.experiments.records import Record, Run, key_of


def summarize(name: str, records: Iterable[Record]) -> dict[str, Any]:
    """Return the records of an experiment, those that differ in the seed only brought together.

    Accuracies are in percent; ``std`` divides by n - 1.
    """
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(key_of(_without_seed(record["run"])), []).append(record)
    everything = [record for group in groups.values() for record in group]
    return {
        "experiment": name,
        "unit": "percent",
        "results": [_group(group) for group in groups.values()],
        "commits": _distinct(record["commit"] for record in everything),
        "versions": _distinct(record["versions"] for record in everything),
        "machines": _distinct(record["machine"] for record in everything),
    }


def _group(records: list[Record]) -> dict[str, Any]:
    run, result = records[0]["run"], records[0]["result"]
    made: dict[str, Any] = {
        "dataset": run["dataset"],
        "method": run.get("method"),
        "task": run["task"],
        "hyper_parameters": {"settings": run.get("settings"), "probe": run.get("probe")},
        "seeds": [record["run"]["seed"] for record in records],
        "splits": [record["run"].get("splits") for record in records],
        "n_runs": len(records),
    }
    if isinstance(result.get("test_accuracy"), list):  # of splits; a study may have others
        percent = 100 * _stacked(records, "test_accuracy")
        std = percent.std(0, ddof=1) if len(percent) > 1 else np.zeros(percent.shape[1])
        made |= {"test_accuracies": _listed(percent), "mean": _number(percent.mean(0)), "std": _number(std)}
        for score in ("val_accuracy", "macro_f1"):
            made[score] = _listed(100 * _stacked(records, score))
        if result["probe_epoch"]:
            made["probe_epoch"] = _listed(_stacked(records, "probe_epoch"))
        made["n_parameters"] = result["n_parameters"]
    made["seconds"] = {
        part: [record["seconds"][part] for record in records if part in record["seconds"]]
        for part in records[0]["seconds"]
    }
    made["peak_memory_bytes"] = [record["peak_memory_bytes"] for record in records]
    return made


def _stacked(records: list[Record], score: str) -> Any:
    """Return a score of all records, (runs, splits)."""
    return np.array([record["result"][score] for record in records])


def _listed(values: Any) -> list[Any]:
    return [_number(row) for row in values]


def _number(row: Any) -> Any:
    """Return a list with an entry per split; with one split, a number instead."""
    rounded = [round(float(value), 4) for value in row]
    return rounded[0] if len(rounded) == 1 else rounded


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list({json.dumps(value, sort_keys=True): value for value in values}.values())


def _without_seed(run: Run) -> Run:
    bare = {name: value for name, value in run.items() if name != "seed"}
    if "splits" in bare:
        bare["splits"] = [{k: v for k, v in split.items() if k != "seed"} for split in bare["splits"]]
    return bare
