"""Words of text: the ones learned, their weights, and bounds."""

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from ccassg.io import blocks
from ccassg.io.blocks import Spread, count_words, learn_words, mostly_zeros, says_scaled, spread_of, spread_of_matrix

TEXTS = pa.chunked_array([["Red fox, red", "the RED fox"], [None, "the fox; a blue whale"]], pa.large_string())


def test_by_hand():
    found, idf = learn_words(TEXTS)
    assert found == ["fox", "red", "red fox", "the"]
    # scikit-learn's: 1 + log((1 + texts) / (1 + texts that have it)).
    np.testing.assert_allclose(idf, 1 + np.log(5 / (1 + np.array([3, 2, 2, 2]))), rtol=1e-6)
    rows = np.array([[1, 2, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 0, 1]]) * idf
    rows /= np.maximum(1e-9, np.linalg.norm(rows, axis=1, keepdims=True))
    counted = count_words(TEXTS, found, idf)
    assert counted.dtype == np.float32
    np.testing.assert_allclose(counted.toarray(), rows, rtol=1e-6)
    turned = [2, 0]
    np.testing.assert_allclose(
        count_words(TEXTS, [found[i] for i in turned], idf[turned]).toarray()[1],
        idf[turned] / np.linalg.norm(idf[turned]),
    )


def test_the_most_frequent_are_taken():
    assert learn_words(TEXTS, most=2)[0] == ["fox", "red"]


@pytest.mark.parametrize("texts", [["one two", "three four"], ["", None], ["a b", "a b"]])
def test_nothing_that_texts_share_is_nothing(texts):
    found, idf = learn_words(pa.chunked_array([pa.array(texts, pa.large_string())]))
    assert found == []
    assert len(idf) == 0


def test_bounds(monkeypatch):
    whole = count_words(TEXTS, ["fox", "red"], np.ones(2))
    monkeypatch.setattr(blocks, "PIECE_ROWS", 3)
    assert (count_words(TEXTS, ["fox", "red"], np.ones(2)) != whole).nnz == 0
    # Of a text its beginning counts, and of many texts every other, evenly spread.
    monkeypatch.setattr(blocks, "MAX_LENGTH", 7)
    assert count_words(TEXTS, ["fox", "red"], np.ones(2))[[0]].toarray().tolist() == whole[[1]].toarray().tolist()
    monkeypatch.setattr(blocks, "MAX_LEARNED", 10)
    texts = pa.chunked_array([pa.array(["an even", "odd cat"] * 4, pa.large_string())])
    assert learn_words(texts)[0] == ["an", "an even", "even"]


def test_alike_up_to_ten_times():
    assert spread_of({}) is None
    assert spread_of({"a": 0.0}) is None
    assert spread_of({"a": 1.0, "b": 10.0, "nothing": 0.0}) is None
    assert spread_of({"a": 1.0, "b": 10.5, "c": 2.0}) == Spread("b", "a", 10.5, 1.0)


@pytest.mark.parametrize(("times", "shown"), [(11, "11"), (4873.2, "4,900"), (2e6, "2,000,000"), (3e40, "3e+40")])
def test_the_note_shows_two_digits(times, shown):
    assert says_scaled("n.csv", Spread("age", "share", times, 1.0)) == (
        f"n.csv: columns differ in size up to {shown} times ('age', 'share'): those of numbers were brought to mean 0 and "
        f"deviation 1; `scale=False` keeps them as they are"
    )


def test_matrices():
    x = (np.random.default_rng(0).normal(size=(200, 80)) + 1).astype(np.float32)
    assert spread_of_matrix(x) is None
    assert spread_of_matrix(x * 1000) is None  # large, but alike
    sizes = np.where(np.arange(80) == 6, 1000, 1).astype(np.float32)
    spread = spread_of_matrix(x * sizes)
    assert spread.large == "column 7"
    words = np.where(np.random.default_rng(1).random(x.shape) < 0.1, x, 0) * sizes
    assert spread_of_matrix(words) is None  # sparse but for its format
    assert spread_of_matrix(words[:, :64]) is not None
    left, values, _ = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    components = (left * values * np.logspace(0, -2, 80)).astype(np.float32)
    assert spread_of_matrix(components) is None
    assert spread_of_matrix(components[:, ::-1]) is not None
    assert spread_of_matrix(x[:0]) is None


def test_mostly_zeros_counts_over_all_blocks():
    wide = np.eye(70, dtype=np.float32)
    assert mostly_zeros([wide])
    assert mostly_zeros([sp.csr_array(wide), np.ones((70, 3))])
    assert not mostly_zeros([wide, np.ones((70, 40))])
    assert not mostly_zeros([wide[:, :64]])
    assert not mostly_zeros([])
