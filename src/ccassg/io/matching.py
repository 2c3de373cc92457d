"""Bring edges, nodes and labels together: rows belong to each other by their ids, or by their order where they have none."""

import numpy as np
import pyarrow as pa

from ccassg.graph import Array
from ccassg.io import tables
from ccassg.io.ids import flat, positions, settle
from ccassg.io.labels import encode_labels
from ccassg.io.tables import EdgeRows, NodeRows


def match_nodes(
    edges: EdgeRows, edge_ids: pa.Array, codes: Array, nodes: NodeRows | None
) -> tuple[pa.Array, Array | None]:
    """Return all node ids in the order of the rows, and for each id of the edges its row (None: the same order)."""
    if nodes is None:
        if edges.node_ids is None:
            return edge_ids, None
        listed_ids, listed_text, name = edges.node_ids, edges.from_text, edges.name
    elif nodes.ids is not None:
        listed_ids, listed_text, name = nodes.ids, nodes.from_text, nodes.name
    else:
        return _rows_in_order(edges, edge_ids, nodes)
    seen, all_ids = settle([pa.chunked_array([edge_ids]), listed_ids], [edges.from_text, listed_text])
    among = flat(all_ids)
    place = positions(flat(seen), among)
    lacking = np.flatnonzero(place < 0)
    if len(lacking) == len(place) and len(place):
        raise ValueError(
            f"{name} and {edges.name} have no id in common: the first names nodes such as {tables.shown(among[0].as_py())}, "
            f"the second {tables.shown(edge_ids[0].as_py())}; check `id_column`, `source` and `target`"
        )
    if len(lacking):
        examples = edge_ids.take(pa.array(lacking[:3])).to_pylist()
        raise ValueError(
            f"{name} lacks {len(lacking):,} of the {len(place):,} nodes that {edges.name} names (first "
            f"{tables.listed(examples)}){_as_in(edges, codes, place < 0)}; add their rows, or take their edges out"
        )
    return among, place


def match_labels(
    labels: NodeRows, node_ids: pa.Array, from_text: bool, notes: list[str]
) -> tuple[Array, tuple[str, ...]]:
    """Return the class of each node, -1 where there is none, and the names of the classes; ids that are no nodes are noted."""
    codes, class_names = encode_labels(labels)
    n = len(node_ids)
    if labels.ids is None:
        if labels.n_rows != n:
            raise ValueError(
                f"{labels.name} has {labels.n_rows:,} labels without ids, but the graph has {n:,} nodes; give one each, or "
                f"a column of ids"
            )
        return codes, class_names
    given, known = settle([labels.ids, pa.chunked_array([node_ids])], [labels.from_text, from_text])
    place = positions(flat(given), flat(known))
    inside = place >= 0
    if not inside.any():
        raise ValueError(
            f"{labels.name} labels no node of the graph: it names {tables.shown(flat(given)[0].as_py())}, the graph "
            f"{tables.shown(node_ids[0].as_py())}; check `id_column`"
        )
    if not inside.all():
        notes.append(
            f"{labels.name}: left out the labels of {tables.counted(int((~inside).sum()), 'id', 'ids')} not in the graph"
        )
    y = np.full(n, -1, np.int64)
    y[place[inside]] = codes[inside]
    return y, class_names


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
