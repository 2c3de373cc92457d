import json
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from ccassg.evaluate.clustering import cluster_score, knn_score


def blobs(seed=0, n=90, d=5, c=3, noise=0.1):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % c
    return 3 * np.eye(c, d)[y] + noise * rng.normal(size=(n, d)), y


class TestClusterScore:
    def test_separate_blobs_are_found(self):
        z, y = blobs()
        result = cluster_score(z, y, seeds=[0, 1])
        assert result.nmi == pytest.approx([1.0, 1.0])
        assert result.ari == pytest.approx([1.0, 1.0])
        assert result.n_clusters == 3
        assert len(np.unique(result.clusters[y == 0])) == 1

    def test_noise_agrees_with_nothing(self):
        rng = np.random.default_rng(0)
        result = cluster_score(rng.normal(size=(300, 4)), rng.integers(3, size=300), seeds=3).as_dict()
        assert abs(result["ari"]) < 0.05
        assert result["nmi"] < 0.05

    def test_unlabelled_nodes_are_clustered_but_not_compared(self):
        z, y = blobs()
        hidden = np.where(np.arange(90) < 40, -1, y)
        result = cluster_score(z, hidden, seeds=0)
        assert result.clusters.shape == (90,)
        assert result.ari == pytest.approx([1.0])

    def test_node_order_and_seed(self):
        z, y = blobs(noise=1.5)
        order = np.random.default_rng(1).permutation(90)
        same = cluster_score(z, y, seeds=0).as_dict()
        assert cluster_score(z, y, seeds=0).as_dict() == same
        permuted = cluster_score(z[order], y[order], seeds=0, n_init=20).as_dict()
        assert permuted["ari"] == pytest.approx(cluster_score(z, y, seeds=0, n_init=20).as_dict()["ari"], abs=0.1)
        assert json.loads(json.dumps(same)) == same

    def test_errors(self):
        z, y = blobs()
        with pytest.raises(ValueError, match="n_clusters must be between 1 and the number of nodes, 90, got 91"):
            cluster_score(z, y, n_clusters=91)
        with pytest.raises(ValueError, match="seeds is empty"):
            cluster_score(z, y, seeds=[])


class TestKnnScore:
    def test_by_hand(self):
        # On a line: 0 and 1 are neighbours of the same class, so are 10 and 11; 5.4 is nearest to 1 (class 0), but is of class 1.
        z = np.array([[0.0], [1.0], [5.4], [10.0], [11.0]])
        y = np.array([0, 0, 1, 1, 1])
        assert knn_score(z, y, k=1, metric="euclidean") == pytest.approx(4 / 5)

    @pytest.mark.parametrize("metric", ["cosine", "euclidean"])
    @pytest.mark.parametrize("k", [1, 7])
    def test_split_agrees_with_scikit_learn(self, metric, k):
        z, y = blobs(noise=2, c=2)
        split = SimpleNamespace(train=np.arange(40), val=np.arange(40, 45), test=np.arange(45, 90))
        reference = KNeighborsClassifier(k, metric=metric).fit(z[:40], y[:40]).score(z[45:], y[45:])
        assert knn_score(z, y, k, split=split, metric=metric) == pytest.approx(reference)

    @pytest.mark.parametrize("metric", ["cosine", "euclidean"])
    def test_leave_one_out_agrees_with_a_loop(self, metric):
        z, y = blobs(noise=2, c=2)
        right = 0
        for i in range(90):
            others = np.delete(np.arange(90), i)
            model = KNeighborsClassifier(5, metric=metric).fit(z[others], y[others])
            right += model.predict(z[i : i + 1])[0] == y[i]
        assert knn_score(z, y, 5, metric=metric) == pytest.approx(right / 90)

    def test_order_changes_nothing(self):
        z, y = blobs(noise=2)
        y = np.where(np.arange(90) % 7 == 0, -1, y)
        whole = knn_score(z, y)
        order = np.random.default_rng(0).permutation(90)
        assert knn_score(z[order], y[order]) == whole

    def test_tied_vote_goes_to_the_nearest(self):
        z = np.array([[0.0], [1.0], [-1.5]])
        split = SimpleNamespace(train=np.array([1, 2]), val=np.array([1]), test=np.array([0]))
        assert knn_score(z, [1, 1, 0], 2, split=split, metric="euclidean") == 1.0
        assert knn_score(z, [0, 1, 0], 2, split=split, metric="euclidean") == 0.0

    def test_more_voters_than_nodes_and_zero_rows(self):
        assert knn_score(np.zeros((4, 2)), [0, 0, 0, 1], k=50) == pytest.approx(3 / 4)

    def test_errors(self):
        z, y = blobs()
        with pytest.raises(ValueError, match="k must be at least 1, got 0"):
            knn_score(z, y, 0)
        with pytest.raises(ValueError, match="got 'hamming'"):
            knn_score(z, y, metric="hamming")
        with pytest.raises(ValueError, match="at least 2 labelled"):
            knn_score(z[:2], [0, -1])
