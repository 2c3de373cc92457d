"""Scores that train nothing on labels: k-means against the classes, and nearest neighbours."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ccassg.evaluate.checks import check_embedding, check_labels, check_seeds, check_split
from ccassg.evaluate.neighbours import nearest
from ccassg.graph import Array, Split
from ccassg.graph.checks import check_count

# Restarts per seed, of which k-means keeps the best by its own criterion.
N_INIT = 3
# Of more nodes k-means sees a batch at a time.
MAX_WHOLE = 20_000


@dataclass(frozen=True)
class ClusterResult:
    """Agreement of k-means with the classes; every list has one entry per seed.

    ``nmi`` is the normalised mutual information (arithmetic mean of the entropies), in [0, 1]; ``ari`` the adjusted Rand
    index, 0 in expectation for random clusters, 1 for the classes themselves.
    """

    nmi: list[float]
    ari: list[float]
    n_clusters: int

    def as_dict(self) -> dict[str, Any]:
        """Return means and standard deviations first, in types that JSON knows."""
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


def cluster_score(z: Any, y: npt.ArrayLike, *, seeds: int | Iterable[int] = range(5)) -> ClusterResult:
    """Cluster all nodes by k-means, into as many clusters as there are classes, and compare with the labels.

    Beyond 20,000 nodes by scikit-learn's MiniBatchKMeans.

    Parameters
    ----------
    z : array of shape (n, d)
    y : int array of shape (n,)
        Classes from 0, -1 for none; or their names, None for none. Used for the comparison only.
    seeds : int or iterable of int
        One clustering each.

    Returns
    -------
    ClusterResult
    """
    from sklearn.cluster import KMeans, MiniBatchKMeans  # here, to keep the import of the package quick
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    embedding = check_embedding(z)
    labels = check_labels(y, len(embedding))
    known = labels >= 0
    true = labels[known]
    k = len(np.unique(true))
    checked = check_seeds(seeds)
    given = [checked] if isinstance(checked, int) else checked
    method = KMeans if len(embedding) <= MAX_WHOLE else partial(MiniBatchKMeans, batch_size=4096)
    found = [method(k, n_init=N_INIT, random_state=seed).fit(embedding).labels_[known] for seed in given]
    return ClusterResult(
        nmi=[float(normalized_mutual_info_score(true, clusters)) for clusters in found],
        ari=[float(adjusted_rand_score(true, clusters)) for clusters in found],
        n_clusters=k,
    )


def knn_score(z: Any, y: npt.ArrayLike, k: int = 10, *, split: Split | None = None) -> float:
    """Return how often the majority vote of the k nearest labelled nodes, by cosine, is right: a share in [0, 1].

    With a split the training nodes vote on the test nodes, so that the vote knows the labels that a linear probe knows; without
    one all other labelled nodes vote on each. A tied vote goes to the class whose nearest voter is nearest. Exact; computed in blocks, so memory does not grow with
    n squared.

    Parameters
    ----------
    z : array of shape (n, d)
    y : int array of shape (n,)
        Classes from 0, -1 for none; or their names, None for none.
    k : int
        Voters; at most the number of candidates is used.
    split : object with index arrays ``train``, ``val`` and ``test``, optional
    """
    embedding = check_embedding(z)
    labels = check_labels(y, len(embedding))
    check_count("k", k, 1)
    if split is not None:
        parts = check_split(split, labels)
        voters, _ = nearest(embedding[parts["test"]], embedding[parts["train"]], k)
        return float(np.mean(_majority(labels[parts["train"][voters]]) == labels[parts["test"]]))
    known = np.flatnonzero(labels >= 0)
    if len(known) < 2:
        raise ValueError("leaving one out needs at least 2 labelled nodes, got 1")
    rows = embedding[known]
    voters, _ = nearest(rows, rows, k, itself=np.arange(len(rows)))
    return float(np.mean(_majority(labels[known[voters]]) == labels[known]))


def _majority(votes: Array) -> Array:
    """Return the most frequent value of each row (m, k); among equals the one that comes first."""
    counts = np.zeros(votes.shape, np.int64)
    for one in votes.T:
        counts += votes == one[:, None]
    return votes[np.arange(len(votes)), counts.argmax(1)]
