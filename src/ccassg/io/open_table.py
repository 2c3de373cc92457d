"""Open a table wherever it is: the one place that decides which reader takes a file or a frame."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa

from ccassg.io.files import READING, Reading, one_sentence, suffix_of
from ccassg.io.json_rows import open_json
from ccassg.io.tables import JSON_SUFFIXES, PARQUET_SUFFIXES, TEXT_SUFFIXES, FrameTable, ParquetTable, Table, is_frame
from ccassg.io.text import TextTable


def open_table(
    source: Any, reading: Reading = READING, *, known_names: Collection[str] = (), what: str = "the table"
) -> Table:
    """Open a file by its suffix (CSV, TSV, whitespace text, JSON, gzipped or not, Parquet), or take a frame or pyarrow table.

    A first line with one of the (lower-case) ``known_names`` is a header, if nothing is told of one; messages call a
    frame ``what``.
    """
    if isinstance(source, Table):
        return source
    frame = _frame_to_arrow(source, what)
    if frame is not None:
        return FrameTable(frame, what)
    path = Path(source)
    suffix = suffix_of(path)
    if suffix in PARQUET_SUFFIXES:
        return ParquetTable(path)
    if suffix in JSON_SUFFIXES:
        return open_json(path)
    if suffix not in TEXT_SUFFIXES:
        raise ValueError(
            f"{path}: no reader for the suffix {suffix!r}; tables are {', '.join((*TEXT_SUFFIXES[:4], *JSON_SUFFIXES))} (or "
            f"these with .gz) and {', '.join(PARQUET_SUFFIXES)}, so save the file as one of these"
        )
    return TextTable(path, reading, known_names)


def _frame_to_arrow(source: Any, what: str) -> pa.Table | None:
    """Turn a frame into a pyarrow table, without importing the library it comes from; None for anything else."""
    if isinstance(source, pa.Table):
        return source
    if not is_frame(source):
        return None
    with one_sentence(what):
        if hasattr(source, "to_arrow") or hasattr(source, "collect"):  # Polars
            return (source.collect() if hasattr(source, "collect") else source).to_arrow()
        # A named or non-trivial index holds ids more often than not; a plain 0, 1, 2, ... is no column.
        plain = source.index.name is None and type(source.index).__name__ == "RangeIndex"
        frame = source if plain else source.reset_index(names=source.index.name or "index")
        frame = frame.rename(columns=str)
        return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
