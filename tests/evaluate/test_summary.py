from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from ccassg.evaluate import summary
from ccassg.evaluate.clustering import cluster_score, knn_score
from ccassg.evaluate.probe import linear_probe
from ccassg.evaluate.summary import as_target, glance, scorable, summarize
from ccassg.graph.dataset import random_split


@pytest.fixture
def clusters():
    y = np.arange(60) % 3
    return np.eye(3, dtype=np.float32)[y] + 0.1 * np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32), y


def test_with_labels_everything_is_scored(clusters):
    z, y = clusters
    hidden = np.where(np.arange(60) < 6, -1, y)
    found = summarize(z, hidden, n_seeds=2)
    assert (found["nodes"], found["dimensions"]) == (60, 3)
    assert found["probe"]["n_runs"] == 2
    assert sum(map(sum, found["probe"]["confusion"])) == 2 * (
        54 - 2 * 5
    )  # the labelled nodes but for train and validation
    assert found["knn"] is None  # a class has two training nodes, of which no ten can vote
    assert found["clustering"]["n_clusters"] == 3


@pytest.mark.parametrize("y", [None, np.zeros(60, int), np.where(np.arange(60) < 9, -1, 1)])
def test_without_classes_only_diagnostics(clusters, y):
    assert set(summarize(clusters[0], y)) - {"notes"} == {"nodes", "dimensions", "diagnostics"}


def test_raw_features_neighbours_and_the_probe_have_the_same_splits(clusters):
    z, y = np.tile(clusters[0], (6, 1)), np.tile(clusters[1], 6)
    rng = np.random.default_rng(1)
    features = sp.csr_array(np.eye(3)[y] + rng.normal(size=(360, 3)))
    hidden = np.where(np.arange(360) < 6, -1, y)
    found = summarize(z, hidden, features=features, n_seeds=2)
    known = np.arange(6, 360)
    dense = features.toarray()[known]
    raw = linear_probe(dense, y[known], seeds=range(2), solver="logistic", tolerance=summary.TOLERANCE)
    assert found["raw_features"] == raw.as_dict()
    splits = [random_split(y[known], seed) for seed in range(2)]
    assert found["knn"] == np.mean([knn_score(z[known], y[known], 10, split=split) for split in splits])
    assert found["largest_class"] == {"accuracy": pytest.approx(118 / 354), "macro_f1": pytest.approx(0.5 / 3)}
    adam = summarize(z, hidden, n_seeds=2, solver="adam")["probe"]
    assert len(adam["epochs"]) == 2


def test_fewer_splits_and_voters_where_there_is_much_work(clusters, monkeypatch):
    z, y = np.tile(clusters[0], (5, 1)), np.tile(clusters[1], 5)
    monkeypatch.setattr(summary, "PROBE_CELLS", 2 * 30 * 3 * 3)
    monkeypatch.setattr(summary, "PAIR_CELLS", 2 * 30 * 3 * 5)
    found = summarize(z, y)
    assert found["probe"]["n_runs"] == 2
    assert found["notes"] == ["2 random splits instead of 5, to bound the work"]
    assert (5 * found["knn"] * 2) % 1 == pytest.approx(0, abs=1e-9)


NUMBERS = [f"{v}" for v in np.random.default_rng(3).normal(size=60).round(4)]


@pytest.mark.parametrize(
    ("names", "is_target"),
    [
        (NUMBERS, True),
        (NUMBERS[:20], False),
        ([str(10 * i) for i in range(60)], False),
        ([f"n{i}" for i in range(60)], False),
        ([*NUMBERS[:59], "inf"], False),
    ],
    ids=["fractions", "few fractions", "few whole numbers", "names", "infinite"],
)
def test_what_is_a_quantity(names, is_target):
    y = np.arange(60) % len(names)
    y[3] = -1
    found = as_target(y, names)
    assert (found is not None) is is_target
    if found is not None:
        assert np.isnan(found[3])
        assert found[5] == float(names[y[5]])


def test_many_whole_numbers_with_gaps_are_a_quantity_and_without_them_classes():
    assert as_target(np.arange(300) ** 2) is not None
    assert as_target(np.arange(300)) is None


def test_more_than_twenty_fractions_are_a_quantity_the_first_among_them():
    names = [str(i + 0.5) for i in range(21)]
    assert as_target(np.arange(20), names) is None
    assert as_target(np.arange(21), names) is not None


def test_a_quantity_is_a_regression(clusters):
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 3)).astype(np.float32)
    target = z @ [1, 2, 3] + 0.1 * rng.normal(size=300)
    names, y = np.unique(target.round(6), return_inverse=True)
    found = summarize(z, y, class_names=names.astype(str).tolist(), features=rng.normal(size=(300, 5)))
    assert found["regression"]["r2"] > 0.99
    assert found["raw_features"]["r2"] < 0.3
    assert found["notes"] == ["the labels are 300 different numbers: a target of regression, no classes"]
    assert "probe" not in found
    assert glance(z, y, names.astype(str).tolist())["r2"] > 0.99


