"""Text as features: tf-idf of words and of pairs of words, by scikit-learn, within bounds of width and memory.

The words are learned from the table that a model is trained on. They become names of features, and their inverse document
frequencies are kept beside these, so that the text of new nodes becomes the same columns.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from ccassg.graph import Array

MAX_WORDS = 8_192  # of one column; of several, four times as many in all
MAX_LENGTH = 100_000  # characters of one text that count
MAX_LEARNED = 2**24  # characters that words are learned from
PIECE_ROWS = 2**15


def learn_words(texts: pa.ChunkedArray, most: int = MAX_WORDS) -> tuple[list[str], Array]:
    """Return the most frequent words and pairs that two texts share, in alphabetical order, and their idf.

    Where texts are too many, they are learned from some, evenly spread.
    """
    n_characters = pc.sum(pc.min_element_wise(pc.utf8_length(texts), MAX_LENGTH)).as_py() or 0
    step = max(1, -(-n_characters // MAX_LEARNED))
    counter = _vectorizer(min_df=2, max_features=most)
    try:
        counter.fit(_plain(texts.take(pa.array(np.arange(0, len(texts), step)))))
    except ValueError:  # no word at all, or none in two texts
        return [], np.zeros(0)
    return counter.get_feature_names_out().tolist(), counter.idf_


def count_words(texts: pa.ChunkedArray, words: list[str], idf: Array) -> sp.csr_array:
    """Return the tf-idf of known words in texts, (n, n_words): rows of length 1, or 0 where a text has none of them."""
    counter = _vectorizer(vocabulary=words)
    counter.idf_ = idf
    pieces = (texts.slice(start, PIECE_ROWS) for start in range(0, len(texts), PIECE_ROWS))
    return sp.csr_array(sp.vstack([counter.transform(_plain(piece)) for piece in pieces], format="csr"))


def _vectorizer(**options: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(ngram_range=(1, 2), dtype=np.float32, **options)


def _plain(texts: pa.ChunkedArray) -> list[str]:
    """Return texts, none of them endless, a missing one as an empty one."""
    found: list[str] = pc.utf8_slice_codeunits(texts.fill_null(""), 0, MAX_LENGTH).to_pylist()
    return found
