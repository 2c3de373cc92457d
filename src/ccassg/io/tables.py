"""Tables wherever they are: text files, Parquet files, pandas and Polars frames, behind one small interface.

A table knows its column names before any row is read, reads the columns asked for, and can say where a row stands in the
user's file. Guessing which column is what happens here too, so that every reader guesses alike.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ccassg.io.files import GROWTH, PathLike, check_file, growth_limit, one_sentence, require_kind, suffix_of
from ccassg.io.text import MAX_COLUMNS, TextTable

BATCH_ROWS = 1 << 20

SOURCE_TARGET = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("u", "v"),
    ("source_id", "target_id"),
    ("sourceid", "targetid"),
    ("src_id", "dst_id"),
    ("from_id", "to_id"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("id1", "id2"),
    ("id_1", "id_2"),
    ("i", "j"),
    ("row", "col"),
    ("head", "tail"),
    ("start", "end"),
    ("citing", "cited"),
)
WEIGHT = ("weight", "weights", "w", "edge_weight")
ID = ("id", "node", "node_id", "nodeid", "ids", "index", "name")
LABEL = ("label", "labels", "class", "y")
EDGE_NAMES = frozenset(name for pair in SOURCE_TARGET for name in pair) | frozenset(WEIGHT)
NODE_NAMES = frozenset(ID) | frozenset(LABEL)

TEXT_SUFFIXES = (".csv", ".tsv", ".tab", ".txt", ".edges", ".edgelist", ".el", ".ids", "")
PARQUET_SUFFIXES = (".parquet", ".pq")


class Table(Protocol):
    """Rows under named columns, read on demand. ``str()`` of it is how messages name it."""

    notes: list[str]
    is_text: bool
    unsure_header: bool  # its first line was taken as names for want of a better guess

    @property
    def names(self) -> tuple[str, ...]:
        """The column names."""

    def read(self, columns: Sequence[str], as_text: Collection[str] = ()) -> pa.Table:
        """Read the columns, those ``as_text`` without taking text for numbers."""

    def place(self, row: int) -> str:
        """Where row ``row`` (from 0) stands, for messages."""


def open_table(
    source: Any,
    *,
    known_names: Collection[str] = (),
    header: bool | None = None,
    encoding: str = "utf-8",
    what: str = "the table",
) -> Table:
    """Open a file by its suffix, or take a pandas or Polars frame or a pyarrow table.

    Parameters
    ----------
    source : path-like, pandas.DataFrame, polars.DataFrame, polars.LazyFrame or pyarrow.Table
        CSV, TSV, whitespace text (each may be gzipped) or Parquet.
    known_names : collection of str
        Lower-case column names that mark a first line as a header.
    header : bool
        Whether a text file begins with column names; by default that is guessed.
    encoding : str
        Of text files.
    what : str
        How messages name a frame.

    Returns
    -------
    Table
    """
    frame = _frame_to_arrow(source, what)
    if frame is not None:
        return FrameTable(frame, what)
    path = check_file(source)
    suffix = suffix_of(path)
    if suffix in PARQUET_SUFFIXES:
        return ParquetTable(path)
    if suffix in TEXT_SUFFIXES:
        return TextTable(path, header, encoding, known_names)
    raise ValueError(
        f"{path}: no reader for the suffix {suffix!r}; tables are {', '.join(TEXT_SUFFIXES[:4])} (or these with .gz) and "
        f"{', '.join(PARQUET_SUFFIXES)}, so save the file as one of these"
    )


def is_path(source: Any) -> bool:
    """Whether the argument names a file or folder."""
    return isinstance(source, str) or hasattr(source, "__fspath__")


class ParquetTable:
    """A Parquet file, streamed in batches and bounded in what it may become."""

    is_text = False
    unsure_header = False

    def __init__(self, path: PathLike) -> None:
        self.path = check_file(path)
        require_kind(self.path, "Parquet")
        self.notes: list[str] = []
        with one_sentence(self.path):
            with pq.ParquetFile(self.path) as file:
                schema, self.n_rows = file.schema_arrow, file.metadata.num_rows
            self._names = _check_names(self.path, schema.names)
        if self.n_rows <= 0:
            raise ValueError(f"{self.path} has no rows of data; check how it was written")

    def __str__(self) -> str:
        return str(self.path)

    @property
    def names(self) -> tuple[str, ...]:
        """The column names."""
        return self._names

    def read(self, columns: Sequence[str], as_text: Collection[str] = ()) -> pa.Table:
        """Read the columns, a batch at a time."""
        left = growth_limit(self.path)
        batches = []
        with one_sentence(self.path), pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(min(BATCH_ROWS, self.n_rows), columns=list(columns)):
                left -= batch.nbytes
                if left < 0:
                    raise ValueError(
                        f"{self.path} grows beyond {growth_limit(self.path):,} bytes when decoded, {GROWTH} times its "
                        f"size; if you trust it, write it again without compression"
                    )
                batches.append(batch)
            table = pa.Table.from_batches(batches)
            if table.num_rows != self.n_rows:
                raise ValueError(f"{self.path} promises {self.n_rows:,} rows, but holds {table.num_rows:,}")
            table.validate()
        return table

    def place(self, row: int) -> str:
        """Rows of a Parquet file count from 1."""
        return f"row {row + 1}"


class FrameTable:
    """A table in memory."""

    is_text = False
    unsure_header = False

    def __init__(self, data: pa.Table, name: str) -> None:
        self._data, self._name = data, name
        self._names = _check_names(name, data.column_names)
        self.notes: list[str] = []
        if data.num_rows == 0:
            raise ValueError(f"{name} has no rows")

    def __str__(self) -> str:
        return self._name

    @property
    def names(self) -> tuple[str, ...]:
        """The column names."""
        return self._names

    def read(self, columns: Sequence[str], as_text: Collection[str] = ()) -> pa.Table:
        """Select the columns."""
        return self._data.select(list(columns))

    def place(self, row: int) -> str:
        """Rows of a frame count from 0, as ``iloc`` does."""
        return f"row {row} (counted from 0)"


def find_column(table: Table, name: str | int, role: str, option: str) -> str:
    """The column the user named, by name or, in a file without header, by number from 1; ValueError if it is not there."""
    for candidate in (name, f"column {name}"):
        if candidate in table.names:
            return str(candidate)
    raise ValueError(
        f"{table}: there is no column {name!r} for the {role}; it has {listed(table.names)} (`{option}` names the column)"
    )


def guess_column(table: Table, known: Sequence[str]) -> str | None:
    """The column with one of the known (lower-case) names, the earliest of these first; None if there is none."""
    lower = {column.lower(): column for column in reversed(table.names)}
    return next((lower[candidate] for candidate in known if candidate in lower), None)


def pick_edge_columns(table: Table, source: str | int | None, target: str | int | None) -> tuple[str, str]:
    """The columns of an edge's two ends: named, guessed by name, or the first two."""
    if (source is None) != (target is None):
        given, lacking = ("source", "target") if target is None else ("target", "source")
        raise ValueError(f"{table}: {given} was given without {lacking}; name both columns or none")
    if source is not None and target is not None:
        first = find_column(table, source, "sources of the edges", "source")
        second = find_column(table, target, "targets of the edges", "target")
        if first == second:
            raise ValueError(f"{table}: source and target are the same column {first!r}; name two")
        return first, second
    lower = {column.lower(): column for column in reversed(table.names)}
    for a, b in SOURCE_TARGET:
        if a in lower and b in lower:
            return lower[a], lower[b]
    if len(table.names) < 2:
        raise ValueError(
            f"{table}: an edge table needs two columns, this has one ({table.names[0][:80]!r}); check the delimiter: "
            f".csv is read with commas, .tsv with tabs, .txt with blanks"
        )
    first, second = table.names[:2]
    if not first.startswith("column "):
        table.notes.append(f"{table}: took its first two columns, {first!r} and {second!r}, as the ends of the edges")
    return first, second