def test_a_regression_has_fewer_splits_where_nodes_are_many(monkeypatch):
    z = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
    names, y = np.unique(z.sum(1), return_inverse=True)
    monkeypatch.setattr(summary, "PROBE_CELLS", 2 * 30 * 100)
    found = summarize(z, y, class_names=names.astype(str).tolist())
    assert found["notes"][1] == "2 random splits instead of 5, to bound the work"


def test_a_glance_takes_few_nodes_or_none(clusters):
    z, y = clusters
    assert glance(z, y, None)["accuracy"] == 1
    assert glance(z, np.where(np.arange(60) < 20, y, -1), None) is None
    assert glance(z, np.zeros(60, int), None) is None


def test_labels_that_are_ids_are_named_as_such_and_not_scored(clusters):
    z, _ = clusters
    y = np.concatenate([[-1, -1], np.arange(56), [0, 0]])
    found = summarize(z, y)
    assert set(found) == {"nodes", "dimensions", "diagnostics", "notes"}
    (note,) = found["notes"]
    assert note.startswith(
        "the labels have 56 different values on 58 nodes, so nothing was scored against them: are they ids"
    )


def test_of_many_classes_the_largest_are_scored(clusters, monkeypatch):
    z, _ = clusters
    monkeypatch.setattr(summary, "MAX_CLASSES", 2)
    y = np.repeat([7, 5, -1, 9, 3], [10, 20, 10, 11, 9])
    part = scorable(z, y)
    assert part.classes.tolist() == [5, 9]
    assert (part.z == z[np.isin(y, [5, 9])]).all()
    assert part.y.tolist() == [0] * 20 + [1] * 11
    assert part.notes == ["of 4 classes the 2 with most nodes were scored, to bound the work: 31 of 50 nodes"]
    found = summarize(z, y, n_seeds=1)
    assert found["notes"] == part.notes
    assert np.shape(found["probe"]["confusion"]) == (2, 2)
    assert found["clustering"]["n_clusters"] == 2


def test_of_many_nodes_a_sample_is_scored(clusters, monkeypatch):
    z, y = clusters
    whole = scorable(z, np.where(np.arange(60) < 6, -1, y))
    assert len(whole.z) == 54
    assert whole.notes == []
    monkeypatch.setattr(summary, "MAX_CELLS", 40 * 3 * 3)
    part = scorable(z, y)
    assert part.notes == ["40 nodes drawn at random of 60 were scored, to bound the work"]
    rows = [int(np.flatnonzero((z == row).all(1))[0]) for row in part.z]
    assert rows == sorted(set(rows))
    assert (y[rows] == part.y).all()
    assert summarize(z, y, n_seeds=1)["notes"] == part.notes


def test_how_many_splits_voters_and_clusterings(monkeypatch):
    """Of 430 nodes of three classes 43 train; a tenth of them vote."""
    y = np.arange(430) % 3
    z = np.random.default_rng(0).normal(size=(430, 2)).astype(np.float32) + y[:, None]
    for runs, cells in ((3, 3 * 43 * 3 * 2), (2, 3 * 43 * 3 * 2 - 1), (1, 1)):
        monkeypatch.setattr(summary, "PROBE_CELLS", cells)
        found = summarize(z, y, n_seeds=3, features=z)
        assert found["probe"]["n_runs"] == runs
        many = [] if runs == 3 else [f"{runs} random split{'s' * (runs > 1)} instead of 3, to bound the work"]
        assert found["notes"] == many
    assert found["random_splits"]
    assert found["classes"] == [0, 1, 2]
    assert found["k_neighbours"] == 10
    split = random_split(y, 0)
    assert found["knn"] == knn_score(z, y, 10, split=split)
    assert found["clustering"] == cluster_score(z, y, seeds=range(5)).as_dict()
    probe = linear_probe(z, y, split, solver="logistic", tolerance=0.01).as_dict()
    assert found["probe"] == found["raw_features"] == probe
    assert probe != linear_probe(z, y, split, solver="logistic").as_dict()
    for n, cells in ((2, 2 * 430 * 2 * 3), (1, 2 * 430 * 2 * 3 - 1), (1, 1)):
        monkeypatch.setattr(summary, "CLUSTER_CELLS", cells)
        assert summarize(z, y, n_seeds=1)["clustering"] == cluster_score(z, y, seeds=range(n)).as_dict()
    for cells, n in ((43 * 2 * 344, 344), (43 * 2 * 102 - 1, 101)):  # of 344 test nodes
        monkeypatch.setattr(summary, "PAIR_CELLS", cells)
        test = np.sort(np.random.default_rng(0).choice(split.test, n, replace=False))
        few = SimpleNamespace(train=split.train, val=split.val, test=test)
        assert summarize(z, y, n_seeds=1)["knn"] == knn_score(z, y, 10, split=few)


