"""Scores that train nothing on labels: k-means against the classes, and nearest neighbours."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ccassg.evaluate.checks import check_embedding, check_labels, check_split
from ccassg.evaluate.neighbours import nearest
from ccassg.graph import Array, Split


@dataclass(frozen=True, eq=False)
class ClusterResult:
    """Agreement of k-means with the classes; every list has one entry per seed.

    Attributes
    ----------
    nmi : list of float
        Normalised mutual information (arithmetic mean of the entropies), in [0, 1].
    ari : list of float
        Adjusted Rand index, 0 in expectation for random clusters, 1 for the classes themselves.
    n_clusters : int
    clusters : int array of shape (n,)
        Clusters of all nodes, labelled or not, from the seed with the smallest within-cluster sum of squares.
    """

    nmi: list[float]
    ari: list[float]
    n_clusters: int
    clusters: Array = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Return means and standard deviations first, without the clusters, in types that JSON knows."""
        ddof = 1 if len(self.nmi) > 1 else 0
        return {
            "nmi": float(np.mean(self.nmi)),
            "nmi_std": float(np.std(self.nmi, ddof=ddof)),
            "ari": float(np.mean(self.ari)),
            "ari_std": float(np.std(self.ari, ddof=ddof)),
            "n_clusters": self.n_clusters,
            "nmi_per_seed": self.nmi,
            "ari_per_seed": self.ari,
        }


def cluster_score(
    z: Any,
    y: npt.ArrayLike,
    *,
    n_clusters: int | None = None,
    seeds: int | Iterable[int] = range(5),
    n_init: int = 3,
) -> ClusterResult:
    """Cluster all nodes by k-means and compare with the labels of those that have one.

    Parameters
    ----------
    z : array of shape (n, d)
    y : int array of shape (n,)
        Classes from 0, -1 for none. Used for the comparison only.
    n_clusters : int, optional
        The number of classes that occur in `y` unless given.
    seeds : int or iterable of int
        One clustering each.
    n_init : int
        Restarts per seed, of which k-means keeps the best by its own criterion.

    Returns
    -------
    ClusterResult
    """
    from sklearn.cluster import KMeans  # here, to keep the import of the package quick
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    embedding = check_embedding(z)
    labels = check_labels(y, len(embedding))
    known = labels >= 0
    k = len(np.unique(labels[known])) if n_clusters is None else n_clusters
    if not 1 <= k <= len(embedding):
        raise ValueError(f"n_clusters must be between 1 and the number of nodes, {len(embedding)}, got {k}")
    given = [int(seeds)] if isinstance(seeds, (int, np.integer)) else [int(seed) for seed in seeds]
    if not given:
        raise ValueError("seeds is empty; give at least one")
    models = [KMeans(k, n_init=n_init, random_state=seed).fit(embedding) for seed in given]
    true = labels[known]
    return ClusterResult(
        nmi=[float(normalized_mutual_info_score(true, model.labels_[known])) for model in models],
        ari=[float(adjusted_rand_score(true, model.labels_[known])) for model in models],
        n_clusters=k,
        clusters=min(models, key=lambda model: model.inertia_).labels_,
    )


def knn_score(
    z: Any,
    y: npt.ArrayLike,
    k: int = 10,
    *,
    split: Split | None = None,
    metric: Literal["cosine", "euclidean"] = "cosine",
) -> float:
    """Return the accuracy of the majority vote among the k nearest labelled nodes.

    Without a split every labelled node is predicted from all the others (leave one out). With one, the test nodes are
    predicted from the training nodes; nothing is chosen, so validation nodes are not used. A tied vote goes to the
    class whose nearest voter is nearest. Exact; computed in blocks, so memory does not grow with n squared.

    Parameters
    ----------
    z : array of shape (n, d)
    y : int array of shape (n,)
        Classes from 0, -1 for none.
    k : int
        Voters; at most the number of candidates is used.
    split : object with index arrays ``train``, ``val`` and ``test``, optional
    metric : "cosine" or "euclidean"

    Returns
    -------
    float
        A fraction in [0, 1].
    """
    embedding = check_embedding(z)
    labels = check_labels(y, len(embedding))
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    if metric not in ("cosine", "euclidean"):
        raise ValueError(f"metric must be 'cosine' or 'euclidean', got {metric!r}")
    if split is None:
        queries = candidates = np.flatnonzero(labels >= 0)
        if len(candidates) < 2:
            raise ValueError("leaving one out needs at least 2 labelled nodes, got 1")
    else:
        parts = check_split(split, labels)
        queries, candidates = parts["test"], parts["train"]
    itself = np.arange(len(queries)) if split is None else None
    voters, _ = nearest(embedding[queries], embedding[candidates], k, metric, itself=itself)
    return float(np.mean(_majority(labels[candidates[voters]]) == labels[queries]))


def _majority(votes: Array) -> Array:
    """Return the most frequent value of each row (m, k); among equals the one that comes first."""
    counts = np.zeros(votes.shape, np.int64)
    for one in votes.T:
        counts += votes == one[:, None]
    return votes[np.arange(len(votes)), counts.argmax(1)]
