"""Words of text: the ones learned, their weights, and bounds."""

import numpy as np
import pyarrow as pa
import pytest

from ccassg.io import words
from ccassg.io.words import count_words, learn_words

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
    monkeypatch.setattr(words, "PIECE_ROWS", 3)
    assert (count_words(TEXTS, ["fox", "red"], np.ones(2)) != whole).nnz == 0
    # Of a text its beginning counts, and of many texts every other, evenly spread.
    monkeypatch.setattr(words, "MAX_LENGTH", 7)
    assert count_words(TEXTS, ["fox", "red"], np.ones(2))[[0]].toarray().tolist() == whole[[1]].toarray().tolist()
    monkeypatch.setattr(words, "MAX_LEARNED", 10)
    texts = pa.chunked_array([pa.array(["an even", "odd cat"] * 4, pa.large_string())])
    assert learn_words(texts)[0] == ["an", "an even", "even"]
