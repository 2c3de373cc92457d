"""Turn columns of a node table into features: numbers as they are or scaled, categories one-hot, text hashed if allowed.

A feature's name says where it came from: ``age`` (a number), ``venue=KDD`` (a category), ``abstract#17`` (hashed text),
``vector[3]`` (an entry of a list). The names of one table, given as ``like`` to another, make the second one's features
match the first one's, column by column: what a trained encoder needs to see new nodes.
"""

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from ccassg.graph import Array, Features, scaling
from ccassg.graph.scaling import Scaling
from ccassg.io.columns import numbers
from ccassg.io.sizes import Spread, mostly_zeros, says_scaled, sizes_of_list, spread_of
from ccassg.io.tables import FrameTable, Table, counted, is_string, listed, shown

MAX_CATEGORIES = 256
MAX_CATEGORY_LENGTH = 60
TEXT_DIM = 256
# In the note on scales; the report page shows a note with these words as a warning.
DROWNS = "will rule the embedding"
FLOAT32_MAX = float(np.finfo(np.float32).max)
NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


def encode_columns(
    table: Table,
    data: pa.Table,
    columns: Sequence[str],
    *,
    text: str = "refuse",
    text_dim: int = TEXT_DIM,
    like: Sequence[str] | None = None,
    scale: bool | None = False,
) -> tuple[Features, tuple[str, ...], Scaling | None]:
    """Turn columns of ``data``, in this order, into features (n, n_features), their names and, if scaled, their scaling.

    Features are sparse if at least three quarters of more than 64 columns are zeros. Free text is refused with advice, or
    its words are counted and hashed to ``text_dim`` columns. ``like`` are names to reproduce; see the module's head.
    ``scale`` brings columns of numbers to mean 0 and standard deviation 1; categories and text stay as they are. None does
    so where sizes are far apart, but for many columns of mostly zeros and for features that are to be like others.
    """
    blocks: list[Any] = []
    names: list[str] = []
    numeric: list[Array] = []
    sizes: dict[str, float] = {}
    categories: dict[str, int] = {}
    stems = _by_stem(like or (), columns)
    for name in columns:
        column = data[name]
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        wanted = stems.get(name)
        if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
            block, made = _lists(table, name, column)
            sizes |= sizes_of_list(name, block, made)
        elif wanted or is_string(kind):
            block, made = _strings(table, name, column, text, text_dim, wanted)
            sizes[name] = 1.0
            if made[0].startswith(f"{name}="):
                categories[name] = len(made)
        else:
            numeric.append(_numbers(table, name, column))
            sizes[name] = float(scaling.column_sizes(numeric[-1][:, None])[0])
            names.append(name)
            continue
        _flush(blocks, numeric)
        blocks.append(block)
        names += made
    _flush(blocks, numeric)
    spread = spread_of(sizes) if like is None and not scale else None
    dense = [block for block in blocks if isinstance(block, np.ndarray)]
    automatic = scale is None and spread is not None and not mostly_zeros(dense)
    used = _scale(blocks, len(names)) if scale or automatic else None
    if like is None:
        _note_categories(table, categories)
        if spread is not None:
            table.notes.append(says_scaled(table, spread) if automatic else _says_drowned(table, spread))
        return _assemble(blocks), tuple(names), used
    place = {name: i for i, name in enumerate(names)}
    lacking = [name for name in like if name not in place]
    if lacking:
        raise ValueError(
            f"{table} lacks {len(lacking):,} of the {len(like):,} features used in training, first {listed(lacking, 3)}; "
            f"give the new nodes the same columns"
        )
    matrix = _assemble(blocks)
    return (matrix if names == list(like) else matrix[:, [place[name] for name in like]]), tuple(like), used


def distinct_values(
    column: pa.ChunkedArray, missing: Collection[str], order: Callable[[set[str]], list[str]] = sorted
) -> tuple[list[str], Array]:
    """Return the different values of a column, without blanks around them, and for each row its position among them.

    The position is -1 where a cell is null or holds one of the values that mean nothing.
    """
    encoded = column.cast(pa.large_string()).combine_chunks().dictionary_encode()
    values = [value.strip() for value in encoded.dictionary.to_pylist()]
    distinct = order({value for value in values if value not in missing})
    rank = {value: i for i, value in enumerate(distinct)}
    lookup = np.array([rank.get(value, -1) for value in values] + [-1], np.int64)
    return distinct, lookup[encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)]


