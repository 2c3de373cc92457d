"""What a run can be: each task takes a run and gives a result in JSON's types, and the seconds of its parts."""

from __future__ import annotations

import time
from typing import Any

from ccassg.datasets import Dataset, Split, load_dataset
from ccassg.estimator import CCASSG
from ccassg.evaluate import linear_probe
from ccassg.experiments import provenance
from ccassg.experiments.records import Run

Outcome = tuple[dict[str, Any], dict[str, float]]


def perform(run: Run, data_dir: str | None) -> Outcome:
    """Do a run, whatever its task."""
    task = run["task"]
    if task == "node-classification":
        return node_classification(run, load_dataset(run["dataset"], data_dir=data_dir))
    raise ValueError(f"there is no task {task!r}; update ccassg, or remove the run")


def node_classification(run: Run, data: Dataset) -> Outcome:
    """Train without labels, freeze, probe: the test nodes of each split are read once, by `linear_probe`.

    Accuracies are fractions, in lists of one entry per split.
    """
    model = make_model(run)
    before = provenance.peak_memory()
    start = time.perf_counter()
    model.fit(data.graph)
    fitted = time.perf_counter()
    peak = provenance.peak_memory()
    z = model.transform(data.graph)
    embedded = time.perf_counter()
    splits = [split_of(data, given) for given in run["splits"]]
    scores = linear_probe(z, data.y, splits, seeds=[run["seed"]], **run["probe"])
    result = {
        "test_accuracy": scores.accuracies,
        "val_accuracy": scores.val_accuracies,
        "macro_f1": scores.macro_f1,
        "probe_epoch": scores.epochs,
        "n_parameters": getattr(model, "n_parameters_", None),
        "memory_before_fit_bytes": before,
        "peak_memory_fit_bytes": peak,
        "final_loss": final_loss(model),
    }
    seconds = {"fit": fitted - start, "embed": embedded - fitted, "probe": time.perf_counter() - embedded}
    return result, seconds


def make_model(run: Run) -> Any:
    """The embedder that a run names, not yet trained."""
    if run["method"] == "cca-ssg":
        return CCASSG(**run["settings"], random_state=run["seed"])
    raise ValueError(f"there is no method {run['method']!r}; there is cca-ssg")


def split_of(data: Dataset, given: dict[str, Any]) -> Split:
    """The split that a run describes: arguments of `Dataset.split`."""
    return data.split(given.get("seed", 0), **{name: value for name, value in given.items() if name != "seed"})


def final_loss(model: Any) -> dict[str, float] | None:
    """The terms of the loss at the last step, where the method has such a history."""
    history = getattr(model, "history_", None)
    if not isinstance(history, dict) or not history.get("loss"):
        return None
    return {name: values[-1] for name, values in history.items()}
