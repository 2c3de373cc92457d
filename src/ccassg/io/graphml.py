"""GraphML: edges and node attributes, read as a stream, without document types or entities."""

from __future__ import annotations

from typing import Any
from xml.parsers import expat

import numpy as np
import pyarrow as pa

from ccassg.io.edges import Edges, check_weights
from ccassg.io.features import unique_ids
from ccassg.io.files import PathLike, check_file, growth_limit, one_sentence, open_bytes, require_kind
from ccassg.io.ids import id_column
from ccassg.io.tables import WEIGHT, FrameTable, listed, shown

NUMERIC = {"boolean", "int", "long", "float", "double"}
MAX_DEPTH = 64


def read_graphml(path: PathLike, weight: str | int | None = None) -> Edges:
    """Read the edges of a GraphML file and what it says about its nodes.

    A file with a document type is refused, since that is where entities that grow or reach for other files are declared.

    Parameters
    ----------
    path : path-like
        May be gzipped.
    weight : str
        The name of an edge attribute; by default ``weight``, ``weights``, ``w`` or ``edge_weight``, if there is one.

    Returns
    -------
    Edges
        Its ``nodes`` hold the attributes, if there are any.
    """
    file = check_file(path)
    require_kind(file, "XML")
    reader = _Reader(str(file))
    with one_sentence(file):
        try:
            with open_bytes(file) as stream:
                reader.parser.ParseFile(stream)
        except expat.ExpatError as error:
            raise ValueError(
                f"{file}, line {error.lineno}: not well-formed XML ({expat.ErrorString(error.code)}); write the file again"
            ) from None
        return reader.edges(weight)