def numbers(table: Table, name: str, column: pa.ChunkedArray, role: str) -> np.ndarray:
    """A column as floats of 64 bits, every value present and finite; ValueError with the place otherwise."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if is_string(kind):
        raise not_a_number(table, name, column, role)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)) and not (
        pa.types.is_decimal(kind) or pa.types.is_null(kind)
    ):
        raise ValueError(f"{table}, column {name!r}: {role} must be numbers, the column holds {kind}; leave it out")
    if column.null_count:
        row = int(np.flatnonzero(np.asarray(column.is_null()))[0])
        raise ValueError(
            f"{table}, column {name!r}, {table.place(row)}: no value where a number must be (empty or NaN); fill or drop such "
            f"rows"
        )
    values = column.cast(pa.float64(), safe=False).to_numpy()
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(
            f"{table}, column {name!r}, {table.place(row)}: {values[row]} is not a finite number; fill or drop such rows"
        )
    return values


def not_a_number(table: Table, name: str, column: pa.ChunkedArray, role: str) -> ValueError:
    """The error for text among numbers, at its first place."""
    for row, value in enumerate(column.to_pylist()):
        try:
            float(value)
        except (TypeError, ValueError):
            return ValueError(
                f"{table}, column {name!r}, {table.place(row)}: {shown(value)} where {role} must be a number; mend the "
                f"value or leave the column out"
            )
    return ValueError(f"{table}, column {name!r}: {role} are written as text; store them as numbers")


def shown(value: Any) -> str:
    """A value for a message, cut short."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def counted(n: int, one: str, many: str) -> str:
    """``1 node``, ``2 nodes``."""
    return f"{n:,} {one if n == 1 else many}"


def listed(values: Sequence[Any], most: int = 8) -> str:
    """The first of several values for a message."""
    rest = len(values) - most
    return ", ".join(shown(value) for value in values[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def is_string(kind: pa.DataType) -> bool:
    """Whether a type is one of the kinds of plain strings."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _check_names(where: Any, names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        raise ValueError(f"{where} has no columns")
    if len(names) > MAX_COLUMNS:
        raise ValueError(
            f"{where} has {len(names):,} columns, more than {MAX_COLUMNS:,}; store such features as .npz or .npy"
        )
    if len(set(names)) < len(names):
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"{where}: column {twice!r} appears more than once; rename one")
    return tuple(names)


def _frame_to_arrow(source: Any, what: str) -> pa.Table | None:
    """A frame as a pyarrow table, without importing the library it comes from; None for anything else."""
    if isinstance(source, pa.Table):
        return source
    library = type(source).__module__.split(".")[0]
    if library not in ("pandas", "polars") or type(source).__name__ not in ("DataFrame", "LazyFrame"):
        return None
    with one_sentence(what):
        if library == "polars":
            return (source.collect() if hasattr(source, "collect") else source).to_arrow()
        # A named or non-trivial index holds ids more often than not; a plain 0, 1, 2, ... is no column.
        plain = source.index.name is None and type(source.index).__name__ == "RangeIndex"
        frame = source if plain else source.reset_index(names=source.index.name or "index")
        frame = frame.rename(columns=str)
        return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
