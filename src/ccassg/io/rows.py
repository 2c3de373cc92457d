"""What the readers hand on: edges and nodes under the user's ids, not yet numbered."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from ccassg.graph import Array, Features
from ccassg.graph.scaling import Scaling
from ccassg.io.tables import Table


@dataclass(frozen=True, eq=False)
class EdgeRows:
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


@dataclass(frozen=True, eq=False)
class NodeRows:
    """Rows of a node table or matrix, under the user's ids.

    Attributes
    ----------
    name : str
        The file, for messages.
    n_rows : int
    ids : pyarrow.ChunkedArray of shape (n_rows,), or None
        None means that rows stand in the order of the nodes 0 .. n - 1.
    from_text : bool
        Whether ids were read as text, so that digits may mean integers.
    features : float32 array or CSR array of shape (n_rows, n_features), or None
    feature_names : tuple of str, or None
        None for matrices, whose columns have no names.
    scaling : Scaling, or None
        How the features were scaled, if they were.
    labels : pyarrow.ChunkedArray of shape (n_rows,), or None
        As written; see `encode_labels`.
    label_place : (Table, str), or None
        Where the labels stand, for messages.
    notes : list of str
    """

    name: str
    n_rows: int
    ids: pa.ChunkedArray | None
    from_text: bool = False
    features: Features | None = None
    feature_names: tuple[str, ...] | None = None
    scaling: Scaling | None = None
    labels: pa.ChunkedArray | None = None
    label_place: tuple[Table, str] | None = None
    notes: list[str] = field(default_factory=list)


def check_weights(table: Table, name: str, weights: Array) -> None:
    """Refuse negative weights and those beyond 32 bits, with their place."""
    table.refuse_where(
        name,
        (weights < 0) | (weights > np.finfo(np.float32).max),
        lambda row: (
            f"{weights[row]:g} cannot be a weight; weights are from 0 to 3e38, so shift, rescale or drop such edges"
        ),
    )
