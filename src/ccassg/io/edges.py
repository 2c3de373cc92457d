"""Edges from a file or a frame: CSV, TSV, whitespace text, Parquet, GraphML, Matrix Market."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ccassg.graph import Array
from ccassg.io import tables
from ccassg.io.files import suffix_of
from ccassg.io.ids import id_column
from ccassg.io.tables import Table


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges under the user's ids, not yet numbered.

    Attributes
    ----------
    name : str
        The file, for messages.
    source, target : pyarrow.ChunkedArray of shape (n_edges,)
        Ids: integers or strings.
    weights : float64 array of shape (n_edges,), or None
    from_text : bool
        Whether ids were read as text, so that digits may mean integers.
    directed : bool or None
        What the file itself says.
    node_ids : pyarrow.ChunkedArray, or None
        All nodes, if the file lists them; some may have no edge.
    nodes : Table or None
        What the file says about its nodes (GraphML), with the column ``id``.
    table : Table or None
        Where the edges stand, row by row, for messages.
    notes : list of str
        What was guessed or left out.
    """

    name: str
    source: pa.ChunkedArray
    target: pa.ChunkedArray
    weights: Array | None = None
    from_text: bool = False
    directed: bool | None = None
    node_ids: pa.ChunkedArray | None = None
    nodes: Table | None = None
    table: Table | None = None
    notes: list[str] = field(default_factory=list)


def read_edges(
    edges: Any,
    *,
    source: str | int | None = None,
    target: str | int | None = None,
    weight: str | int | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
) -> Edges:
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
    Edges

    Raises
    ------
    ValueError
        One sentence with file, line or column, and the way out.
    """
    if tables.is_path(edges):
        suffix = suffix_of(edges)
        if suffix in (".graphml", ".xml"):
            from ccassg.io.graphml import read_graphml

            return read_graphml(edges, weight=weight)
        if suffix in (".mtx", ".mm"):
            from ccassg.io.matrix_market import read_matrix_market

            return read_matrix_market(edges)
        if suffix not in (*tables.TEXT_SUFFIXES, *tables.PARQUET_SUFFIXES):
            raise ValueError(
                f"{edges}: no reader for the suffix {suffix!r}; edges are .csv, .tsv, .txt, .parquet, .graphml or .mtx, so save "
                f"the file as one of these"
            )
    table = tables.open_table(
        edges, known_names=tables.EDGE_NAMES, header=header, encoding=encoding, what="the edge table"
    )
    found = edges_of_table(table, source, target, weight)
    if table.unsure_header and _holds(found, table.names[:2]):  # then the first line is an edge too
        table = tables.open_table(edges, header=False, encoding=encoding)
        return edges_of_table(table, source, target, weight)
    return found


def edges_of_table(
    table: Table, source: str | int | None = None, target: str | int | None = None, weight: str | int | None = None
) -> Edges:
    """The edges in a table; arguments as in `read_edges`."""
    first, second = tables.pick_edge_columns(table, source, target)
    if weight is not None:
        weight_column: str | None = tables.find_column(table, weight, "weights", "weight")
        if weight_column in (first, second):
            raise ValueError(
                f"{table}: column {weight_column!r} is an end of the edges and cannot be their weight as well"
            )
    else:
        weight_column = tables.guess_column(table, [name for name in tables.WEIGHT if name not in (first, second)])
        if weight_column is None and len(table.names) > 2 and table.names[2] == "column 3":
            table.notes.append(f"{table}: its third column is not used; pass `weight=3` if it holds the weights")
    columns = [first, second] + ([weight_column] if weight_column is not None else [])
    data = table.read(columns, as_text=(first, second))
    weights = None
    if weight_column is not None:
        weights = tables.numbers(table, weight_column, data[weight_column], "a weight")
        check_weights(table, weight_column, weights)
    return Edges(
        name=str(table),
        source=id_column(table, first, data[first]),
        target=id_column(table, second, data[second]),
        weights=weights,
        from_text=table.is_text,
        table=table,
        notes=table.notes,
    )


def check_weights(table: Table, name: str, weights: Array) -> None:
    """Refuse negative weights and those beyond 32 bits, with their place."""
    bad = np.flatnonzero((weights < 0) | (weights > np.finfo(np.float32).max))
    if len(bad):
        row = int(bad[0])
        raise ValueError(
            f"{table}, column {name!r}, {table.place(row)}: {weights[row]:g} cannot be a weight; weights are from 0 to "
            f"3e38, so shift, rescale or drop such edges"
        )


def _holds(edges: Edges, names: Sequence[str]) -> bool:
    """Whether one of the names is an id of the edges."""
    ids = (column for column in (edges.source, edges.target) if not pa.types.is_integer(column.type))
    return any(pc.any(pc.is_in(column, value_set=pa.array(names, column.type))).as_py() for column in ids)
