"""Bring edges, nodes and labels together: rows belong to each other by their ids, or by their order where they have none."""

import numpy as np
import pyarrow as pa

from ccassg.graph import Array
from ccassg.io import tables
from ccassg.io.ids import positions, settle
from ccassg.io.tables import EdgeRows, NodeRows


def match_nodes(
    edges: EdgeRows, edge_ids: pa.Array, codes: Array, nodes: NodeRows | None
) -> tuple[pa.Array, Array | None]:
    """Return all node ids in the order of the rows, and for each id of the edges its row (None: the same order)."""
    if nodes is not None and nodes.ids is None:
        return _rows_in_order(edges, edge_ids, nodes)
    listed_ids, name = (edges.node_ids, edges.name) if nodes is None else (nodes.ids, nodes.name)
    if listed_ids is None:
        return edge_ids, None
    node_ids, _ = settle(listed_ids, edge_ids)
    place = positions(edge_ids, node_ids)
    lacking = np.flatnonzero(place < 0)
    if len(lacking) == len(place) and len(place):
        raise ValueError(
            f"{name} and {edges.name} have no id in common: the first names nodes such as {tables.shown(node_ids[0].as_py())}, "
            f"the second {tables.shown(edge_ids[0].as_py())}; check `id_column`, `source` and `target`"
        )
    if len(lacking):
        examples = edge_ids.take(pa.array(lacking[:3])).to_pylist()
        raise ValueError(
            f"{name} lacks {len(lacking):,} of the {len(place):,} nodes that {edges.name} names (first "
            f"{tables.listed(examples)}){_as_in(edges, codes, place < 0)}; add their rows, or take their edges out"
        )
    return node_ids, place


def _as_in(edges: EdgeRows, codes: Array, lacking: Array) -> str:
    """Say where the first edge to one of the lacking ids stands, if the file has lines or rows."""
    if edges.table is None:
        return ""
    row = int(np.flatnonzero(lacking[codes].any(axis=0))[0])
    return f", as in {edges.table.place(row)}"


def _rows_in_order(edges: EdgeRows, edge_ids: pa.Array, nodes: NodeRows) -> tuple[pa.Array, Array]:
    if not pa.types.is_integer(edge_ids.type):
        raise ValueError(
            f"{nodes.name} has no ids, but {edges.name} names nodes such as {tables.shown(edge_ids[0].as_py())}; give the ids "
            f"of the rows in a file (`ids`), one a line"
        )
    place = edge_ids.to_numpy()
    bad = place[(place < 0) | (place >= nodes.n_rows)]
    if len(bad):
        raise ValueError(
            f"{nodes.name} has rows for the nodes 0 .. {nodes.n_rows - 1}, but {edges.name} names {len(bad):,} others, first "
            f"{bad[0]}; add their rows, or give the ids of the rows in a file (`ids`)"
        )
    return pa.array(np.arange(nodes.n_rows)), place
