import numpy as np
import pytest

from ccassg.evaluate.probe import linear_probe
from ccassg.evaluate.summary import probe_twice, summarize


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
