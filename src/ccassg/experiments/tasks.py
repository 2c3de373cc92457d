"""What a run of the paper's tables can be: each task takes a run and its dataset, and gives a result in JSON's types.

What a result has under ``seconds`` becomes the record's.
"""

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ccassg import provenance
from ccassg.evaluate.diagnostics import correlation_matrix, diagnose
from ccassg.evaluate.probe import linear_probe
from ccassg.evaluate.scores import ProbeResult, score
from ccassg.experiments import collapse, information, methods
from ccassg.experiments.records import Run, pack
from ccassg.graph import Dataset
from ccassg.systems import METHODS, make

Result = dict[str, Any]


def classify_nodes(run: Run, data: Dataset) -> Result:
    """Train and score; accuracies are fractions, in lists of one entry per split. The test labels are read once.

    Embedders train without labels and are judged by `linear_probe`; classifiers train on each split's training nodes,
    choose on its validation nodes, and see no other label.
    """
    if METHODS[run["method"]].kind == "classifier":
        return score_classifier(run, data)
    return score_embedder(run, data, make_model(run))


def score_embedder(run: Run, data: Dataset, model: Any) -> Result:
    """Train a model, embed, and probe the embedding on every split of the run."""
    result = _fit(model, data)
    start = time.perf_counter()
    z = model.transform(data.graph)
    embedded = time.perf_counter()
    splits = [data.split(**given) for given in run["splits"]]
    scores = linear_probe(z, data.y, splits, seeds=[run["seed"]], **run["probe"])
    result["seconds"] |= {"embed": embedded - start, "probe": time.perf_counter() - embedded}
    return _scored(scores) | result


def score_classifier(run: Run, data: Dataset, *, choose: bool = True) -> Result:
    """Train on the labels of every split of the run and predict; without ``choose``, the last step counts."""
    predictions, val_accuracies, seconds = [], [], 0.0
    splits = [data.split(**given) for given in run["splits"]]
    for split in splits:
        model = make_model(run)
        seen = np.full_like(data.y, -1)
        for part in (split.train, split.val) if choose else (split.train,):
            seen[part] = data.y[part]
        result = _fit(model, data, seen, validation=split.val if choose else None)
        seconds += result["seconds"]["fit"]
        predicted = model.predict(data.graph)
        predictions.append(predicted[split.test])
        val_accuracies.append(float(np.mean(predicted[split.val] == data.y[split.val])))
    tests = [data.y[split.test] for split in splits]
    scores = score(predictions, tests, data.n_classes, val_accuracies=val_accuracies)
    return _scored(scores) | result | {"seconds": {"fit": seconds}}


def train_only(run: Run, data: Dataset) -> Result:
    """Train and nothing else: the size of the model, time and memory, and the share of the processors that others took."""
    model = make_model(run)
    before, own = provenance.busy_seconds(), time.process_time()
    result = _fit(model, data)
    after, own = provenance.busy_seconds(), time.process_time() - own
    if before is not None and after is not None:
        there_was = (os.cpu_count() or 1) * result["seconds"]["fit"]
        result["share_of_others"] = round(max(0.0, after - before - own) / there_was, 3)
    return result


def picture_correlations(run: Run, data: Dataset) -> Result:
    """Return the absolute correlations of evenly spaced columns of an embedding, and measures of all columns."""
    z = make_model(run).fit_transform(data.graph)
    found = diagnose(z)
    shown = np.unique(np.linspace(0, z.shape[1] - 1, run["n_columns"]).round().astype(int))
    return {
        "matrix": pack(np.abs(correlation_matrix(z)[np.ix_(shown, shown)])),
        "n_columns": z.shape[1],
    } | {key: found[key] for key in ("n_constant_columns", "off_diagonal_correlation", "effective_rank")}


TASKS: dict[str, Callable[[Run, Any], Result]] = {
    "node-classification": classify_nodes,
    "training-cost": train_only,
    "correlation": picture_correlations,
    "information": information.estimate_along_training,
    "collapse": collapse.train_points,
    "memory-growth": methods.train_on_random_graph,
}


def make_model(run: Run) -> Any:
    """Return the system that a run names, not yet trained."""
    return make(run["method"], **run["settings"], random_state=run["seed"])


def _scored(scores: ProbeResult) -> Result:
    return {
        "test_accuracy": scores.accuracies,
        "val_accuracy": scores.val_accuracies,
        "macro_f1": scores.macro_f1,
        "probe_epoch": scores.epochs,
    }


def _fit(model: Any, data: Dataset, *labels: Any, **given: Any) -> Result:
    """Train; what it cost."""
    before = provenance.peak_memory()
    start = time.perf_counter()
    model.fit(data.graph, *labels, **given)
    seconds = time.perf_counter() - start
    return {
        "n_parameters": getattr(model, "n_parameters_", None),
        "memory_before_fit_bytes": before,
        "peak_memory_fit_bytes": provenance.peak_memory(),
        "seconds": {"fit": seconds},
    }
