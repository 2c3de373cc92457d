"""All scores of an embedding at once."""

from typing import Any

import numpy as np

from ccassg.evaluate.clustering import cluster_score, knn_score
from ccassg.evaluate.diagnostics import diagnose
from ccassg.evaluate.probe import linear_probe
from ccassg.graph import Array, Dataset


def summarize(z: Array, y: Array | None = None, *, n_seeds: int = 5) -> dict[str, Any]:
    """Score an embedding (n, d): diagnostics always; linear probe, clustering and neighbours where there are labels.

    ``y`` (n,) are classes, -1 for nodes without a label, which only the diagnostics count; one class alone is not scored.
    The probes, as of `probe_twice`, have ``n_seeds`` random splits. The result is ready for JSON.
    """
    result: dict[str, Any] = {"nodes": len(z), "dimensions": z.shape[1], "diagnostics": diagnose(z)}
    if y is not None and len(np.unique(y[y >= 0])) > 1:
        labelled = y >= 0
        result["probe"] = probe_twice(z, y, n_seeds=n_seeds)
        result["clustering"] = cluster_score(z[labelled], y[labelled]).as_dict()
        result["knn"] = knn_score(z[labelled], y[labelled])
    return result


def probe_twice(z: Array, y: Array | Dataset, *, n_seeds: int = 5) -> dict[str, Any]:
    """Return the scores of the paper's probe and, under "logistic", of the convex one on the same splits, ready for JSON."""
    convex = linear_probe(z, y, seeds=range(n_seeds), solver="logistic")
    return {**linear_probe(z, y, seeds=range(n_seeds)).as_dict(), "logistic": convex.as_dict()}
