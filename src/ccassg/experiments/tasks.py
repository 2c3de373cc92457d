"""What a run can be: each task takes a run and gives a result in JSON's types, and the seconds of its parts."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from ccassg import provenance
from ccassg.datasets import load_dataset
from ccassg.evaluate.diagnostics import correlation_matrix, effective_rank, n_constant_columns, off_diagonal_correlation
from ccassg.evaluate.probe import linear_probe
from ccassg.evaluate.scores import ProbeResult, score
from ccassg.experiments import collapse, default_settings, details, information, label_free, methods
from ccassg.experiments.records import Run, pack
from ccassg.graph import Dataset, Split
from ccassg.systems import METHODS, make

Outcome = tuple[dict[str, Any], dict[str, float]]


def perform(run: Run, data_dir: str | None) -> Outcome:
    """Do a run, whatever its task."""
    task = run["task"]
    if task == "collapse":
        return collapse.measure(run), {}
    if task == "default-settings":
        return default_settings.measure(run), {}
    if task == "memory-growth":
        return methods.measure(run), {}
    data = load_dataset(run["dataset"], data_dir=data_dir)
    if task == "node-classification":
        return node_classification(run, data)
    if task == "training-cost":
        return training_cost(run, data)
    if task == "correlation":
        return correlation_picture(run, data), {}
    if task == "information":
        return information.measure(run, data), {}
    if task == "default-cost":
        return default_settings.cost(run, data), {}
    if task == "label-free":
        return label_free.measure(run, data, split_of(data, run["splits"][0])), {}
    raise ValueError(f"there is no task {task!r}; update ccassg, or remove the run")


def node_classification(run: Run, data: Dataset) -> Outcome:
    """Train and score; accuracies are fractions, in lists of one entry per split. The test labels are read once.

    Embedders train without labels and are judged by `linear_probe`; classifiers train on each split's training nodes,
    choose on its validation nodes, and see no other label.
    """
    splits = [split_of(data, given) for given in run["splits"]]
    if METHODS[run["method"]].kind == "classifier":
        return _classify(run, data, splits)
    data = replace(data, graph=details.prepared(run, data.graph))
    model = make_model(run)
    cost, fit_seconds = _fit(model, data)
    start = time.perf_counter()
    z = model.transform(data.graph)
    embedded = time.perf_counter()
    scores = linear_probe(z, data.y, splits, seeds=[run["seed"]], **run["probe"])
    seconds = {"fit": fit_seconds, "embed": embedded - start, "probe": time.perf_counter() - embedded}
    return _scored(scores) | cost, seconds


def _classify(run: Run, data: Dataset, splits: list[Split]) -> Outcome:
    predictions, val_accuracies, seconds = [], [], 0.0
    for split in splits:
        model = make_model(run)
        seen = np.full_like(data.y, -1)
        for part in (split.train, split.val):
            seen[part] = data.y[part]
        chosen_on = None if run.get("details", {}).get("choose") == "last" else split.val
        if chosen_on is None:
            seen[split.val] = -1
        cost, fit_seconds = _fit(model, data, seen, validation=chosen_on)
        seconds += fit_seconds
        predicted = model.predict(data.graph)
        predictions.append(predicted[split.test])
        val_accuracies.append(float(np.mean(predicted[split.val] == data.y[split.val])))
    tests = [data.y[split.test] for split in splits]
    scores = score(predictions, tests, data.n_classes, val_accuracies=val_accuracies)
    return _scored(scores) | cost, {"fit": seconds}


def _scored(scores: ProbeResult) -> dict[str, Any]:
    return {
        "test_accuracy": scores.accuracies,
        "val_accuracy": scores.val_accuracies,
        "macro_f1": scores.macro_f1,
        "probe_epoch": scores.epochs,
    }


def training_cost(run: Run, data: Dataset) -> Outcome:
    """Train and nothing else: the size of the model, time and memory."""
    cost, seconds = _fit(make_model(run), data)
    return cost, {"fit": seconds}


def correlation_picture(run: Run, data: Dataset) -> dict[str, Any]:
    """The absolute correlations of evenly spaced columns, of an embedding or of the features, and measures of all columns."""
    z = make_model(run).fit_transform(data.graph)
    shown = np.unique(np.linspace(0, z.shape[1] - 1, run["n_columns"]).round().astype(int))
    return {
        "matrix": pack(np.abs(correlation_matrix(z)[np.ix_(shown, shown)])),
        "n_columns": z.shape[1],
        "n_constant_columns": n_constant_columns(z),
        "off_diagonal_correlation": off_diagonal_correlation(z),
        "effective_rank": effective_rank(z),
    }


def make_model(run: Run) -> Any:
    """The system that a run names, not yet trained."""
    if run["method"] == "cca-ssg":
        return details.model_of(run)
    return make(run["method"], **run["settings"], random_state=run["seed"])


def split_of(data: Dataset, given: dict[str, Any]) -> Split:
    """The split that a run describes: arguments of `Dataset.split`."""
    return data.split(given.get("seed", 0), **{name: value for name, value in given.items() if name != "seed"})


def _fit(model: Any, data: Dataset, *labels: Any, **given: Any) -> tuple[dict[str, Any], float]:
    """Train; what it cost, and the seconds."""
    before = provenance.peak_memory()
    start = time.perf_counter()
    model.fit(data.graph, *labels, **given)
    seconds = time.perf_counter() - start
    cost = {
        "n_parameters": getattr(model, "n_parameters_", None),
        "memory_before_fit_bytes": before,
        "peak_memory_fit_bytes": provenance.peak_memory(),
        "final_loss": final_loss(model),
    }
    return cost, seconds


def final_loss(model: Any) -> dict[str, float] | None:
    """The terms of the loss at the last step, where the method has such a history."""
    history = getattr(model, "history_", None)
    if not isinstance(history, dict) or not history.get("loss"):
        return None
    return {name: values[-1] for name, values in history.items()}
