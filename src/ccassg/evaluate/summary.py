"""All scores of an embedding at once, and what they are worth: the same of its raw features and of the largest class."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from ccassg.evaluate.checks import MAX_RUNS, check_embedding
from ccassg.evaluate.clustering import cluster_score, knn_score
from ccassg.evaluate.diagnostics import diagnose
from ccassg.evaluate.probe import linear_probe, random_splits
from ccassg.evaluate.regression import ridge_probe
from ccassg.graph import Array, Split
from ccassg.graph.checks import check_count, shown

# What is scored against labels in about a minute on one core: so many classes, and nodes x classes x dimensions.
MAX_CLASSES, MAX_CELLS = 100, 10_000_000_000
# Training nodes x classes x dimensions in the probes of all splits, nodes x classes x dimensions in k-means of all seeds, and
# pairs of nodes x dimensions in all votes of neighbours: seconds each.
PROBE_CELLS, CLUSTER_CELLS, PAIR_CELLS = 300_000_000, 200_000_000, 100_000_000_000
# Fewer different fractions may be classes, such as 0.5 and 1.
MAX_FRACTIONS = 20
# Of the training nodes so many vote on a test node.
N_NEIGHBOURS = 10
# A verdict on fewer would be a matter of luck.
MIN_NODES = 50

# How well the probe's weights are known, as a part of their length: its accuracy is the same but for a node or two.
TOLERANCE = 1e-2

Solver = Literal["logistic", "adam"]


def summarize(
    z: Array,
    y: Array | None = None,
    *,
    n_seeds: int = 5,
    class_names: Sequence[str] | None = None,
    features: Any = None,
    splits: Sequence[Split] | None = None,
    solver: Solver = "logistic",
    on_part: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Score an embedding (n, d): diagnostics always; linear probe, clustering and neighbours where there are labels.

    ``y`` (n,) are classes, -1 for nodes without a label, which only the diagnostics count; one class alone is not scored, and of
    too much only a part, as ``notes`` say. Labels that are numbers with many values, by their ``class_names``, are no classes but
    the target of a regression. ``features`` (n, m) have the same probe on the same splits, which are random, ``n_seeds`` of them,
    unless given. ``on_part`` is told what comes next. The result is ready for JSON.
    """
    z = check_embedding(z)
    check_count("n_seeds", n_seeds, 1, MAX_RUNS)
    tell = on_part or (lambda _: None)
    if y is not None:
        y = np.asarray(y)
        if y.shape != (len(z),) or y.dtype.kind not in "iu":
            raise ValueError(f"y must hold one whole number per row of z, -1 for no label, got {shown(y)}")
    tell("diagnostics")
    result: dict[str, Any] = {"nodes": len(z), "dimensions": z.shape[1], "diagnostics": diagnose(z)}
    if y is None:
        return result
    target = as_target(y, class_names)
    if target is not None:
        tell("ridge regression")
        return result | _regression(z, target, features, splits, n_seeds)
    part = scorable(z, y, features)
    result["notes"] = part.notes
    if len(part.classes) < 2:
        return result
    tell("linear probe")
    result["random_splits"] = splits is None or len(part.z) < len(z)
    if splits is None or result["random_splits"]:
        splits = _splits(part.y, n_seeds, PROBE_CELLS // (len(part.classes) * z.shape[1]), part.notes)
    result["probe"] = linear_probe(part.z, part.y, splits, solver=solver, tolerance=TOLERANCE).as_dict()
    largest = float(np.bincount(part.y).max() / len(part.y))
    result["largest_class"] = {"accuracy": largest, "macro_f1": 2 * largest / (1 + largest) / len(part.classes)}
    if part.features is not None:
        tell("linear probe of the raw features")
        raw = linear_probe(part.features, part.y, splits, solver=solver, tolerance=TOLERANCE)
        result["raw_features"] = raw.as_dict()
    tell("nearest neighbours")
    k = result["k_neighbours"] = N_NEIGHBOURS
    result["knn"] = None
    if min(len(split.train) for split in splits) >= k * len(part.classes):  # else a class has fewer nodes than voters
        voted = [knn_score(part.z, part.y, k, split=_few(split, z.shape[1], len(splits))) for split in splits]
        result["knn"] = float(np.mean(voted))
    tell("k-means")
    seeds = range(min(max(CLUSTER_CELLS // (part.z.size * len(part.classes)), 1), 5))
    result["clustering"] = cluster_score(part.z, part.y, seeds=seeds).as_dict()
    result["classes"] = part.classes.tolist()
    return result


def glance(z: Array, y: Array, class_names: Sequence[str] | None, n_nodes: int = 5_000) -> dict[str, Any] | None:
    """Return a linear probe of one split of at most so many labelled nodes, a second of work; None where there is none to make."""
    nodes = np.flatnonzero(np.asarray(y) >= 0)
    if len(nodes) < MIN_NODES:
        return None
    if len(nodes) > n_nodes:
        nodes = np.sort(np.random.default_rng(0).choice(nodes, n_nodes, replace=False))
    rows, target = check_embedding(z[nodes]), as_target(y, class_names)
    if target is not None:
        return ridge_probe(rows, target[nodes], random_splits(np.zeros(len(nodes)), [0]))
    part = scorable(rows, y[nodes])
    return linear_probe(part.z, part.y, solver="logistic").as_dict() if len(part.classes) > 1 else None


def as_target(y: Array, class_names: Sequence[str] | None = None) -> Array | None:
    """Return labels that are a quantity, not classes, as numbers (n,), NaN where there is none; None if they are classes.

    A quantity has more than twenty different fractions, or more than a hundred whole numbers with wide gaps between them;
    without ``class_names`` the classes are their own names.
    """
    codes, numbers = np.unique(y, return_inverse=True)
    try:
        values = (
            codes.astype(float)
            if class_names is None
            else np.array([float(class_names[c]) if c >= 0 else 0 for c in codes])
        )
    except ValueError:
        return None
    known = values[codes >= 0]
    if not np.isfinite(known).all():
        return None
    whole = bool((known == np.rint(known)).all())
    if len(known) <= (MAX_CLASSES if whole else MAX_FRACTIONS) or (whole and np.ptp(known) < 2 * len(known)):
        return None
    return np.where(codes >= 0, values, np.nan)[numbers]


class Scorable(NamedTuple):
    """The labelled nodes that are scored: rows (m, d), classes (m,), their old numbers, what was left out, and raw features."""

    z: Array
    y: Array
    classes: Array
    notes: list[str]
    features: Any = None


def scorable(z: Array, y: Array, features: Any = None) -> Scorable:
    """Choose the labelled nodes that can be scored in a bounded time; none where nearly every node has its own label."""
    nodes = np.flatnonzero(y >= 0)
    classes, counts = np.unique(y[nodes], return_counts=True)
    notes = []
    if 2 * len(classes) > len(nodes):
        notes.append(
            f"the labels have {len(classes):,} different values on {len(nodes):,} nodes, so nothing was scored against them: "
            "are they ids or numbers? Name a column of classes (label_column)"
        )
        classes = classes[:0]
    if len(classes) > MAX_CLASSES:
        largest = np.sort(classes[np.argsort(-counts, kind="stable")[:MAX_CLASSES]])
        kept = nodes[np.isin(y[nodes], largest)]
        notes.append(
            f"of {len(classes):,} classes the {MAX_CLASSES:,} with most nodes were scored, to bound the work: {len(kept):,} of "
            f"{len(nodes):,} nodes"
        )
        classes, nodes = largest, kept
    nodes = nodes if len(classes) else nodes[:0]
    most = MAX_CELLS // (max(len(classes), 1) * z.shape[1])
    if len(nodes) > most:
        notes.append(f"{most:,} nodes drawn at random of {len(nodes):,} were scored, to bound the work")
        nodes = np.sort(np.random.default_rng(0).choice(nodes, most, replace=False))
    classes, numbers = np.unique(y[nodes], return_inverse=True)
    if len(nodes) == len(z):
        return Scorable(z, numbers, classes, notes, features)
    return Scorable(z[nodes], numbers, classes, notes, None if features is None else features[nodes])


def _regression(z: Array, target: Array, features: Any, splits: Sequence[Split] | None, n_seeds: int) -> dict[str, Any]:
    known = np.isfinite(target) - 1  # -1 for none
    notes = [
        f"the labels are {len(np.unique(target[known == 0])):,} different numbers: a target of regression, no classes"
    ]
    splits = splits or _splits(known, n_seeds, PROBE_CELLS // 100, notes)
    result = {"notes": notes, "regression": ridge_probe(z, target, splits)}
    return result if features is None else result | {"raw_features": ridge_probe(features, target, splits)}


def _splits(y: Array, n_seeds: int, most: int, notes: list[str]) -> list[Split]:
    """Draw random splits, as many of them as ``most`` training nodes in all allow, but at least one."""
    n_train = max(int((y >= 0).sum()) // 10, 1)
    n = min(n_seeds, max(most // n_train, 1))
    if n < n_seeds:
        notes.append(f"{n} random split{'' if n == 1 else 's'} instead of {n_seeds}, to bound the work")
    return random_splits(y, range(n))


def _few(split: Split, dim: int, n_splits: int) -> Split:
    """Return a split with as many test nodes, drawn at random, as its training nodes can be compared with."""
    most = max(PAIR_CELLS // (len(split.train) * dim * n_splits), 1)
    if len(split.test) <= most:
        return split
    return Split(split.train, split.val, np.sort(np.random.default_rng(0).choice(split.test, most, replace=False)))
