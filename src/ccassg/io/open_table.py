"""Open a table wherever it is: the one place that decides which reader takes a file or a frame."""

from collections.abc import Collection
from typing import Any

import pyarrow as pa

from ccassg.io.files import check_file, one_sentence, suffix_of
from ccassg.io.limits import LIMITS, Limits
from ccassg.io.tables import PARQUET_SUFFIXES, TEXT_SUFFIXES, FrameTable, ParquetTable, Table
from ccassg.io.text import TextTable


def open_table(
    source: Any,
    *,
    known_names: Collection[str] = (),
    header: bool | None = None,
    encoding: str = "utf-8",
    what: str = "the table",
    limits: Limits = LIMITS,
) -> Table:
    """Open a file by its suffix, or take a pandas or Polars frame or a pyarrow table.

    Parameters
    ----------
    source : path-like, pandas.DataFrame, polars.DataFrame, polars.LazyFrame, pyarrow.Table or Table
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
    if isinstance(source, Table):
        return source
    frame = _frame_to_arrow(source, what)
    if frame is not None:
        return FrameTable(frame, what)
    path = check_file(source)
    suffix = suffix_of(path)
    if suffix in PARQUET_SUFFIXES:
        return ParquetTable(path, limits)
    if suffix not in TEXT_SUFFIXES:
        raise ValueError(
            f"{path}: no reader for the suffix {suffix!r}; tables are {', '.join(TEXT_SUFFIXES[:4])} (or these with .gz) "
            f"and {', '.join(PARQUET_SUFFIXES)}, so save the file as one of these"
        )
    return TextTable(path, header, encoding, known_names, limits)


def _frame_to_arrow(source: Any, what: str) -> pa.Table | None:
    """Turn a frame into a pyarrow table, without importing the library it comes from; None for anything else."""
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
