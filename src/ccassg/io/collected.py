"""What a graph file says of nodes and edges, item by item: collected within the file's budget, then made into rows."""

import numpy as np
import pyarrow as pa

from ccassg.graph import Array
from ccassg.io.columns import WEIGHT, check_weights
from ccassg.io.files import Meter
from ccassg.io.ids import as_ids, unique_ids
from ccassg.io.tables import Column, EdgeRows, FrameTable, listed, shown

ITEM_BYTES = 100  # a node, an end of an edge or a value takes so much, besides its text
NUMERIC = {"boolean", "int", "integer", "long", "float", "double"}
BOOLEAN = {"true": 1.0, "false": 0.0}


class Collected:
    """Nodes, edges and their attributes, which readers add as they walk through a file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.keys: dict[str, tuple[str, str]] = {}  # name and type of each attribute
        self.defaults: dict[str, str] = {}
        self.node_names: list[str] = []
        self.ends: tuple[list[str], list[str]] = ([], [])
        self.node_data: dict[str, dict[int, str]] = {}
        self.edge_data: dict[str, dict[int, str]] = {}
        self.directed: bool | None = None
        self.count = Meter(name, "read", "write it as .csv or .parquet instead").add
        self._data, self._row = self.node_data, 0

    def add_node(self, node: str) -> None:
        """Add a node; what is `put` next is said of it."""
        self.count(ITEM_BYTES)
        self._data, self._row = self.node_data, len(self.node_names)
        self.node_names.append(node)

    def add_edge(self, source: str, target: str) -> None:
        """Add an edge; what is `put` next is said of it."""
        self.count(2 * ITEM_BYTES)
        self._data, self._row = self.edge_data, len(self.ends[0])
        self.ends[0].append(source)
        self.ends[1].append(target)

    def add_key(self, key: str, name: str, kind: str) -> None:
        """Say what an attribute is called, and of which type it is."""
        self.count(4 * ITEM_BYTES)
        self.keys[key] = (name, kind)

    def put(self, key: str, text: str) -> None:
        """Give the last node or edge an attribute, the last value if there are several; one that nobody declared is passed over."""
        if key in self.keys:
            self.count(2 * ITEM_BYTES)
            self._data.setdefault(key, {})[self._row] = text

    def rows(self, weight: str | int | None) -> EdgeRows:
        """Return what was collected."""
        if not self.ends[0]:
            raise ValueError(f"{self.name} has no edges; check how it was written")
        ends = FrameTable(pa.table(self.ends, ["source", "target"]), self.name, is_text=True)
        source, target = (as_ids(column) for column in ends.columns(ends.names).values())
        nodes = self._nodes() if self.node_names else None
        return EdgeRows(
            name=self.name,
            source=source,
            target=target,
            weights=self._weights(weight),
            directed=self.directed,
            node_ids=None if nodes is None else unique_ids(Column(nodes, "node", nodes.data["id"])),
            nodes=nodes if nodes is not None and len(nodes.names) > 1 else None,
        )

    def _weights(self, weight: str | int | None) -> Array | None:
        names = {self.keys[key][0]: key for key in self.edge_data if key in self.keys}
        if weight is not None and weight not in names:
            raise ValueError(
                f"{self.name}: edges have no attribute {weight!r}; they have {listed(sorted(names)) or 'none'}"
            )
        chosen = weight if weight is not None else next((name for name in WEIGHT if name in names), None)
        if chosen is None:
            return None
        column = self._column(names[str(chosen)], self.edge_data, len(self.ends[0]))
        if column.null_count or not pa.types.is_floating(column.type):
            raise ValueError(
                f"{self.name}: not every edge has a number as its {chosen!r}; give it to all edges or to none"
            )
        values = column.to_numpy(zero_copy_only=False)
        if not np.isfinite(values).all():
            raise ValueError(f"{self.name}: an edge's {chosen!r} is not a finite number; mend or drop it")
        place = FrameTable(pa.table({str(chosen): column}), self.name)
        check_weights(place.columns([str(chosen)])[str(chosen)], values)
        return values

    def _nodes(self) -> FrameTable:
        """Return the nodes' names and attributes."""
        keys = [key for key in self.keys if key in self.node_data]
        columns = {"id": pa.array(self.node_names)}
        for key in keys:
            name = self.keys[key][0]
            name = f"{name} (attribute)" if name == "id" else name
            if name in columns:
                raise ValueError(f"{self.name}: two node attributes are called {name!r}; rename one")
            columns[name] = self._column(key, self.node_data, len(self.node_names))
        return FrameTable(pa.table(columns), self.name, is_text=True)

    def _column(self, key: str, data: dict[str, dict[int, str]], n: int) -> pa.Array:
        """Return an attribute of all nodes or edges, null where it is neither given nor has a default."""
        name, kind = self.keys[key]
        given, default = data[key], self.defaults.get(key)
        self.count(8 * n)
        if kind not in NUMERIC:
            self.count((n - len(given)) * len(default or ""))
            return pa.array([given.get(i, default) for i in range(n)], pa.string())
        other = None if default is None else self._number(name, kind, default)
        values = [self._number(name, kind, given[i]) if i in given else other for i in range(n)]
        return pa.array(values, pa.float64())

    def _number(self, name: str, kind: str, text: str) -> float:
        try:
            return BOOLEAN[text.strip().lower()] if kind == "boolean" else float(text)
        except (KeyError, ValueError):
            raise ValueError(
                f"{self.name}, attribute {name!r}: {shown(text)} is not of its type {kind}; mend the value"
            ) from None