class _Reader:
    """Collects nodes, edges and their data while the parser walks through the file."""

    def __init__(self, name: str) -> None:
        self.name = name
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
        self._depth = self._n_graphs = 0
        self._item: dict[str, dict[int, str]] | None = None
        self._row = 0
        self._key: str | None = None
        self._chunks: list[str] = []

    def edges(self, weight: str | int | None) -> Edges:
        """What was collected."""
        if not self._n_graphs:
            raise ValueError(f"{self.name} has no <graph>; is it GraphML?")
        if not self.ends[0]:
            raise ValueError(f"{self.name} has no edges; check how it was written")
        ends = FrameTable(pa.table({"source": pa.array(self.ends[0]), "target": pa.array(self.ends[1])}), self.name)
        data = ends.read(("source", "target"))
        node_ids = None
        if self.node_names:
            listed_ids = FrameTable(pa.table({"id": pa.array(self.node_names)}), self.name)
            node_ids = unique_ids(listed_ids, "node", listed_ids.read(("id",))["id"])
        return Edges(
            name=self.name,
            source=id_column(ends, "source", data["source"]),
            target=id_column(ends, "target", data["target"]),
            weights=self._weights(weight),
            from_text=True,
            directed=self.directed,
            node_ids=node_ids,
            nodes=self._nodes(),
        )

    def _weights(self, weight: str | int | None) -> Any:
        names = {self.keys[key][0]: key for key in self.edge_data if key in self.keys}
        if weight is not None and weight not in names:
            raise ValueError(
                f"{self.name}: edges have no attribute {weight!r}; they have {listed(sorted(names)) or 'none'}"
            )
        chosen = weight if weight is not None else next((name for name in WEIGHT if name in names), None)
        if chosen is None:
            return None
        column = self._column(names[str(chosen)], self.edge_data, len(self.ends[0]))
        table = FrameTable(pa.table({str(chosen): column}), self.name)
        if column.null_count or not pa.types.is_floating(column.type):
            raise ValueError(
                f"{self.name}: not every edge has a number as its {chosen!r}; give it to all edges or to none"
            )
        values = column.to_numpy(zero_copy_only=False)
        if not np.isfinite(values).all():
            raise ValueError(f"{self.name}: an edge's {chosen!r} is not a finite number; mend or drop it")
        check_weights(table, str(chosen), values)
        return values

    def _nodes(self) -> FrameTable | None:
        keys = [key for key in self.keys if key in self.node_data]
        if not keys or not self.node_names:
            return None
        if 8 * len(keys) * len(self.node_names) > growth_limit(self.name):
            raise ValueError(
                f"{self.name} spreads {len(keys):,} attributes over {len(self.node_names):,} nodes, out of proportion to its "
                f"size; write features as .npz instead"
            )
        columns = {"id": pa.array(self.node_names)}
        for key in keys:
            name = self.keys[key][0]
            name = f"{name} (attribute)" if name == "id" else name
            if name in columns:
                raise ValueError(f"{self.name}: two node attributes are called {name!r}; rename one")
            columns[name] = self._column(key, self.node_data, len(self.node_names))
        table = FrameTable(pa.table(columns), self.name)
        table.is_text = True  # ids are written as text, whatever they mean
        return table

    def _column(self, key: str, data: dict[str, dict[int, str]], n: int) -> pa.Array:
        """An attribute of all nodes or edges, null where it is neither given nor has a default."""
        name, kind = self.keys[key]
        given, default = data.get(key, {}), self.defaults.get(key)
        texts = [given.get(i, default) for i in range(n)]
        if kind not in NUMERIC:
            return pa.array(texts, pa.string())
        values = np.full(n, np.nan)
        missing = np.zeros(n, bool)
        for i, text in enumerate(texts):
            if text is None:
                missing[i] = True
                continue
            try:
                values[i] = {"true": 1.0, "false": 0.0}.get(text.strip().lower()) if kind == "boolean" else float(text)
            except (TypeError, ValueError):
                raise ValueError(
                    f"{self.name}, attribute {name!r}: {shown(text)} is not of its type {kind}; mend the value"
                ) from None
        return pa.array(values, mask=missing)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ValueError(
                f"{self.name}, line {self._line}: elements nested more than {MAX_DEPTH} deep; is it GraphML?"
            )
        tag = tag.rpartition(" ")[2]
        if tag == "node":
            self._item, self._row = self.node_data, len(self.node_names)
            self.node_names.append(self._attribute(tag, attributes, "id"))
        elif tag == "edge":
            self._item, self._row = self.edge_data, len(self.ends[0])
            for names, end in zip(self.ends, ("source", "target"), strict=True):
                names.append(self._attribute(tag, attributes, end))
        elif tag == "key":
            key = self._attribute(tag, attributes, "id")
            self.keys[key] = (attributes.get("attr.name", key), attributes.get("attr.type", "string"))
            self._key = key
        elif tag == "data":
            self._key = attributes.get("key")
            self._chunks = []
        elif tag == "default":
            self._chunks = []
        elif tag == "graph":
            self._n_graphs += 1
            if self._n_graphs > 1:
                raise ValueError(f"{self.name}, line {self._line}: a second graph in the file; keep one")
            self.directed = attributes.get("edgedefault") == "directed"
        elif tag == "hyperedge":
            raise ValueError(f"{self.name}, line {self._line}: hyperedges cannot be read; write them as pairs of nodes")

    def _end(self, tag: str) -> None:
        self._depth -= 1
        tag = tag.rpartition(" ")[2]
        if tag in ("node", "edge"):
            self._item = None
        elif tag == "data":
            if self._item is not None and self._key in self.keys:
                self._item.setdefault(str(self._key), {})[self._row] = "".join(self._chunks)
            self._key = None
        elif tag == "default" and self._key is not None:
            self.defaults[self._key] = "".join(self._chunks)

    def _text(self, text: str) -> None:
        if self._key is not None:
            self._chunks.append(text)

    def _attribute(self, tag: str, attributes: dict[str, str], name: str) -> str:
        if name not in attributes:
            raise ValueError(f"{self.name}, line {self._line}: a <{tag}> without {name!r}; write the file again")
        return attributes[name]

    def _refuse_doctype(self, *_: Any) -> None:
        raise ValueError(
            f"{self.name}, line {self._line}: a document type (<!DOCTYPE ...>) is not allowed, since it may declare entities; "
            f"delete that line"
        )

    @property
    def _line(self) -> int:
        return int(self.parser.CurrentLineNumber)
