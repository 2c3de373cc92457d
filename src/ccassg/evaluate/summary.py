"""All scores of an embedding at once."""

import math
from typing import Any, NamedTuple

import numpy as np

from ccassg.evaluate.checks import MAX_RUNS, check_embedding
from ccassg.evaluate.clustering import cluster_score, knn_score
from ccassg.evaluate.diagnostics import diagnose
from ccassg.evaluate.probe import linear_probe
from ccassg.graph import Array, Dataset
from ccassg.graph.checks import check_count, shown

# What is scored against labels in about a minute on one core: so many classes, nodes x classes x dimensions for probes and
# k-means, and pairs of nodes x dimensions for neighbours.
MAX_CLASSES, MAX_CELLS, MAX_PAIRS = 100, 400_000_000, 1_000_000_000_000


def summarize(z: Array, y: Array | None = None, *, n_seeds: int = 5) -> dict[str, Any]:
    """Score an embedding (n, d): diagnostics always; linear probe, clustering and neighbours where there are labels.

    ``y`` (n,) are classes, -1 for nodes without a label, which only the diagnostics count; one class alone is not scored, and of
    too much only a part, as ``notes`` say. The probes, as of `probe_twice`, have ``n_seeds`` random splits. The result is ready
    for JSON.
    """
    z = check_embedding(z)
    check_count("n_seeds", n_seeds, 1, MAX_RUNS)
    if y is not None:
        y = np.asarray(y)
        if y.shape != (len(z),) or y.dtype.kind not in "iu":
            raise ValueError(f"y must hold one whole number per row of z, -1 for no label, got {shown(y)}")
    result: dict[str, Any] = {"nodes": len(z), "dimensions": z.shape[1], "diagnostics": diagnose(z)}
    if y is None:
        return result
    part = scorable(z, y)
    if part.notes:
        result["notes"] = part.notes
    if len(part.classes) > 1:
        result["probe"] = probe_twice(part.z, part.y, n_seeds=n_seeds)
        result["clustering"] = cluster_score(part.z, part.y).as_dict()
        result["knn"] = knn_score(part.z, part.y)
    return result


class Scorable(NamedTuple):
    """The labelled nodes that are scored: rows (m, d), classes (m,), their old numbers, and what was left out."""

    z: Array
    y: Array
    classes: Array
    notes: list[str]


def scorable(z: Array, y: Array) -> Scorable:
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
    most = min(MAX_CELLS // (max(len(classes), 1) * z.shape[1]), math.isqrt(MAX_PAIRS // z.shape[1]))
    if len(nodes) > most:
        notes.append(f"{most:,} nodes drawn at random of {len(nodes):,} were scored, to bound the work")
        nodes = np.sort(np.random.default_rng(0).choice(nodes, most, replace=False))
    classes, numbers = np.unique(y[nodes], return_inverse=True)
    return Scorable(z[nodes], numbers, classes, notes)


def probe_twice(z: Array, y: Array | Dataset, *, n_seeds: int = 5) -> dict[str, Any]:
    """Return the scores of the paper's probe and, under "logistic", of the convex one on the same splits, ready for JSON."""
    check_count("n_seeds", n_seeds, 1, MAX_RUNS)
    convex = linear_probe(z, y, seeds=range(n_seeds), solver="logistic")
    return {**linear_probe(z, y, seeds=range(n_seeds)).as_dict(), "logistic": convex.as_dict()}
