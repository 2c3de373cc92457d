"""Blocks of features: what a column becomes, how large its values are, and how blocks stand side by side.

Text becomes tf-idf of words and of pairs of words, by scikit-learn, within bounds of width and memory. The words are learned from
the table that a model is trained on. They become names of features, and their inverse document frequencies are kept beside these,
so that the text of new nodes becomes the same columns.
"""

import contextlib
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from ccassg.graph import Array, Features, scaling
from ccassg.io.tables import Column, counted, is_string, listed, plain
from ccassg.io.usable import amounts

MAX_WORDS = 8_192  # of one column; of several, four times as many in all
MAX_LENGTH = 100_000  # characters of one text that count
MAX_LEARNED = 2**24  # characters that words are learned from
PIECE_ROWS = 2**15
SCALES_APART = 10
FLOAT32_MAX = float(np.finfo(np.float32).max)
DAY_MS = 86_400_000


def plain_numbers(column: Column) -> pa.ChunkedArray:
    """Return amounts written as text as numbers, and dates as days since 1970; anything else as it is."""
    values = plain(column.values)
    kind = values.type
    if is_string(kind) and (found := amounts(values)) is not None:
        return found
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind) or is_string(kind):
        with contextlib.suppress(pa.ArrowInvalid):  # text that is no date
            days = values.cast(pa.timestamp("ms"), safe=False).cast(pa.int64()).cast(pa.float64())
            return pc.divide(days, DAY_MS)
    if pa.types.is_temporal(kind):
        raise ValueError(
            f"{column}: {kind} is neither number, date nor category; turn it into a number or leave it out"
        )
    return values


def one_hot(column: Column, values: list[str], codes: Array, categories: list[str]) -> tuple[sp.csr_array, list[str]]:
    """Return a column of ones and zeros for each category, and their names."""
    place = {value: i for i, value in enumerate(categories)}
    lookup = np.array([place.get(value, -1) for value in values] + [-1], np.int64)
    columns = lookup[codes]
    unknown = [value for value in values if value not in place]
    if unknown:
        column.table.notes.append(f"{column}: {listed(unknown, 3)} unknown in training, taken as no category")
    if n_empty := int((codes < 0).sum()):
        column.table.notes.append(
            f"{column}: {counted(n_empty, 'node', 'nodes')} without a value, taken as no category"
        )
    rows = np.flatnonzero(columns >= 0)
    matrix = sp.csr_array(
        (np.ones(len(rows), np.float32), (rows, columns[rows])), shape=(len(codes), max(1, len(categories)))
    )
    return matrix, [f"{column.name}={value}" for value in categories or [""]]


def vectors(column: Column) -> tuple[Array, list[str]]:
    """Return the numbers of a column whose cells are vectors of one length."""
    array = column.values.combine_chunks()
    lengths = pc.list_value_length(array).fill_null(-1).to_numpy(zero_copy_only=False)
    width = max(1, int(lengths[0]))
    column.refuse_where(lengths != width, "a list of another length; make all equally long")
    entries = pa.chunked_array([pc.list_flatten(array)])
    if entries.null_count or not (pa.types.is_integer(entries.type) or pa.types.is_floating(entries.type)):
        raise ValueError(f"{column}: lists must hold numbers, all present; got {entries.type}")
    values = entries.cast(pa.float64(), safe=False).to_numpy().reshape(-1, width)
    bad = ~(np.abs(values) <= FLOAT32_MAX).all(axis=1)
    column.refuse_where(bad, "NaN or infinite; fill or drop such rows")
    return values.astype(np.float32), [f"{column.name}[{i}]" for i in range(width)]


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


def assemble(blocks: list[Any]) -> Features:
    """Return blocks of columns side by side, sparse if they are many and mostly zeros."""
    if mostly_zeros(blocks):
        return sp.csr_array(sp.hstack([sp.csr_array(block) for block in blocks], format="csr"))
    return np.hstack([block.toarray() if sp.issparse(block) else block for block in blocks])


class Spread(NamedTuple):
    """The columns of the largest and the smallest values, and their sizes."""

    large: str
    small: str
    largest: float
    smallest: float


def spread_of(sizes: dict[str, float]) -> Spread | None:
    """Return how far sizes are apart, None if they are alike; columns of zeros do not count."""
    known = {name: size for name, size in sizes.items() if size > 0}
    large, small = max(known, key=known.__getitem__, default=""), min(known, key=known.__getitem__, default="")
    if not known or known[large] <= SCALES_APART * known[small]:
        return None
    return Spread(large, small, known[large], known[small])


def spread_of_matrix(matrix: Array) -> Spread | None:
    """Return how far the sizes of a dense matrix's columns are apart, counted from 1; None if they are to stay as they are."""
    sizes = scaling.column_sizes(matrix)
    spread = spread_of({f"column {i}": float(size) for i, size in enumerate(sizes, 1)})
    return None if spread is None or _is_prepared(matrix) else spread


def says_scaled(source: Any, spread: Spread) -> str:
    """Say that columns were scaled without being asked for, why, and how to keep them."""
    times = float(f"{spread.largest / spread.smallest:.2g}")
    return (
        f"{source}: columns differ in size up to {f'{times:,.0f}' if times < 1e7 else f'{times:g}'} times ({spread.large!r}, "
        f"{spread.small!r}): those of numbers were brought to mean 0 and deviation 1; `scale=False` keeps them as they are"
    )


def sizes_of_list(name: str, block: Array, made: list[str]) -> dict[str, float]:
    """Return the size of each entry of a vector; one for all where differences between them are meant."""
    if _is_prepared(block):
        return {name: float(scaling.column_sizes(block.reshape(-1, 1))[0])}
    return dict(zip(made, scaling.column_sizes(block).tolist(), strict=True))


def mostly_zeros(blocks: list[Any]) -> bool:
    """Whether columns are many and at least three quarters of them zeros: sparse saves memory, one scale would lose it."""
    width = sum(block.shape[1] for block in blocks)
    n_stored = sum(block.nnz if sp.issparse(block) else np.count_nonzero(block) for block in blocks)
    return width > 64 and n_stored < 0.25 * width * blocks[0].shape[0]


def _is_prepared(matrix: Array) -> bool:
    """Whether a matrix is of a kind that one scale would spoil: words counted, or principal components."""
    return mostly_zeros([matrix]) or scaling.are_components(matrix)
