"""Bring edges and nodes together, and features of several files or tables side by side.

Rows belong to each other by their ids, or by their order where they have none.
"""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ccassg.graph import Array, FeatureSpace
from ccassg.graph.scaling import Scaling
from ccassg.io import columns, tables
from ccassg.io.arrays import is_matrix
from ccassg.io.blocks import assemble
from ccassg.io.features import open_nodes, read_nodes
from ccassg.io.ids import number_ids, positions, settle
from ccassg.io.tables import READING, Column, EdgeRows, FrameTable, NodeRows, Reading, Table, counted, shown


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


def read_side_by_side(
    sources: Sequence[Any],
    *,
    ids: Any = None,
    edge_ids: pa.Array | None = None,
    like: FeatureSpace | None = None,
    scale: bool | None = None,
    reading: Reading = READING,
    **named: Any,
) -> NodeRows:
    """Read each as `read_nodes` does, the ``ids`` being those of matrices; of the columns ``named`` each takes those that it has.

    Numbers of tables are brought to one scale unless ``scale`` says otherwise. Features without names of their own are called
    ``features 2[7]``, by their place among the sources.
    """
    opened = [each if is_matrix(each) else open_nodes(each, reading, edge_ids) for each in sources]
    tables = [each for each in opened if isinstance(each, Table)]
    for option, names in named.items():
        for name in _listed(names):
            if tables and not any(_has(table, name) for table in tables):
                columns.find_column(tables[0], name, "ids, labels or features", option)
    parts: list[NodeRows] = []
    base: NodeRows | None = None
    for i, source in enumerate(opened, 1):
        if not isinstance(source, Table):
            part = _renamed(read_nodes(source, ids=ids, like=like, scale=scale, reading=reading), i)
        elif columns.listed_features(source) is not None:
            part = _renamed(read_nodes(source, edge_ids=edge_ids, like=_known(like, source, i), reading=reading), i)
        else:
            space = _known(like, source, i)
            own = {option: _own(source, names) for option, names in named.items()}
            part = read_nodes(
                source,
                ids=ids if len(tables) == len(opened) else None,
                edge_ids=edge_ids,
                like=space,
                scale=scale if scale is not None or like is not None else True,
                reading=reading,
                **(own | ({"feature_columns": []} if like is not None and space is None else {})),
            )
            if scale is None and part.scaling is not None:
                part.notes.append(
                    f"{source}: numbers came to mean 0 and deviation 1, to stand beside others (`scale=False`)"
                )
        if base is None and part.ids is not None:
            base = part
            edge_ids, _ = number_ids(part.ids)
        parts.append(part)
    return _joined(parts, base or parts[0])


def _joined(parts: list[NodeRows], base: NodeRows) -> NodeRows:
    """Bring the rows of all into the order of one, and their columns side by side."""
    notes = [note for part in parts for note in part.notes]
    blocks: list[Any] = []
    names: list[str] = []
    idf: list[float] = []
    means: list[float] = []
    deviations: list[float] = []
    labels = base.labels
    for part in parts:
        order = _order(part, base, notes)
        if part.features is not None:
            width = part.features.shape[1]
            blocks.append(part.features if order is None else part.features[order])
            names += part.feature_names or ()
            idf += part.idf or (0.0,) * width
            means += part.scaling.means if part.scaling else (0.0,) * width
            deviations += part.scaling.deviations if part.scaling else (1.0,) * width
        if part.labels is not None and part is not base:
            if labels is not None:
                notes.append(f"{part.name}: left out its labels, since {base.name} or another before it has some")
                continue
            _, column, values = part.labels
            values = values if order is None else values.take(pa.array(order))
            labels = Column(FrameTable(pa.table({column: values}), part.name), column, values)
    if twice := next((name for name, count in Counter(names).items() if count > 1), None):
        raise ValueError(f"two of the features side by side are called {shown(twice)}; rename one, or leave it out")
    return NodeRows(
        name=" and ".join(part.name for part in parts),
        n_rows=base.n_rows,
        ids=base.ids,
        features=assemble(blocks) if blocks else None,
        feature_names=tuple(names) if blocks else None,
        scaling=Scaling(tuple(means), tuple(deviations)) if any(part.scaling for part in parts) else None,
        idf=tuple(idf) if any(idf) else None,
        labels=labels,
        notes=notes,
    )


def _order(part: NodeRows, base: NodeRows, notes: list[str]) -> Array | None:
    """Return which row of a part belongs to each row of the base; None where they are in the same order."""
    if part is base:
        return None
    if part.ids is None or base.ids is None:
        if part.n_rows != base.n_rows:
            raise ValueError(
                f"{part.name} has {part.n_rows:,} rows and {base.name} {base.n_rows:,}, and not both have ids; give one row for each "
                f"node, or the ids of a matrix in a file (`ids`)"
            )
        if base.ids is not None:
            rows = np.arange(len(base.ids))
            if (
                pa.types.is_integer(base.ids.type)
                and not np.array_equal(base.ids, rows)
                and np.array_equal(np.sort(base.ids), rows)
            ):
                raise ValueError(
                    f"{part.name} has no ids, and {base.name} lists the nodes 0 .. {len(rows) - 1} in another order; say whose its rows "
                    f"are, in a file (`ids`)"
                )
            notes.append(f"{part.name} has no ids: its rows are taken to be those of {base.name}, one after the other")
        return None
    place = positions(base.ids, part.ids)
    if (place < 0).any():
        lacking = np.flatnonzero(place < 0)
        raise ValueError(
            f"{part.name} lacks {len(lacking):,} of the {len(place):,} nodes of {base.name}, first "
            f"{shown(base.ids[int(lacking[0])].as_py())}; add their rows"
        )
    if n_more := max(0, len(part.ids) - len(base.ids)):
        notes.append(f"{part.name}: left out {counted(n_more, 'node', 'nodes')} that {base.name} has not")
    return place


def _renamed(part: NodeRows, i: int) -> NodeRows:
    """Name the features of a matrix or a list by the place of their source."""
    width = 0 if part.features is None else part.features.shape[1]
    names = range(width) if part.feature_names is None else part.feature_names
    return dataclasses.replace(part, feature_names=tuple(f"features {i}[{name}]" for name in names))


def _known(like: FeatureSpace | None, table: Table, i: int) -> FeatureSpace | None:
    """Return what a model knows of the features of one table, None if it is none of them."""
    if like is None:
        return None
    names, idf = like.names or (), like.idf or (0.0,) * like.n_features
    prefix = f"features {i}["
    if columns.listed_features(table) is not None:
        own = tuple(name[len(prefix) : -1] for name in names if name.startswith(prefix))
        return FeatureSpace(len(own), own)
    there = set(table.names)
    mine = [
        j
        for j, name in enumerate(names)
        if name in there or any(name[:k] in there for k, mark in enumerate(name) if mark in "=#[")
    ]
    weights = tuple(idf[j] for j in mine)
    return (
        FeatureSpace(len(mine), tuple(names[j] for j in mine), idf=weights if any(weights) else None) if mine else None
    )


def _listed(names: Any) -> list[str | int]:
    """Return the columns that an option names; none for a switch."""
    if names is None or isinstance(names, bool):
        return []
    return [names] if isinstance(names, str | int) else list(names)


def _own(table: Table, names: Any) -> Any:
    """Return of the columns that an option names those of one table."""
    there = [name for name in _listed(names) if _has(table, name)]
    if isinstance(names, str | int) and not isinstance(names, bool):
        return there[0] if there else None
    return there if _listed(names) else names


def _has(table: Table, name: str | int) -> bool:
    return name in table.names or f"column {name}" in table.names
