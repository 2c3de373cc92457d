"""Search settings by successive halving: many are trained for a few steps, the better half of them for more.

Without labels, settings are ranked by `ccassg.criteria.BEST`. With labels, by accuracy on one half of the validation nodes, the
other half having chosen the probe's epoch; the test part is not read. Everything is kept in a folder, so that a search goes
on where it stopped.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ccassg import criteria
from ccassg.estimator import CCASSG
from ccassg.evaluate import linear_probe
from ccassg.graph import Array, Graph
from ccassg.graph.dataset import Split
from ccassg.io.atomic import write_bytes_atomic
from ccassg.model.loss import Terms
from ccassg.training import loop

# The paper's search grids (appendix, "Hyper-parameters"); the number of steps is what halving raises.
GRID: dict[str, tuple[Any, ...]] = {
    "encoder": ("gcn", "mlp"),
    "n_layers": (1, 2, 3),
    "embedding_dim": (128, 256, 512, 1024),
    "decorrelation": (1e-4, 5e-4, 1e-3, 5e-3, 1e-2),
    "learning_rate": (5e-4, 1e-3, 5e-3),
    "weight_decay": (0.0, 1e-5, 1e-4, 1e-3),
    "edge_drop_rate": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
    "feature_mask_rate": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
}
RUNGS = (20, 50, 100, 200)
STATE = "tune.json"
# Below every score there is.
DIVERGED = -1e9

Trial = dict[str, Any]


def candidates(n: int, graph: Graph, *, seed: int = 0) -> list[dict[str, Any]]:
    """``n`` different random settings of the grid, none wider than the graph can fill (or narrower than the grid)."""
    rng = np.random.default_rng(seed)
    widths = [width for width in GRID["embedding_dim"] if width <= min(graph.n_features, graph.n_nodes // 2)]
    grid = GRID | {"embedding_dim": tuple(widths) or (max(1, min(graph.n_features, graph.n_nodes // 2)),)}
    if graph.n_edges == 0:
        grid |= {"encoder": ("mlp",)}
    found: dict[str, dict[str, Any]] = {}
    for _ in range(100 * n):
        if len(found) == n:
            break
        drawn = {name: values[int(rng.integers(len(values)))] for name, values in grid.items()}
        if drawn["encoder"] == "mlp":
            drawn["edge_drop_rate"] = 0.0
        if drawn["edge_drop_rate"] == drawn["feature_mask_rate"] == 0.0:
            continue  # equal views teach nothing
        drawn["hidden_dim"] = drawn["embedding_dim"]
        found.setdefault(json.dumps(drawn, sort_keys=True), drawn)
    return list(found.values())


def search(
    graph: Graph,
    folder: Path,
    *,
    y: Array | None = None,
    split: Split | None = None,
    minutes: float = 10.0,
    n_candidates: int = 16,
    rungs: tuple[int, ...] = RUNGS,
    seed: int = 0,
    on_trial: Callable[[Trial, int, int], None] | None = None,
) -> dict[str, Any]:
    """Find settings for a graph.

    Parameters
    ----------
    graph : Graph
        With features.
    folder : path
        Of the search: its state and the checkpoints of unfinished trainings. The same search goes on there.
    y, split : labels (n,) and a split, optional
        Rank by validation accuracy. Only the split's training and validation nodes are read.
    minutes : float
        No training is started or continued after so long; at least one is.
    n_candidates : int
        Settings to begin with.
    rungs : tuple of int
        Steps of the rounds; after each the better half goes on.
    seed : int
        Of candidates and trainings.
    on_trial : function of (trial, trials done, trials in all), optional
        Called after every training.

    Returns
    -------
    dict
        ``criterion``, ``settings`` (the best found, with ``n_steps``), ``score``, ``is_complete`` and ``trials``, best first.
    """
    if n_candidates < 1 or not minutes > 0:
        raise ValueError(f"a search needs candidates and time, got {n_candidates} candidates and {minutes:g} minutes")
    started = time.monotonic()
    criterion = criteria.BEST if y is None else "validation accuracy"
    identity = {"graph": loop.checksum(graph), "criterion": criterion, "n_candidates": n_candidates,
                "rungs": list(rungs), "seed": seed}  # fmt: skip
    done = _read(folder, identity)
    pool = list(enumerate(candidates(n_candidates, graph, seed=seed)))
    sizes = [max(1, len(pool) // 2**i) for i in range(len(rungs))]
    over = False
    for rung, (n_steps, size) in enumerate(zip(rungs, sizes, strict=True)):
        if rung > 0:
            before = {t["candidate"]: t["score"] for t in done if t["n_steps"] == rungs[rung - 1]}
            pool = sorted(pool, key=lambda item, before=before: -before[item[0]])[:size]  # type: ignore[misc]
        for i, settings in pool:
            if any(t["candidate"] == i and t["n_steps"] == n_steps for t in done):
                continue
            over = over or (bool(done) and time.monotonic() - started > 60 * minutes)
            if over:
                break
            stop_at = None if not done else started + 60 * minutes
            score = _score(graph, settings, n_steps, seed, folder / f"{i}.safetensors", y, split, stop_at)
            if score is None:
                over = True
                break
            done.append({"candidate": i, "settings": settings, "n_steps": n_steps, "score": score})
            _write(folder, identity, done)
            if on_trial is not None:
                on_trial(done[-1], len(done), sum(sizes))
        if over:
            break
    ranking = _ranked(done)
    best = ranking[0]
    return {
        "criterion": criterion,
        "settings": best["settings"] | {"n_steps": best["n_steps"]},
        "score": best["score"],
        "is_complete": not over,
        "trials": ranking,
    }


def as_arguments(settings: dict[str, Any]) -> str:
    """Settings as the program takes them: ``--set name=value ...``."""
    return " ".join(f"--set {name}={value}" for name, value in settings.items())


def _ranked(done: list[Trial]) -> list[Trial]:
    """Best first: what went farther beats what was left behind there, whatever it scored before."""
    return sorted(done, key=lambda trial: (-trial["n_steps"], -trial["score"]))


class _OutOfTimeError(Exception):
    """The budget is used up in the middle of a training; its checkpoint stays."""


def _score(
    graph: Graph,
    settings: dict[str, Any],
    n_steps: int,
    seed: int,
    path: Path,
    y: Array | None,
    split: Split | None,
    stop_at: float | None,
) -> float | None:
    """Train, from the checkpoint of a shorter training if there is one, and score; None if the time is over."""

    def on_step(step: int, terms: Terms, total: int) -> None:
        if stop_at is not None and step + 1 < total and time.monotonic() > stop_at:
            raise _OutOfTimeError

    model = CCASSG(**settings, n_steps=n_steps, random_state=seed)
    try:
        model.fit(graph, checkpoint=path, checkpoint_every=10, on_step=on_step)
    except _OutOfTimeError:
        return None
    except ArithmeticError:
        return DIVERGED
    if y is None:
        return float(criteria.CRITERIA[criteria.BEST] * criteria.measure(model.encoder_, graph)[criteria.BEST])
    assert split is not None
    order = np.random.default_rng(seed).permutation(split.val)
    choosing, scoring = order[::2], order[1::2]
    parts = Split(train=split.train, val=choosing, test=scoring)
    return float(linear_probe(model.transform(graph), y, parts, epochs=500).accuracy)


def _read(folder: Path, identity: dict[str, Any]) -> list[Trial]:
    path = folder / STATE
    if not path.exists():
        return []
    try:
        state = json.loads(path.read_bytes())
        known, trials = state["search"], [dict(trial) for trial in state["trials"]]
        for trial, name in itertools.product(trials, ("candidate", "settings", "n_steps", "score")):
            trial[name]
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path} is not the state of a search; delete it or choose another folder") from None
    if known != identity:
        raise ValueError(
            f"{path} belongs to another search (other graph or options); delete it or choose another folder"
        )
    return trials


def _write(folder: Path, identity: dict[str, Any], trials: list[Trial]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_bytes_atomic(folder / STATE, (json.dumps({"search": identity, "trials": trials}, indent=1) + "\n").encode())
