"""Nearest nodes: blocks and faiss against the whole matrix."""

import numpy as np
import pytest

from ccassg.io import search
from ccassg.io.search import most_similar

RNG = np.random.default_rng(0)
Z = RNG.standard_normal((300, 8)).astype(np.float32)


def reference(z, query, k, metric):
    z = z.astype(np.float64)
    if metric == "cosine":
        z = z / np.linalg.norm(z, axis=1, keepdims=True)
    scores = -np.linalg.norm(z - z[query], axis=1) if metric == "euclidean" else z @ z[query]
    scores[query] = -np.inf
    order = np.argsort(-scores, kind="stable")[:k]
    return order, np.abs(scores[order]) if metric == "euclidean" else scores[order]


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
@pytest.mark.parametrize("way", ["one block", "blocks", "faiss"])
def test_agrees_with_the_whole_matrix(monkeypatch, metric, way):
    if way == "blocks":
        monkeypatch.setattr(search, "BLOCK_ROWS", 7)
    if way == "faiss":
        pytest.importorskip("faiss")
        monkeypatch.setattr(search, "EXACT_NODES", 10)
    queries = [0, 5, 299]
    order, scores = most_similar(Z, queries, 6, metric)
    assert order.shape == scores.shape == (3, 6)
    for row, query in enumerate(queries):
        expected, values = reference(Z, query, 6, metric)
        assert order[row].tolist() == expected.tolist()
        np.testing.assert_allclose(scores[row], values, atol=1e-5)


def test_one_query_equal_rows_and_zeros(monkeypatch):
    z = np.array([[1, 0], [1, 0], [0, 1], [0, 0], [1, 0]], np.float32)
    order, scores = most_similar(z, 1, 3)
    assert order.tolist() == [0, 4, 2]
    assert scores.tolist() == [1, 1, 0]
    monkeypatch.setattr(search, "EXACT_NODES", 1)
    order, _ = most_similar(z, 4, 10)
    assert sorted(order.tolist()) == [0, 1, 2, 3]


def test_k_is_cut_and_arguments_checked():
    assert most_similar(Z, 3, 10**6)[0].shape == (299,)
    for arguments, sentence in [
        ((Z, 300, 1), r"in 0 \.\. 299, got 300"),
        ((Z, -1, 1), "got -1"),
        ((Z, 0.5, 1), "row numbers"),
        ((Z, 0, 0), "k must be at least 1"),
        ((Z, 0, 1, "jaccard"), "metric must be"),
        ((Z[:1], 0, 1), "at least two rows"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            most_similar(*arguments)
