"""Tables behind one small interface, and what the readers make of them: edges and nodes under the user's ids.

A `Table` is of a Parquet file, of a frame in memory, or of text (`ccassg.io.text`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ccassg.graph import Array, Features
from ccassg.graph.scaling import Scaling
from ccassg.io.files import PathLike, limits, one_sentence, require_budget, vetted
from ccassg.io.parquet import read_batches

TEXT_SUFFIXES = (".csv", ".tsv", ".tab", ".txt", ".edges", ".edgelist", ".el", ".ids", "")
PARQUET_SUFFIXES = (".parquet", ".pq")
JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
TABLE_SUFFIXES = (*TEXT_SUFFIXES, *PARQUET_SUFFIXES, *JSON_SUFFIXES)


class Reading(NamedTuple):
    """How a text table is read: whether it begins with column names (None: guessed), and its encoding."""

    header: bool | None = None
    encoding: str = "utf-8"


READING = Reading()


class Table(ABC):
    """Rows under named columns, which are known before any row is read; messages begin with its name."""

    is_text = False  # whether cells were written as text, so that digits may mean integers
    unsure_header = False  # whether the first line was taken as names for want of a better guess

    def __init__(self, name: str, names: Sequence[str]) -> None:
        self.name, self.names = name, tuple(names)
        self.notes: list[str] = []  # what was guessed or left out
        if not names:
            raise ValueError(f"{name} has no columns")
        if len(names) > limits().columns:
            raise ValueError(
                f"{name} has {len(names):,} columns, more than {limits().columns:,}; store such features as .npz or .npy"
            )
        column, count = Counter(names).most_common(1)[0]
        if count > 1:
            raise ValueError(f"{name}: column {column!r} appears {count} times; rename all but one")

    def __str__(self) -> str:
        return self.name

    @abstractmethod
    def read(self, columns: Sequence[str], as_text: Collection[str] = ()) -> pa.Table:
        """Read the columns, those ``as_text`` without taking text for numbers."""

    @abstractmethod
    def place(self, row: int, column: str | None = None) -> str:
        """Return where row ``row`` (from 0) stands, or its cell in a column, for messages."""

    def columns(self, names: Sequence[str], as_text: Collection[str] = ()) -> dict[str, Column]:
        """Read columns as `read` does, each with the place where it stands."""
        found = self.read(names, as_text)
        return {name: Column(self, name, found[name]) for name in names}


class Column(NamedTuple):
    """The values of a column, and where they stand, for messages."""

    table: Table
    name: str
    values: pa.ChunkedArray

    def __str__(self) -> str:
        return f"{self.table}, column {self.name!r}"

    def refuse_where(self, bad: Any, reason: str | Callable[[int], str]) -> None:
        """Refuse the column if some rows are bad, naming the place of the first one and the reason at that row."""
        rows = np.flatnonzero(np.asarray(bad))
        if len(rows):
            row = int(rows[0])
            why = reason if isinstance(reason, str) else reason(row)
            raise ValueError(f"{self}, {self.table.place(row, self.name)}: {why}")


class ParquetTable(Table):
    """A Parquet file, streamed in batches within its budget."""

    def __init__(self, path: PathLike) -> None:
        with vetted(path, "Parquet") as self.path:
            with pq.ParquetFile(self.path) as file:
                names, self.n_rows = file.schema_arrow.names, file.metadata.num_rows
            super().__init__(str(self.path), names)
        if self.n_rows <= 0:
            raise ValueError(f"{self.path} has no rows of data; check how it was written")

    def read(self, columns: Sequence[str], as_text: Collection[str] = ()) -> pa.Table:
        """Read the columns, a batch at a time."""
        with one_sentence(self.path):
            table = pa.Table.from_batches(read_batches(self.path, columns))
            if table.num_rows != self.n_rows:
                raise ValueError(f"{self.path} promises {self.n_rows:,} rows, but holds {table.num_rows:,}")
            table.validate()
        return table

    def place(self, row: int, column: str | None = None) -> str:
        """Return the number of the row, from 1."""
        return f"row {row + 1}"


class FrameTable(Table):
    """A table in memory."""

    def __init__(self, data: pa.Table, name: str, is_text: bool = False) -> None:
        super().__init__(name, data.column_names)
        self.data, self.is_text = data, is_text
        if data.num_rows == 0:
            raise ValueError(f"{name} has no rows")

    def read(self, columns: Sequence[str], as_text: Collection[str] = ()) -> pa.Table:
        """Select the columns."""
        return self.data.select(list(columns))

    def place(self, row: int, column: str | None = None) -> str:
        """Return the number of the row, from 0 as ``iloc`` counts."""
        return f"row {row} (counted from 0)"


class Learned(str):
    """The note on what is learned from: what went as expected, of which nobody is warned."""


@dataclass(frozen=True, eq=False)
class EdgeRows:
    """Edges under the user's ids, integers or strings, not yet numbered."""

    name: str  # the file, for messages
    source: pa.Array
    target: pa.Array
    weights: Array | None = None
    directed: bool | None = None  # what the file itself says
    node_ids: pa.Array | None = None  # all nodes, if the file lists them; some may have no edge
    nodes: Table | None = None  # what the file says about its nodes (GraphML), with the column ``id``
    table: Table | None = None  # where the edges stand, row by row, for messages
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class NodeRows:
    """Rows of a node table or matrix, under the user's ids."""

    name: str  # the file, for messages
    n_rows: int
    ids: pa.Array | None  # None: rows stand in the order of the nodes 0 .. n - 1
    features: Features | None = None
    feature_names: tuple[str, ...] | None = None  # None for matrices, whose columns have no names
    scaling: Scaling | None = None
    idf: tuple[float, ...] | None = None  # of words of text; see `Dataset`
    labels: Column | None = None  # as they are written; see `encode_labels`
    notes: list[str] = field(default_factory=list)


