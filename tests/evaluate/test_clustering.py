import json

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsClassifier

from ccassg.evaluate.clustering import cluster_score, knn_score
from ccassg.graph.dataset import random_split


def blobs(seed=0, n=90, d=5, c=3, noise=0.1):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % c
    return 3 * np.eye(c, d)[y] + noise * rng.normal(size=(n, d)), y


class TestClusterScore:
    def test_many_nodes_are_seen_in_batches(self, monkeypatch):
        for n, unused in ((20_000, "MiniBatchKMeans"), (20_001, "KMeans")):
            z, y = blobs(n=n)
            with monkeypatch.context() as patch:
                patch.setattr(f"sklearn.cluster.{unused}", None)
                assert cluster_score(z, y, seeds=0).nmi == [pytest.approx(1.0)]

    def test_separate_blobs_are_found(self):
        z, y = blobs()
        result = cluster_score(z, y, seeds=[0, 1])
        assert result.nmi == pytest.approx([1.0, 1.0])
        assert result.ari == pytest.approx([1.0, 1.0])
        assert result.n_clusters == 3

    def test_noise_agrees_with_nothing(self):
        rng = np.random.default_rng(0)
        result = cluster_score(rng.normal(size=(300, 4)), rng.integers(3, size=300), seeds=3).as_dict()
        assert abs(result["ari"]) < 0.05
        assert result["nmi"] < 0.05

    def test_unlabelled_nodes_are_clustered_but_not_compared(self):
        z, y = blobs()
        hidden = np.where(np.arange(90) < 40, -1, y)
        result = cluster_score(z, hidden, seeds=0)
        assert result.ari == pytest.approx([1.0])
        far = cluster_score(np.vstack([z, np.full((3, 5), 1e3)]), np.append(y, [-1] * 3), seeds=0)
        assert far.ari[0] < 0.9  # they take a cluster of their own

    def test_node_order_and_seed(self):
        z, y = blobs(noise=1.5)
        order = np.random.default_rng(1).permutation(90)
        same = cluster_score(z, y, seeds=0).as_dict()
        assert cluster_score(z, y, seeds=0).as_dict() == same
        permuted = cluster_score(z[order], y[order], seeds=0).as_dict()
        assert permuted["ari"] == pytest.approx(same["ari"], abs=0.1)
        assert json.loads(json.dumps(same)) == same

    def test_seeds_are_five_and_each_is_the_best_of_three_restarts(self):
        z, y = blobs(noise=2, c=3)
        clusters = [KMeans(3, n_init=3, random_state=seed).fit(z).labels_ for seed in range(5)]
        found = cluster_score(z, y)
        assert found.ari == pytest.approx([adjusted_rand_score(y, own) for own in clusters])
        assert found.as_dict()["ari_std"] == pytest.approx(np.std(found.ari, ddof=1))
        assert found.as_dict()["nmi_std"] == pytest.approx(np.std(found.nmi, ddof=1))
        assert cluster_score(z, y, seeds=0).as_dict()["nmi_std"] == 0

    def test_errors(self):
        z, y = blobs()
        with pytest.raises(ValueError, match="seeds is empty"):
            cluster_score(z, y, seeds=[])


class TestKnnScore:
    def test_by_hand(self):
        # Angles: 0 and 10 are neighbours of one class, so are 80 and 90; 40 is nearest to 10 (class 0), but is of class 1.
        angle = np.deg2rad([0, 10, 40, 80, 90])
        z = np.column_stack([np.cos(angle), np.sin(angle)])
        assert knn_score(z, [0, 0, 1, 1, 1], k=1) == pytest.approx(4 / 5)

    @pytest.mark.parametrize("k", [1, 5])
    def test_leave_one_out_agrees_with_a_loop(self, k):
        z, y = blobs(noise=2, c=2)
        right = 0
        for i in range(90):
            others = np.delete(np.arange(90), i)
            model = KNeighborsClassifier(k, metric="cosine").fit(z[others], y[others])
            right += model.predict(z[i : i + 1])[0] == y[i]
        assert knn_score(z, y, k) == pytest.approx(right / 90)

    def test_order_changes_nothing(self):
        z, y = blobs(noise=2)
        y = np.where(np.arange(90) % 7 == 0, -1, y)
        whole = knn_score(z, y)
        order = np.random.default_rng(0).permutation(90)
        assert knn_score(z[order], y[order]) == whole

    def test_tied_vote_goes_to_the_nearest(self):
        angle = np.deg2rad([0, 10, -15])
        z = np.column_stack([np.cos(angle), np.sin(angle)])
        # Voters, nearest first: of the first node the second and third, of the others the first and the far one.
        assert knn_score(z, [1, 1, 0], 2) == pytest.approx(2 / 3)
        assert knn_score(z, [0, 1, 0], 2) == pytest.approx(1 / 3)

    def test_of_a_split_training_nodes_vote_on_test_nodes(self):
        z, y = blobs(noise=3)
        split = random_split(y, 0)
        unit = z / np.linalg.norm(z, axis=1, keepdims=True)
        expected = KNeighborsClassifier(1).fit(unit[split.train], y[split.train]).score(unit[split.test], y[split.test])
        assert knn_score(z, y, 1, split=split) == expected != knn_score(z, y, 1)

    def test_ten_voters_and_two_nodes(self):
        z, y = blobs(seed=4, noise=3)
        assert knn_score(z, y) == knn_score(z, y, 10) != knn_score(z, y, 11)
        assert knn_score(z[:2], [0, 0]) == 1

    def test_more_voters_than_nodes_and_zero_rows(self):
        assert knn_score(np.zeros((4, 2)), [0, 0, 0, 1], k=50) == pytest.approx(3 / 4)

    def test_errors(self):
        z, y = blobs()
        with pytest.raises(ValueError, match="k must be an integer, at least 1, got 0"):
            knn_score(z, y, 0)
        with pytest.raises(ValueError, match="at least 2 labelled"):
            knn_score(z[:2], [0, -1])
