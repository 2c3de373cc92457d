import numpy as np
import pytest
import scipy.sparse as sp

from ccassg.evaluate import summary
from ccassg.evaluate.clustering import knn_score
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
    assert found["knn"] == 1
    assert found["clustering"]["n_clusters"] == 3


@pytest.mark.parametrize("y", [None, np.zeros(60, int), np.where(np.arange(60) < 9, -1, 1)])
def test_without_classes_only_diagnostics(clusters, y):
    assert set(summarize(clusters[0], y)) - {"notes"} == {"nodes", "dimensions", "diagnostics"}


def test_raw_features_neighbours_and_the_probe_have_the_same_splits(clusters):
    z, y = clusters
    rng = np.random.default_rng(1)
    features = sp.csr_array(np.eye(3)[y] + rng.normal(size=(60, 3)))
    hidden = np.where(np.arange(60) < 6, -1, y)
    found = summarize(z, hidden, features=features, n_seeds=2)
    known = np.arange(6, 60)
    dense = features.toarray()[known]
    assert found["raw_features"] == linear_probe(dense, y[known], seeds=range(2), solver="logistic").as_dict()
    splits = [random_split(y[known], seed) for seed in range(2)]
    assert found["knn"] == np.mean([knn_score(z[known], y[known], 1, split=split) for split in splits])
    assert found["largest_class"] == {"accuracy": pytest.approx(18 / 54), "macro_f1": pytest.approx(0.5 / 3)}
    adam = summarize(z, hidden, n_seeds=2, solver="adam")["probe"]
    assert len(adam["epochs"]) == 2


def test_fewer_splits_and_voters_where_there_is_much_work(clusters, monkeypatch):
    z, y = clusters
    monkeypatch.setattr(summary, "PROBE_CELLS", 2 * 6 * 3 * 3)
    monkeypatch.setattr(summary, "PAIR_CELLS", 2 * 6 * 3 * 5)
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
