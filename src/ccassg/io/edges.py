"""Read edges from a file or a frame: CSV, TSV, whitespace text, Parquet, GraphML, Matrix Market."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ccassg.io import columns, tables
from ccassg.io.files import suffix_of
from ccassg.io.graphml import read_graphml
from ccassg.io.ids import as_ids
from ccassg.io.limits import LIMITS, Limits
from ccassg.io.matrix_market import read_matrix_market
from ccassg.io.open_table import open_table
from ccassg.io.rows import EdgeRows, check_weights
from ccassg.io.tables import Table


def read_edges(
    edges: Any,
    *,
    source: str | int | None = None,
    target: str | int | None = None,
    weight: str | int | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    limits: Limits = LIMITS,
) -> EdgeRows:
    """Read the edges of a graph.

    Parameters
    ----------
    edges : path-like or frame
        By suffix: ``.csv``, ``.tsv``, ``.txt`` and other text (blanks between columns, ``#`` comments), ``.parquet``,
        ``.graphml``, ``.mtx``; all but Parquet also gzipped. Or a pandas, Polars or pyarrow table.
    source, target : str or int
        The columns of the two ends; by default those with a usual name (source/target, src/dst, from/to, u/v, ...), else
        the first two. A file without header has columns 1, 2, 3, ...
    weight : str or int
        The column of weights; by default one named ``weight``, ``weights``, ``w`` or ``edge_weight``, if there is one.
    header : bool
        Whether a text file begins with column names; by default guessed.
    encoding : str
        Of text files.

    Returns
    -------
    EdgeRows

    Raises
    ------
    ValueError
        One sentence with file, line or column, and the way out.
    """
    if tables.is_path(edges):
        suffix = suffix_of(edges)
        if suffix in (".graphml", ".xml"):
            return read_graphml(edges, weight, limits)
        if suffix in (".mtx", ".mm"):
            return read_matrix_market(edges, limits)
        if suffix not in (*tables.TEXT_SUFFIXES, *tables.PARQUET_SUFFIXES):
            raise ValueError(
                f"{edges}: no reader for the suffix {suffix!r}; edges are .csv, .tsv, .txt, .parquet, .graphml or .mtx, so save "
                f"the file as one of these"
            )
    table = open_table(
        edges,
        known_names=columns.EDGE_NAMES,
        header=header,
        encoding=encoding,
        what="the edge table",
        limits=limits,
    )
    found = _of_table(table, source, target, weight)
    if table.unsure_header and _holds(found, table.names[:2]):  # then the first line is an edge too
        table = open_table(edges, header=False, encoding=encoding, limits=limits)
        return _of_table(table, source, target, weight)
    return found


def _of_table(table: Table, source: str | int | None, target: str | int | None, weight: str | int | None) -> EdgeRows:
    """Read the edges in a table; arguments as in `read_edges`."""
    ends = columns.edge_columns(table, source, target)
    weight_column = columns.weight_column(table, weight, ends)
    data = table.read([*ends, weight_column] if weight_column is not None else ends, as_text=ends)
    weights = None
    if weight_column is not None:
        weights = columns.numbers(table, weight_column, data[weight_column], "a weight")
        check_weights(table, weight_column, weights)
    first, second = (as_ids(table, name, data[name]) for name in ends)
    return EdgeRows(str(table), first, second, weights, from_text=table.is_text, table=table, notes=table.notes)


def _holds(edges: EdgeRows, names: Sequence[str]) -> bool:
    """Return whether one of the names is an id of the edges."""
    ids = (column for column in (edges.source, edges.target) if not pa.types.is_integer(column.type))
    return any(pc.any(pc.is_in(column, value_set=pa.array(names, column.type))).as_py() for column in ids)
