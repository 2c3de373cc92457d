import numpy as np
import pytest

from ccassg.evaluate import summary
from ccassg.evaluate.probe import linear_probe
from ccassg.evaluate.summary import probe_twice, scorable, summarize


@pytest.fixture
def clusters():
    y = np.arange(60) % 3
    return np.eye(3, dtype=np.float32)[y] + 0.1 * np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32), y


def test_with_labels_everything_is_scored(clusters):
    z, y = clusters
    hidden = np.where(np.arange(60) < 6, -1, y)
    found = summarize(z, hidden, n_seeds=2)
    assert (found["nodes"], found["dimensions"]) == (60, 3)
    assert found["probe"]["n_runs"] == found["probe"]["logistic"]["n_runs"] == 2
    assert sum(map(sum, found["probe"]["confusion"])) == 2 * (
        54 - 2 * 5
    )  # the labelled nodes but for train and validation
    assert found["knn"] == 1
    assert found["clustering"]["n_clusters"] == 3


@pytest.mark.parametrize("y", [None, np.zeros(60, int), np.where(np.arange(60) < 9, -1, 1)])
def test_without_classes_only_diagnostics(clusters, y):
    assert set(summarize(clusters[0], y)) == {"nodes", "dimensions", "diagnostics"}


def test_both_probes_have_the_same_splits(clusters):
    z, y = clusters
    found = probe_twice(z, y, n_seeds=2)
    convex = found.pop("logistic")
    assert found == linear_probe(z, y, seeds=range(2)).as_dict()
    assert convex == linear_probe(z, y, seeds=range(2), solver="logistic").as_dict()
    assert len(found["epochs"]) == len(convex["strengths"]) == 2


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


@pytest.mark.parametrize(("bound", "value"), [("MAX_CELLS", 40 * 3 * 3), ("MAX_PAIRS", 40 * 40 * 3)])
def test_of_many_nodes_a_sample_is_scored(clusters, monkeypatch, bound, value):
    z, y = clusters
    whole = scorable(z, np.where(np.arange(60) < 6, -1, y))
    assert len(whole.z) == 54
    assert whole.notes == []
    monkeypatch.setattr(summary, bound, value)
    part = scorable(z, y)
    assert part.notes == ["40 nodes drawn at random of 60 were scored, to bound the work"]
    rows = [int(np.flatnonzero((z == row).all(1))[0]) for row in part.z]
    assert rows == sorted(set(rows))
    assert (y[rows] == part.y).all()
    assert summarize(z, y, n_seeds=1)["notes"] == part.notes
