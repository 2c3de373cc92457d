"""Read GraphML: edges and node attributes, as a stream, without document types or entities.

A parser of our own, since NetworkX holds the whole document as a tree before it makes a graph of it: three times the
memory, and errors without their line.
"""

from typing import IO, Any
from xml.parsers import expat

import numpy as np
import pyarrow as pa

from ccassg.graph import Array
from ccassg.io.columns import WEIGHT, check_weights
from ccassg.io.files import LIMITS, Limits, PathLike, check_file, one_sentence, open_bytes, require_kind
from ccassg.io.ids import as_ids, unique_ids
from ccassg.io.tables import EdgeRows, FrameTable, listed, shown

CHUNK_BYTES = 1 << 16
ITEM_BYTES = 100  # a node, an end of an edge or a value takes so much, besides its text
NUMERIC = {"boolean", "int", "long", "float", "double"}
BOOLEAN = {"true": 1.0, "false": 0.0}


def read_graphml(path: PathLike, weight: str | int | None = None, limits: Limits = LIMITS) -> EdgeRows:
    """Read the edges of a GraphML file, which may be gzipped, and what it says about its nodes.

    A file with a document type is refused, since that is where entities that grow or reach for other files are declared.
    """
    file = check_file(path)
    require_kind(file, "XML")
    reader = _Reader(str(file), limits)
    with one_sentence(file):
        try:
            with open_bytes(file, limits) as stream:
                reader.read(stream)
        except expat.ExpatError as error:
            raise ValueError(
                f"{file}, line {error.lineno}: not well-formed XML ({expat.ErrorString(error.code)}); write the file again"
            ) from None
        return reader.rows(weight)


class _Reader:
    """Collects nodes, edges and their data while the parser walks through the file."""

    def __init__(self, name: str, limits: Limits) -> None:
        self.name, self.limits = name, limits
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.buffer_text = True
        self.keys: dict[str, tuple[str, str]] = {}
        self.defaults: dict[str, str] = {}
        self.node_names: list[str] = []
        self.ends: tuple[list[str], list[str]] = ([], [])
        self.node_data: dict[str, dict[int, str]] = {}
        self.edge_data: dict[str, dict[int, str]] = {}
        self.directed: bool | None = None
        self._depth = self._n_graphs = self._n_bytes = 0
        self._budget = limits.budget(name)
        self._item: dict[str, dict[int, str]] | None = None
        self._row = 0
        self._key: str | None = None
        self._chunks: list[str] = []

    def read(self, stream: IO[bytes]) -> None:
        """Walk through the file."""
        n_read = 0
        while chunk := stream.read(CHUNK_BYTES):
            n_read += len(chunk)
            self.parser.Parse(chunk, False)
            if n_read - self.parser.CurrentByteIndex > self.limits.line:  # the parser holds what has not ended
                raise self._refuse(f"a tag of more than {self.limits.line:,} bytes; is it GraphML?")
        self.parser.Parse(b"", True)

    def rows(self, weight: str | int | None) -> EdgeRows:
        """Return what was collected."""
        if not self._n_graphs:
            raise ValueError(f"{self.name} has no <graph>; is it GraphML?")
        if not self.ends[0]:
            raise ValueError(f"{self.name} has no edges; check how it was written")
        ends = FrameTable(pa.table(self.ends, ["source", "target"]), self.name, is_text=True)
        nodes = self._nodes() if self.node_names else None
        return EdgeRows(
            name=self.name,
            source=as_ids(ends, "source", ends.data["source"]),
            target=as_ids(ends, "target", ends.data["target"]),
            weights=self._weights(weight),
            from_text=True,
            directed=self.directed,
            node_ids=None if nodes is None else unique_ids(nodes, "node", nodes.data["id"]),
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
        check_weights(FrameTable(pa.table({str(chosen): column}), self.name), str(chosen), values)
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
        self._count(8 * n)
        if kind not in NUMERIC:
            self._count((n - len(given)) * len(default or ""))
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

    def _count(self, n_bytes: int) -> None:
        """Refuse the file if what was collected, with so much more, outgrows its budget."""
        self._n_bytes += n_bytes
        if self._n_bytes > self._budget:
            self.limits.require_budget(self.name, self._n_bytes, "read", "write it as .csv or .parquet instead")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > self.limits.depth:
            raise self._refuse(f"elements nested more than {self.limits.depth} deep; is it GraphML?")
        tag = tag.rpartition(" ")[2]
        if tag == "node":
            self._item, self._row = self.node_data, len(self.node_names)
            self._count(ITEM_BYTES)
            self.node_names.append(self._attribute(tag, attributes, "id"))
        elif tag == "edge":
            self._item, self._row = self.edge_data, len(self.ends[0])
            self._count(2 * ITEM_BYTES)
            for names, end in zip(self.ends, ("source", "target"), strict=True):
                names.append(self._attribute(tag, attributes, end))
        elif tag == "key":
            key = self._attribute(tag, attributes, "id")
            self._count(4 * ITEM_BYTES)
            self.keys[key] = (attributes.get("attr.name", key), attributes.get("attr.type", "string"))
            self._key = key
        elif tag in ("data", "default"):
            self._key = attributes.get("key") if tag == "data" else self._key
            self._chunks = []
        elif tag == "graph":
            self._n_graphs += 1
            if self._n_graphs > 1:
                raise self._refuse("a second graph in the file; keep one")
            self.directed = attributes.get("edgedefault") == "directed"
        elif tag == "hyperedge":
            raise self._refuse("hyperedges cannot be read; write them as pairs of nodes")

    def _end(self, tag: str) -> None:
        self._depth -= 1
        tag = tag.rpartition(" ")[2]
        if tag in ("node", "edge"):
            self._item = None
        elif tag == "data":
            if self._item is not None and self._key in self.keys:
                self._count(2 * ITEM_BYTES)
                self._item.setdefault(str(self._key), {})[self._row] = "".join(self._chunks)
            self._key = None
        elif tag == "default" and self._key is not None:
            self.defaults[self._key] = "".join(self._chunks)

    def _text(self, text: str) -> None:
        if self._key is not None:
            self._count(len(text))
            self._chunks.append(text)

    def _attribute(self, tag: str, attributes: dict[str, str], name: str) -> str:
        if name not in attributes:
            raise self._refuse(f"a <{tag}> without {name!r}; write the file again")
        return attributes[name]

    def _refuse_doctype(self, *_: Any) -> None:
        raise self._refuse(
            "a document type (<!DOCTYPE ...>) is not allowed, since it may declare entities; delete that line"
        )

    def _refuse(self, reason: str) -> ValueError:
        """Return the error for what the parser is at."""
        return ValueError(f"{self.name}, line {self.parser.CurrentLineNumber}: {reason}")