class Whole(NamedTuple):
    """What one file says of a graph, all under the same ids."""

    edges: EdgeRows
    features: Any | None
    labels: pa.Table | None


def edges_of(name: str, ids: pa.Array, ends: tuple[Array, Array], weights: Array | None) -> EdgeRows:
    """Return edges between rows under the ids of these, as far as there is room to write them out."""
    if not pa.types.is_integer(ids.type):
        lengths = pc.binary_length(ids).to_numpy(zero_copy_only=False)
        n_bytes = sum(int(lengths[end].sum()) for end in ends)
        require_budget(name, n_bytes, "the ids of its edges are written out", "give its nodes shorter ids")
    source, target = (ids.take(pa.array(end)) for end in ends)
    return EdgeRows(name, source, target, weights, node_ids=ids)


def is_path(source: Any) -> bool:
    """Return whether the argument names a file or folder."""
    return isinstance(source, str) or hasattr(source, "__fspath__")


def is_frame(source: Any) -> bool:
    """Return whether the argument is a table of pandas, Polars or pyarrow; none of them is imported."""
    if isinstance(source, pa.Table):
        return True
    library = type(source).__module__.split(".")[0]
    return library in ("pandas", "polars") and type(source).__name__ in ("DataFrame", "LazyFrame")


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without a dictionary, as the values themselves."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def is_string(kind: pa.DataType) -> bool:
    """Return whether a type is one of the kinds of plain strings."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def shown(value: Any) -> str:
    """Return a value for a message, cut short."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def counted(n: int, one: str, many: str) -> str:
    """Return ``1 node``, ``2 nodes``."""
    return f"{n:,} {one if n == 1 else many}"


def listed(values: Sequence[Any], most: int = 8) -> str:
    """Return the first of several values for a message."""
    rest = len(values) - most
    return ", ".join(shown(value) for value in values[:most]) + (f" and {rest:,} more" if rest > 0 else "")
