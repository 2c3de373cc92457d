"""Turn columns of a node table into features: numbers as they are or scaled, categories one-hot, text as tf-idf of its words.

A feature's name says where it came from: ``age`` (a number), ``venue=KDD`` (a category), ``abstract#graph`` and
``abstract#large graph`` (words of a text), ``vector[3]`` (an entry of a list). What a model knows of its features, given as
``like``, makes those of another table match them, column by column: what a trained encoder needs to see new nodes.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ccassg.graph import Array, Features, FeatureSpace, scaling
from ccassg.graph.scaling import Scaling
from ccassg.io.blocks import (
    FLOAT32_MAX,
    MAX_WORDS,
    Spread,
    assemble,
    count_words,
    learn_words,
    mostly_zeros,
    one_hot,
    plain_numbers,
    says_scaled,
    sizes_of_list,
    spread_of,
    vectors,
)
from ccassg.io.columns import distinct_values, numbers
from ccassg.io.parquet import is_list
from ccassg.io.tables import Column, Table, counted, listed, plain, shown
from ccassg.io.usable import Kind, judge

# In the note on scales; the report page shows a note with these words as a warning.
DROWNS = "will rule the embedding"


class Encoded(NamedTuple):
    """Features (n, n_features), their names, how they were scaled and their idf; all None where no column is one."""

    features: Features | None = None
    names: tuple[str, ...] | None = None
    scaling: Scaling | None = None
    idf: tuple[float, ...] | None = None
    described: Sequence[str] = ()  # each column, for the note that says what is learned from


def encode_columns(
    table: Table,
    data: Mapping[str, Column],
    columns: Sequence[str],
    *,
    keep: Collection[str] = (),
    like: FeatureSpace | None = None,
    scale: bool | None = False,
) -> Encoded:
    """Turn columns of ``data``, in this order, into features.

    Features are sparse if at least three quarters of more than 64 columns are zeros. Columns that are none (`usable`) are left
    out, unless in ``keep``. ``like`` is what to reproduce; see the module's head. ``scale`` brings columns of numbers to mean 0
    and standard deviation 1; categories and text stay as they are. None does so where sizes are far apart, but for many columns
    of mostly zeros, where numbers are missing, which become the mean, and not for features that are to be like others.
    """
    stems = {} if like is None else _by_stem(like.names or (), columns)
    kinds = _kinds(table, data, columns, keep) if like is None else _known_kinds(data, columns, like, stems)
    n_texts = max(1, list(kinds.values()).count("text"))
    made = _Made(table, scale, like, most_words=min(MAX_WORDS, 4 * MAX_WORDS // n_texts))
    for name, kind in kinds.items():
        made.add(kind, data[name], stems.get(name, ()))
    return made.encoded()


def columns_of(like: Sequence[str], available: Sequence[str]) -> list[str]:
    """Return the table columns that features of these names come from; ValueError is left to the encoding."""
    wanted = set(like) | set(_by_stem(like, available)) | {name.rpartition("[")[0] for name in like}
    return [name for name in available if name in wanted]


def _kinds(table: Table, data: Mapping[str, Column], columns: Sequence[str], keep: Collection[str]) -> dict[str, Kind]:
    """Return what each column is, without those left out, of which a note tells."""
    judged = {name: judge(data[name]) for name in columns}
    left_out = [f"{shown(name)} ({why})" for name, (_, why) in judged.items() if why is not None and name not in keep]
    if left_out:
        table.notes.append(f"{table}: left out {first_of(left_out, 12)}; `keep` takes a column all the same")
    return {name: kind for name, (kind, why) in judged.items() if why is None or name in keep}


def _known_kinds(
    data: Mapping[str, Column], columns: Sequence[str], like: FeatureSpace, stems: dict[str, list[str]]
) -> dict[str, Kind]:
    """Return what each column was in training."""
    names = set(like.names or ())
    words = {name for name, idf in zip(like.names or (), like.idf or (), strict=False) if idf}
    kinds: dict[str, Kind] = {}
    for name in columns:
        if is_list(plain(data[name].values).type):
            kinds[name] = "list"
        elif name in names:
            kinds[name] = "number"
        elif name in stems:
            kinds[name] = "text" if stems[name][0] in words else "category"
    return kinds


class _Made:
    """The features made so far, block by block, and what is to be said of them."""

    def __init__(self, table: Table, scale: bool | None, like: FeatureSpace | None, most_words: int) -> None:
        self.table, self.scale, self.like, self.most_words = table, scale, like, most_words
        self.blocks: list[Any] = []
        self.names: list[str] = []
        self.idf: list[float] = []  # 0 for what is no word
        self.numeric: list[Array] = []  # columns not yet in a block
        self.sizes: dict[str, float] = {}
        self.missing: dict[str, int] = {}
        self.described: list[str] = []

    def add(self, kind: Kind, column: Column, wanted: Sequence[str]) -> None:
        """Make features of a column, in training those ``wanted``."""
        name = column.name
        if kind in ("number", "date"):
            self.numeric.append(self._numbers(column))
            self.sizes[name] = float(scaling.column_sizes(self.numeric[-1][:, None])[0])
            self._remember([name], shown(name))
            return
        self._flush()
        idf = None
        if kind == "list":
            block, made = vectors(column)
            self.sizes |= sizes_of_list(name, block, made)
            described = f"{len(made):,} numbers"
        elif kind == "category":
            values, codes = distinct_values(column.values, ("",))
            categories = [each[len(name) + 1 :] for each in wanted] if self.like else sorted(values)
            block, made = one_hot(column, values, codes, categories)
            described = counted(len(made), "value", "values")
        else:
            texts = plain(column.values).cast(pa.large_string())
            words, idf = self._words(name, texts, wanted)
            if not words:
                return
            block, made = count_words(texts, words, idf), [f"{name}#{word}" for word in words]
            described = f"{len(made):,} words and pairs of words, as tf-idf"
        if kind != "list":
            self.sizes[name] = 1.0
        self.blocks.append(block)
        self._remember(made, f"{shown(name)} ({described})", idf)

    def encoded(self) -> Encoded:
        """Return all of it, scaled if that was asked for or is needed, and say so."""
        self._flush()
        if not self.blocks and self.like is None:
            return Encoded()
        spread = spread_of(self.sizes) if self.like is None else None
        dense = [block for block in self.blocks if isinstance(block, np.ndarray)]
        automatic = self.scale is None and (bool(self.missing) or (spread is not None and not mostly_zeros(dense)))
        is_scaled = self.like is None and (self.scale or automatic)
        used = _scale(self.blocks, len(self.names)) if is_scaled else None
        if self.missing:
            named = [f"{shown(name)} ({n:,})" for name, n in self.missing.items()]
            self.table.notes.append(f"{self.table}: took the mean where a number is missing: {first_of(named)}")
        if spread is not None:
            self.table.notes.append(says_scaled(self.table, spread) if is_scaled else _says_drowned(self.table, spread))
        elif is_scaled and self.scale is None:
            self.table.notes.append(
                f"{self.table}: brought columns of numbers to mean 0 and deviation 1, so that the mean is 0"
            )
        idf = np.array(self.idf) if any(self.idf) else None
        names, wanted = self.names, list(self.names if self.like is None else self.like.names or ())
        order = None if names == wanted else _order(self.table, names, wanted)
        matrix = assemble(self.blocks)
        if order is not None:
            matrix, names, idf = matrix[:, order], wanted, None if idf is None else idf[order]
        return Encoded(matrix, tuple(names), used, None if idf is None else tuple(idf.tolist()), self.described)

    def _numbers(self, column: Column) -> Array:
        values = plain_numbers(column)
        missing = values.is_null(nan_is_null=True)
        if n_missing := pc.sum(missing).as_py():
            mean = self._mean(column.name, values)
            if mean is None:
                how = "leave `scale` out" if self.like is None else "train with columns that are scaled"
                why = f"no value (empty or NaN), and the mean stands for it only in scaled columns; fill or drop such rows, or {how}"
                column.refuse_where(missing, why)
            self.missing[column.name] = n_missing
            values = pc.if_else(missing, mean, values.cast(pa.float64(), safe=False))
        floats = numbers(column._replace(values=values), "a feature")
        column.refuse_where(np.abs(floats) > FLOAT32_MAX, lambda row: f"{floats[row]:g} is beyond 3e38; rescale it")
        return floats.astype(np.float32)

    def _mean(self, name: str, column: pa.ChunkedArray) -> float | None:
        """Return what stands for missing numbers: the mean, that of training if there was one; None where nothing can."""
        if self.like is not None:
            place = (self.like.names or ()).index(name) if name in (self.like.names or ()) else -1
            return None if self.like.scaling is None or place < 0 else self.like.scaling.means[place]
        present = column.filter(pc.invert(column.is_null(nan_is_null=True)))
        return (
            None
            if self.scale is False or not len(present)
            else float(pc.mean(present.cast(pa.float64(), safe=False)).as_py())
        )

    def _words(self, name: str, texts: pa.ChunkedArray, wanted: Sequence[str]) -> tuple[list[str], Array]:
        if self.like is not None:
            known = dict(zip(self.like.names or (), self.like.idf or (), strict=True))
            wanted = [each for each in wanted if known[each]]
            return [each[len(name) + 1 :] for each in wanted], np.array([known[each] for each in wanted])
        words, idf = learn_words(texts, self.most_words)
        if not words:
            self.table.notes.append(f"{self.table}: left out {shown(name)} (text of which no word is in two rows)")
        return words, idf

    def _remember(self, made: Sequence[str], described: str, idf: Array | None = None) -> None:
        self.names += made
        self.idf += [0.0] * len(made) if idf is None else idf.tolist()
        self.described.append(described)

    def _flush(self) -> None:
        if self.numeric:
            self.blocks.append(np.ascontiguousarray(np.stack(self.numeric).T))
            self.numeric.clear()


def first_of(described: Sequence[str], most: int = 5) -> str:
    """Return the first of several descriptions, and how many more there are."""
    more = f" and {len(described) - most:,} more" if len(described) > most else ""
    return ", ".join(described[:most]) + more


def _order(table: Table, names: Sequence[str], like: Sequence[str]) -> list[int]:
    """Return where features of training stand among those made; ValueError if one is not there."""
    place = {name: i for i, name in enumerate(names)}
    lacking = [name for name in like if name not in place]
    if lacking:
        raise ValueError(
            f"{table} lacks {len(lacking):,} of the {len(like):,} features used in training, first {listed(lacking, 3)}; "
            f"give the new nodes the same columns"
        )
    return [place[name] for name in like]


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