def columns_of(like: Sequence[str], available: Sequence[str]) -> list[str]:
    """Return the table columns that features of these names come from; ValueError is left to the encoding."""
    wanted = set(like) | set(_by_stem(like, available)) | {name.rpartition("[")[0] for name in like}
    return [name for name in available if name in wanted]


def _numbers(table: Table, name: str, column: pa.ChunkedArray) -> Array:
    kind = column.type
    if pa.types.is_temporal(kind):
        raise ValueError(
            f"{table}, column {name!r}: {kind} is neither number nor category; turn it into a number (days, say) or leave "
            f"it out (`feature_columns` lists the columns to use)"
        )
    values = numbers(table, name, column, "a feature")
    table.refuse_where(name, np.abs(values) > FLOAT32_MAX, lambda row: f"{values[row]:g} is beyond 3e38; rescale it")
    return values.astype(np.float32)


def _strings(
    table: Table, name: str, column: pa.ChunkedArray, text: str, text_dim: int, wanted: list[str] | None
) -> tuple[sp.csr_array, list[str]]:
    if wanted and wanted[0].startswith(f"{name}#"):
        numbers = {int(end) for end in (w[len(name) + 1 :] for w in wanted) if re.fullmatch(r"\d{1,9}", end, re.ASCII)}
        # All of them are in the names: what a file claims beside is not believed.
        if numbers != set(range(len(numbers))) or not numbers:
            raise ValueError(
                f"{table}, column {name!r}: {shown(wanted[0])} of the model is no hashed text that a table gave; fit it again"
            )
        return _hash(name, column, len(numbers))
    explicit = pa.types.is_dictionary(column.type) and isinstance(table, FrameTable)
    values, codes = distinct_values(column, ("",))
    if wanted:
        return _one_hot(table, name, values, codes, [w[len(name) + 1 :] for w in wanted])
    _refuse_mixture(table, name, values, codes)
    n_used = len(values)
    long = max((len(value) for value in values), default=0) > MAX_CATEGORY_LENGTH
    few = n_used <= 20 or n_used <= len(codes) / 2
    if explicit or (n_used <= MAX_CATEGORIES and few and not long):
        return _one_hot(table, name, values, codes, sorted(values))
    if text == "hash":
        table.notes.append(f"{table}: hashed the text of column {name!r} to {text_dim} features")
        return _hash(name, column, text_dim)
    raise ValueError(
        f"{table}, column {name!r}: free text ({n_used:,} different values, such as {shown(values[0])}); hash it to numbers "
        f"with `text='hash'`, or leave it out (`feature_columns` lists the columns to use)"
    )


def _refuse_mixture(table: Table, name: str, values: list[str], codes: Array) -> None:
    """Refuse numbers with a few words among them: a damaged column, not categories."""
    is_number = pc.match_substring_regex(pa.array(values, pa.large_string()), NUMBER).to_numpy(zero_copy_only=False)
    filled = codes[codes >= 0]
    if not len(filled) or is_number.all() or is_number[filled].mean() < 0.5:
        return
    table.refuse_where(
        name,
        (codes >= 0) & ~is_number[codes],
        lambda row: (
            f"{shown(values[codes[row]])} among numbers; mend the value or leave the column out (`feature_columns` lists "
            f"the columns to use)"
        ),
    )


def _one_hot(
    table: Table, name: str, values: list[str], codes: Array, categories: list[str]
) -> tuple[sp.csr_array, list[str]]:
    place = {value: i for i, value in enumerate(categories)}
    lookup = np.array([place.get(value, -1) for value in values] + [-1], np.int64)
    columns = lookup[codes]
    unknown = [value for value in values if value not in place]
    if unknown:
        table.notes.append(f"{table}, column {name!r}: {listed(unknown, 3)} unknown in training, taken as no category")
    if n_empty := int((codes < 0).sum()):
        table.notes.append(
            f"{table}, column {name!r}: {counted(n_empty, 'node', 'nodes')} without a value, taken as no category"
        )
    rows = np.flatnonzero(columns >= 0)
    matrix = sp.csr_array(
        (np.ones(len(rows), np.float32), (rows, columns[rows])), shape=(len(codes), max(1, len(categories)))
    )
    return matrix, [f"{name}={value}" for value in categories] or [f"{name}="]


