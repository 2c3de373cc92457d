"""Ridge regression of a numeric target on frozen embeddings: R^2 on the test nodes, the strength chosen on validation."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ccassg.evaluate.checks import check_embeddings
from ccassg.evaluate.diagnostics import row_blocks
from ccassg.graph import Array, Split
from ccassg.graph.checks import shown

# Strengths of the penalty, relative to the largest eigenvalue of the training rows' Gram matrix, strongest first.
STRENGTHS = tuple(float(10.0 ** (k / 2)) for k in range(4, -13, -1))
# Most training rows and columns of which the exact solution is taken; of more rows a sample.
MAX_EXACT = 2048


def ridge_probe(z: Any, target: Array, splits: Sequence[Split]) -> dict[str, Any]:
    """Predict a target (n,) from rows (n, d), sparse or not, by ridge regression with an intercept, once per split.

    Returns ``r2``, the mean over the splits of 1 - sum (t - prediction)^2 / sum (t - mean of the test nodes)^2, its ``std``,
    ``r2s`` and ``val_r2s`` of each split, and ``notes``. 0 is what the mean alone reaches; it may be negative.
    """
    (rows,) = check_embeddings(z)
    target = np.asarray(target, np.float64)
    if target.shape != (rows.shape[0],):
        raise ValueError(f"target must be {rows.shape[0]} numbers, one per row of z, got {shown(target)}")
    notes: list[str] = []
    found = [_one(rows, target, split, notes) for split in splits]
    tests = [test for test, _ in found]
    return {
        "r2": float(np.mean(tests)),
        "std": float(np.std(tests, ddof=1)) if len(tests) > 1 else 0.0,
        "n_runs": len(tests),
        "r2s": tests,
        "val_r2s": [val for _, val in found],
        "notes": list(dict.fromkeys(notes)),
    }


def _one(rows: Any, target: Array, split: Split, notes: list[str]) -> tuple[float, float]:
    """Return R^2 on test and validation nodes of the strength that is best on validation, the strongest of equals."""
    train = split.train
    if min(len(train), rows.shape[1]) > MAX_EXACT:
        notes.append(
            f"ridge regression saw {MAX_EXACT:,} training nodes drawn at random of {len(train):,}, to bound the work"
        )
        train = np.sort(np.random.default_rng(0).choice(train, MAX_EXACT, replace=False))
    x = _dense(rows[train])
    mean, middle = x.mean(0), target[train].mean()
    x -= mean
    weights = _solutions(x, target[train] - middle)

    def scores(nodes: Array, w: Array) -> Array:
        true = target[nodes]
        error = true[:, None] - np.concatenate([rows[nodes[block]] @ w for block in row_blocks(len(nodes))])
        error += mean @ w - middle
        squares, spread = (error**2).sum(0), float(((true - true.mean()) ** 2).sum())
        # One and the same target is predicted or not, as scikit-learn's r2_score has it.
        return 1 - squares / spread if spread else np.where(squares > 0, 0.0, 1.0)

    on_validation = scores(split.val, weights)
    best = int(on_validation.argmax())
    return float(scores(split.test, weights[:, [best]])[0]), float(on_validation[best])


def _solutions(x: Array, t: Array) -> Array:
    """Return the weights (d, k) for centred rows (n, d) and targets (n,) at each of the strengths."""
    wide = x.shape[1] > len(x)
    values, vectors = np.linalg.eigh(x @ x.T if wide else x.T @ x)
    shrunk = (vectors.T @ (t if wide else x.T @ t))[:, None] / (
        np.maximum(values, 0)[:, None] + np.array(STRENGTHS) * max(float(values[-1]), np.finfo(np.float64).tiny)
    )
    return x.T @ (vectors @ shrunk) if wide else vectors @ shrunk


def _dense(rows: Any) -> Array:
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)