def test_ten_vote_where_a_class_has_as_many_training_nodes_and_given_splits_are_kept(clusters):
    z, y = np.tile(clusters[0], (20, 1)), np.tile(clusters[1], 20)
    for n, is_scored in ((60, False), (299, False), (300, True), (1200, True)):
        found = summarize(z[:n], y[:n], n_seeds=1)
        assert found["k_neighbours"] == 10
        assert (found["knn"] is not None) == is_scored
    split = random_split(y[:300], 1)
    found = summarize(z[:300], y[:300], splits=[split])
    assert not found["random_splits"]
    assert found["probe"] == linear_probe(z[:300], y[:300], split, solver="logistic", tolerance=0.01).as_dict()
    half = np.where(np.arange(300) < 10, -1, y[:300])
    found = summarize(z[:300], half, splits=[split])  # of nodes without a label, too
    assert found["random_splits"]
    assert found["probe"]["n_runs"] == 5


def test_the_parts_are_told_in_their_order(clusters):
    z, y = clusters
    told = []
    summarize(z, y, n_seeds=1, features=z, on_part=told.append)
    assert told == ["diagnostics", "linear probe", "linear probe of the raw features", "nearest neighbours", "k-means"]
    for n_seeds in (0, 10_001):
        with pytest.raises(ValueError, match="n_seeds must be"):
            summarize(z, y, n_seeds=n_seeds)
    for wrong in (y[:-1], y.astype(float), np.array(["a"] * 60)):
        with pytest.raises(ValueError, match="y must hold one whole number per row of z"):
            summarize(z, wrong)


def test_a_glance_of_many_is_one_of_a_sample(clusters):
    z = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    y = clusters[1].copy()
    assert (
        glance(z, np.where(np.arange(60) < 50, y, -1), None)
        == linear_probe(z[:50], y[:50], solver="logistic").as_dict()
    )
    assert glance(z, np.where(np.arange(60) < 49, y, -1), None) is None
    y[::7] = -1
    nodes = np.flatnonzero(y >= 0)
    assert glance(z, y, None, n_nodes=len(nodes)) == linear_probe(z[nodes], y[nodes], solver="logistic").as_dict()
    some = np.sort(np.random.default_rng(0).choice(nodes, 30, replace=False))
    assert glance(z, y, None, n_nodes=30) == linear_probe(z[some], y[some], solver="logistic").as_dict()


def test_the_limits_between_classes_and_a_quantity():
    for n in (100, 101):  # whole numbers, half of those between the least and the largest
        assert (as_target(np.arange(n) * 3) is not None) == (n > 100)
        assert (as_target(np.arange(n), [str(3 * c) for c in range(n)]) is not None) == (n > 100)
    two_apart = 2 * np.arange(150)
    for last, is_target in ((299, False), (300, True)):  # 150 numbers over a range of twice as many
        found = as_target(np.append(two_apart[:-1], last))
        assert (found is not None) is is_target
    found = as_target(np.append(-1, np.arange(101) * 3))
    assert np.isnan(found[0])
    assert found[1:].tolist() == (3.0 * np.arange(101)).tolist()


def test_the_limits_of_what_is_scorable():
    z = np.ones((404, 2), np.float32)
    assert scorable(z, np.arange(404) // 2).classes.tolist() == list(
        range(100)
    )  # two nodes a class; the first of equals
    assert scorable(z[:200], np.arange(200) // 2).notes == []
    assert len(scorable(z[:199], np.arange(199) // 2).classes) == 0  # the last has one
    assert scorable(z[:202], np.arange(202) // 2).notes == [
        "of 101 classes the 100 with most nodes were scored, to bound the work: 200 of 202 nodes"
    ]


def test_a_part_of_the_nodes_is_the_one_that_is_drawn(clusters, monkeypatch):
    z, y = clusters
    for cells, n in ((54 * 3 * 3, 54), (54 * 3 * 3 - 1, 53)):
        monkeypatch.setattr(summary, "MAX_CELLS", cells)
        part = scorable(z, np.where(np.arange(60) < 6, -1, y), z[::-1])
        nodes = np.arange(6, 60)
        if n < 54:
            nodes = np.sort(np.random.default_rng(0).choice(nodes, n, replace=False))
        assert (part.z == z[nodes]).all()
        assert (part.features == z[::-1][nodes]).all()
        assert (part.y == y[nodes]).all()


def test_a_glance_sees_five_thousand_nodes():
    z = np.random.default_rng(0).normal(size=(5001, 2)).astype(np.float32)
    y = (z[:, 0] > 0).astype(int)
    assert glance(z, y, None) == glance(z, y, None, n_nodes=5000) != glance(z, y, None, n_nodes=5001)