def _hash(name: str, column: pa.ChunkedArray, dim: int) -> tuple[sp.csr_array, list[str]]:
    from sklearn.feature_extraction.text import HashingVectorizer

    words = column.cast(pa.large_string()).fill_null("").to_pylist()
    matrix = HashingVectorizer(n_features=dim, norm="l2", dtype=np.float32).transform(words)
    return sp.csr_array(matrix), [f"{name}#{i}" for i in range(dim)]


def _lists(table: Table, name: str, column: pa.ChunkedArray) -> tuple[Array, list[str]]:
    """Return the numbers of a column whose cells are vectors of one length."""
    array = column.combine_chunks()
    lengths = pc.list_value_length(array).fill_null(-1).to_numpy(zero_copy_only=False)
    width = max(1, int(lengths[0]))
    table.refuse_where(name, lengths != width, "a list of another length; make all equally long")
    entries = pa.chunked_array([pc.list_flatten(array)])
    if entries.null_count or not (pa.types.is_integer(entries.type) or pa.types.is_floating(entries.type)):
        raise ValueError(f"{table}, column {name!r}: lists must hold numbers, all present; got {entries.type}")
    values = entries.cast(pa.float64(), safe=False).to_numpy().reshape(-1, width)
    bad = ~(np.abs(values) <= FLOAT32_MAX).all(axis=1)
    table.refuse_where(name, bad, "NaN or infinite; fill or drop such rows")
    return values.astype(np.float32), [f"{name}[{i}]" for i in range(width)]


def _note_categories(table: Table, n_values: dict[str, int]) -> None:
    """Say which columns became yes-or-no features: what someone means to predict from the embedding must not be in it."""
    if n_values:
        named = [f"{shown(name)} ({n})" for name, n in n_values.items()]
        more = f" and {len(named) - 5:,} more" if len(named) > 5 else ""
        table.notes.append(
            f"{table}: took the values of {', '.join(named[:5])}{more} as features; name what you want to predict with "
            f"`label_column`, or the embedding is made from it"
        )


def _says_drowned(table: Table, spread: Spread) -> str:
    """Say that columns are of very different size: features are taken as they are, and the largest drown the rest."""
    return (
        f"{table}: values of {spread.large!r} are about {spread.largest:.2g} in size, those of {spread.small!r} "
        f"{spread.smallest:.2g}; the larger {DROWNS} unless you bring them to one scale (`scale=True`)"
    )


def _scale(blocks: list[Any], width: int) -> Scaling:
    """Bring the blocks of numbers to one scale, in place; those of categories and text are sparse and stay."""
    means, deviations = np.zeros(width), np.ones(width)
    start = 0
    for block in blocks:
        here = slice(start, start + block.shape[1])
        if isinstance(block, np.ndarray):
            means[here], deviations[here] = scaling.means_and_deviations(block)
            scaling.scale_columns(block, means[here], deviations[here])
        start = here.stop
    return scaling.as_scaling(means, deviations)


def _flush(blocks: list[Any], numeric: list[Array]) -> None:
    if numeric:
        blocks.append(np.ascontiguousarray(np.stack(numeric).T))
        numeric.clear()


def _assemble(blocks: list[Any]) -> Features:
    if mostly_zeros(blocks):
        return sp.csr_array(sp.hstack([sp.csr_array(block) for block in blocks], format="csr"))
    return np.hstack([block.toarray() if sp.issparse(block) else block for block in blocks])


def _by_stem(like: Sequence[str], columns: Collection[str]) -> dict[str, list[str]]:
    """Return the names of features made from categories or text, under every one of the columns that they may come from."""
    stems: dict[str, list[str]] = {}
    known = set(columns)
    lengths = sorted({len(name) for name in known})
    for name in like:
        for length in lengths:
            if name[length : length + 1] in ("=", "#") and name[:length] in known:
                stems.setdefault(name[:length], []).append(name)
    return stems
