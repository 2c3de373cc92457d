"""Records without training, for what draws and counts."""

from __future__ import annotations

import numpy as np

from ccassg.experiments import information
from ccassg.experiments.records import key_of, pack
from studies.criteria import CRITERIA
from studies.default_settings import CONTESTANTS


def fake_record(run):
    """A record of a run that looks like a real one; numbers follow from the run's key."""
    rng = np.random.default_rng(int(key_of(run)[:8], 16))
    return {
        "run": run,
        "result": _result(run, rng),
        "seconds": {"fit": 1.0, "probe": 0.5, "total": 2.0},
        "peak_memory_bytes": 10**9,
        "commit": {"id": "0123456789abcdef", "modified": False},
        "versions": {"torch": "2.13.0", "ccassg": "0.1.0"},
        "machine": {"cpus": 2, "processor": "test", "threads": 2, "system": "Linux"},
        "time": "2026-01-02T03:04:05Z",
    }


def scored(*accuracies):
    """Records that hold no more than a test accuracy in percent each."""
    return [{"result": {"test_accuracy": [accuracy / 100]}} for accuracy in accuracies]


def _result(run, rng):
    if run["task"] == "collapse":
        measures = {"final_loss": -1.0, "spread": 1.0, "absolute_correlation": 0.1, "effective_rank": 1.5}
        return {"points": rng.normal(size=(30, 2)).tolist(), "classes": [0, 1, 2] * 10, "measures": measures}
    if run["task"] == "correlation":
        numbers = {"n_columns": 16, "n_constant_columns": 0, "off_diagonal_correlation": 0.1, "effective_rank": 9.0}
        return {"matrix": pack(rng.random((16, 16))), **numbers}
    if run["task"] == "information":
        names = (*information.QUANTITIES, "loss", "invariance")
        return {
            "snapshots": [
                {"step": step, "decorrelation": -float(step)} | {name: float(step) for name in names}
                for step in run["steps"]
            ]
        }
    if run["task"] == "default-contestant":
        return {"probes": _probes(rng)}
    if run["task"] == "default-synthetic":
        return {"probes": {name: _probes(rng) for name in CONTESTANTS}}
    if run["task"] == "default-other-splits":
        return {"probes": {name: _probes(rng) for name in (*CONTESTANTS, "CCA-SSG, preset")}}
    if run["task"] == "default-new-nodes":
        return {"test_accuracy": {"default, with edges": float(rng.random())}}
    if run["task"] == "default-cost":
        return {"fit_seconds": {"default": [2.0, 2.1], "preset": [1.5, 1.6]}}
    if run["task"] == "links":
        scores = {"auc": float(rng.random()), "average_precision": 0.8, "hits@50": None, "k": 1}
        rules = ("embedding", "cosine", "common neighbours", "Adamic-Adar", "cosine of A^k X")
        strengths = {f"{strength:g}": {"val": 0.7, "test": 0.6} for strength in run["strengths"]}
        return {"links": dict.fromkeys(rules, scores), "strengths": strengths}
    if run["task"] == "memory-growth":
        return {"memory_bytes": 1000 * run["n_nodes"], "fit_seconds": 1.0}
    if run["task"] == "label-free":
        return {"loss": (-np.arange(max(run["steps"]), dtype=float)).tolist(), "measured": _measured(run, rng)}
    n_splits = len(run.get("splits", [0]))
    cost = {"n_parameters": 996_864, "peak_memory_fit_bytes": 2 * 10**9}
    if run["task"] == "training-cost":
        return cost
    accuracy = rng.uniform(0.7, 0.9, n_splits).tolist()
    scores = {"test_accuracy": accuracy, "val_accuracy": accuracy, "macro_f1": accuracy}
    return scores | cost | {"probe_epoch": [7] * n_splits if "probe" in run else []}


def _measured(run, rng):
    return [
        {
            "steps": n,
            "criteria": {name: float(rng.random()) for name in CRITERIA},
            "val_accuracy": float(rng.random()),
            "test_accuracy": float(rng.random()),
        }
        for n in run["steps"]
    ]


def _probes(rng):
    return {name: {"test": float(rng.random()), "val": float(rng.random())} for name in ("paper's", "convex")}
