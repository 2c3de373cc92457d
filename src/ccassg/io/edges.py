"""Read edges from a file or a frame: CSV, TSV, whitespace text, Parquet, JSON, GraphML, GEXF, GML, Matrix Market."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ccassg.io import columns, tables
from ccassg.io.files import READING, Reading, suffix_of
from ccassg.io.gml import read_gml
from ccassg.io.graphml import read_graphml
from ccassg.io.ids import as_ids
from ccassg.io.matrix_market import read_matrix_market
from ccassg.io.open_table import open_table
from ccassg.io.tables import EdgeRows, Table


def read_edges(
    edges: Any,
    *,
    source: str | int | None = None,
    target: str | int | None = None,
    weight: str | int | None = None,
    reading: Reading = READING,
) -> EdgeRows:
    """Read the edges of a graph, by the suffix of a file or from a pandas, Polars or pyarrow table; options as in `read_graph`.

    Files: ``.csv``, ``.tsv``, ``.txt`` and other text (blanks between columns, ``#`` comments), ``.parquet``, ``.jsonl``,
    ``.graphml``, ``.gexf``, ``.gml``, ``.mtx``; all but Parquet also gzipped.
    """
    if tables.is_path(edges):
        suffix = suffix_of(edges)
        if suffix in (".graphml", ".xml", ".gexf"):
            return read_graphml(edges, weight)
        if suffix == ".gml":
            return read_gml(edges, weight)
        if suffix in (".mtx", ".mm"):
            return read_matrix_market(edges)
        if suffix not in tables.TABLE_SUFFIXES:
            raise ValueError(
                f"{edges}: no reader for the suffix {suffix!r}; edges are .csv, .tsv, .txt, .parquet, .jsonl, .graphml, .gexf, .gml "
                f"or .mtx, and .npz or .h5ad of a whole graph, so save the file as one of these"
            )
    table = open_table(edges, reading, known_names=columns.EDGE_NAMES, what="the edge table")
    found = _of_table(table, source, target, weight)
    if table.unsure_header and _holds(found, table.names[:2]):  # then the first line is an edge too
        table = open_table(edges, reading._replace(header=False))
        return _of_table(table, source, target, weight)
    return found


def _of_table(table: Table, source: str | int | None, target: str | int | None, weight: str | int | None) -> EdgeRows:
    """Read the edges in a table; arguments as in `read_edges`."""
    ends = columns.edge_columns(table, source, target)
    weight_column = columns.weight_column(table, weight, ends)
    wanted = [*ends] if weight_column is None else [*ends, weight_column]
    # A column is let go once it is converted.
    data = dict(zip(wanted, table.read(wanted, as_text=ends).columns, strict=True))
    weights = None
    if weight_column is not None:
        weights = columns.numbers(table, weight_column, data[weight_column], "a weight")
        columns.check_weights(table, weight_column, weights)
    first, second = (as_ids(table, name, data.pop(name)) for name in ends)
    return EdgeRows(str(table), first, second, weights, table=table, notes=table.notes)


def _holds(edges: EdgeRows, names: Sequence[str]) -> bool:
    """Return whether one of the names is an id of the edges."""
    ids = (column for column in (edges.source, edges.target) if not pa.types.is_integer(column.type))
    return any(pc.any(pc.is_in(column, value_set=pa.array(names, column.type))).as_py() for column in ids)
