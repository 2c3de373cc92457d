"""What a series of runs came to, for `--json`."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ccassg.experiments.records import Record, key_of


def summarize(name: str, records: Iterable[Record]) -> dict[str, Any]:
    """The records of an experiment, those that differ in the seed only brought together.

    Accuracies are in percent; ``std`` divides by n - 1.

    Parameters
    ----------
    name : str
        Of the experiment.
    records : iterable of dict
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
    run = records[0]["run"]
    made: dict[str, Any] = {
        "dataset": run["dataset"],
        "method": run.get("method"),
        "task": run["task"],
        "hyper_parameters": {"settings": run.get("settings"), "probe": run.get("probe")},
        "seeds": [record["run"]["seed"] for record in records],
        "splits": [record["run"].get("splits") for record in records],
        "n_runs": len(records),
    }
    if "test_accuracy" in records[0]["result"]:
        made |= _scores(np.array([record["result"]["test_accuracy"] for record in records]))
        for score in ("val_accuracy", "macro_f1"):
            made[score] = _listed(100 * np.array([record["result"][score] for record in records]))
        if records[0]["result"]["probe_epoch"]:
            made["probe_epoch"] = _listed(np.array([record["result"]["probe_epoch"] for record in records]))
        made["n_parameters"] = records[0]["result"]["n_parameters"]
    made["seconds"] = {
        part: [record["seconds"][part] for record in records if part in record["seconds"]]
        for part in records[0]["seconds"]
    }
    made["peak_memory_bytes"] = [record["peak_memory_bytes"] for record in records]
    return made


def _scores(accuracy: Any) -> dict[str, Any]:
    """Lists and their mean for accuracies of shape (runs, splits); with one split, numbers instead of lists of one."""
    percent = 100 * accuracy
    std = percent.std(0, ddof=1) if len(percent) > 1 else np.zeros(percent.shape[1])
    return {
        "test_accuracies": _listed(percent),
        "mean": _number(percent.mean(0)),
        "std": _number(std),
    }


def _listed(values: Any) -> list[Any]:
    return [_number(row) for row in values]


def _number(row: Any) -> Any:
    rounded = [round(float(value), 4) for value in row]
    return rounded[0] if len(rounded) == 1 else rounded


def _without_seed(run: dict[str, Any]) -> dict[str, Any]:
    bare = {name: value for name, value in run.items() if name != "seed"}
    if "splits" in bare:
        bare["splits"] = [{k: v for k, v in split.items() if k != "seed"} for split in bare["splits"]]
    return bare


def _distinct(values: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found
