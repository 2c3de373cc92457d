from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from ccassg.report import neighbours


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(limits=1):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_neighbours_equal_a_full_sort(rng, monkeypatch):
    monkeypatch.setattr(neighbours, "BLOCK_ROWS", 7)  # several blocks, the last one short
    z = rng.normal(size=(40, 5)).astype(np.float32)
    z[3] = 0  # a row without direction is as near to all as 0
    index, similarity = neighbours.nearest_neighbours(z, k=6)
    unit = z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-30)
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -np.inf)
    expected = -np.sort(-cosine, axis=1)[:, :6]
    np.testing.assert_allclose(similarity, expected, atol=1e-6)
    np.testing.assert_allclose(np.take_along_axis(cosine, index, axis=1), expected, atol=1e-6)
    assert (index != np.arange(40)[:, None]).all()


def test_neighbours_of_few_nodes_and_of_extreme_scales():
    index, similarity = neighbours.nearest_neighbours(np.ones((1, 3), np.float32))
    assert index.shape == similarity.shape == (1, 0)
    z = np.array([[1e30, 0], [1e30, 1e30], [1e-30, 0]], dtype=np.float32)
    index, similarity = neighbours.nearest_neighbours(z)
    assert index[0].tolist() == [2, 1]
    assert similarity[0] == pytest.approx([1, np.sqrt(0.5)])


def test_likely_neighbours_are_nearly_all_of_the_nearest(rng, monkeypatch):
    monkeypatch.setattr(neighbours, "BLOCK_ROWS", 64)
    z = (5 * rng.normal(size=(6, 24))[np.arange(900) % 6] + rng.normal(size=(900, 24))).astype(np.float32)
    exact, _ = neighbours.nearest_neighbours(z)
    found, similarity = neighbours.likely_neighbours(z, n_probes=10)
    recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found, exact, strict=True)])
    assert recall > 0.9
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    np.testing.assert_allclose(similarity, np.take_along_axis(unit @ unit.T, found, axis=1), atol=1e-5)
    assert (np.diff(similarity, axis=1) <= 0).all()
    assert (found != np.arange(900)[:, None]).all()
    everywhere, _ = neighbours.likely_neighbours(z, n_probes=30)  # all cells: nothing can be missed
    np.testing.assert_array_equal(np.sort(everywhere, axis=1), np.sort(exact, axis=1))


def test_likely_neighbours_in_a_crowd_of_equal_rows_and_of_lonely_ones(monkeypatch):
    monkeypatch.setattr(neighbours, "MAX_CELL", 20)
    index, similarity = neighbours.likely_neighbours(np.ones((300, 4), np.float32))
    assert similarity == pytest.approx(1)
    assert (index != np.arange(300)[:, None]).all()
    index, _ = neighbours.likely_neighbours(np.eye(4, dtype=np.float32), k=10)
    assert sorted(set(index[0])) == [0, 1, 2, 3]
    assert (index[:, 3:] == np.arange(4)[:, None]).all()  # only three others exist
