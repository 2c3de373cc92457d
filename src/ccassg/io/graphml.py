"""Read GraphML and GEXF: edges and node attributes, as a stream, without document types or entities.

A parser of our own, since NetworkX holds the whole document as a tree before it makes a graph of it: three times the
memory, and errors without their line.
"""

from typing import IO, Any
from xml.parsers import expat

from ccassg.io.collected import Collected
from ccassg.io.files import PathLike, limits, open_bytes, suffix_of, vetted
from ccassg.io.tables import EdgeRows

CHUNK_BYTES = 1 << 16
# GEXF's names of nodes stand beside their ids, and a weight of 1 may be left out.
NAME, WEIGHT = "node label", "weight"


def read_graphml(path: PathLike, weight: str | int | None = None) -> EdgeRows:
    """Read the edges of a GraphML or (by its suffix) GEXF file, which may be gzipped, and what it says about its nodes.

    A file with a document type is refused, since that is where entities that grow or reach for other files are declared.
    """
    with vetted(path, "XML") as file:
        reader = (_Gexf if suffix_of(file) == ".gexf" else _GraphML)(str(file))
        try:
            with open_bytes(file) as stream:
                reader.read(stream)
        except expat.ExpatError as error:
            raise ValueError(
                f"{file}, line {error.lineno}: not well-formed XML ({expat.ErrorString(error.code)}); write the file again"
            ) from None
        return reader.rows(weight)


class _GraphML(Collected):
    """Walks through the elements of GraphML."""

    kind = "GraphML"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.buffer_text = True
        self._depth = self._n_graphs = 0
        self._item = ""  # the tag of the node or edge that we are in
        self._key: str | None = None
        self._chunks: list[str] = []

    def read(self, stream: IO[bytes]) -> None:
        """Walk through the file."""
        n_read = 0
        while chunk := stream.read(CHUNK_BYTES):
            n_read += len(chunk)
            self.parser.Parse(chunk, False)
            if n_read - self.parser.CurrentByteIndex > limits().line:  # the parser holds what has not ended
                raise self._refuse(f"a tag of more than {limits().line:,} bytes; is it {self.kind}?")
        self.parser.Parse(b"", True)
        if not self._n_graphs:
            raise ValueError(f"{self.name} has no <graph>; is it {self.kind}?")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > limits().depth:
            raise self._refuse(f"elements nested more than {limits().depth} deep; is it {self.kind}?")
        tag = tag.rpartition(" ")[2]
        if tag == "node":
            self._item = tag
            self.add_node(self._attribute(tag, attributes, "id"))
        elif tag == "edge":
            self._item = tag
            self.add_edge(*(self._attribute(tag, attributes, end) for end in ("source", "target")))
        elif tag == "graph":
            self._n_graphs += 1
            if self._n_graphs > 1:
                raise self._refuse("a second graph in the file; keep one")
        elif tag == "hyperedge":
            raise self._refuse("hyperedges cannot be read; write them as pairs of nodes")
        self._begin(tag, attributes)

    def _begin(self, tag: str, attributes: dict[str, str]) -> None:
        """Take in what is GraphML's own."""
        if tag == "graph":
            self.directed = attributes.get("edgedefault") == "directed"
        elif tag == "key":
            self._key = self._attribute(tag, attributes, "id")
            self.add_key(self._key, attributes.get("attr.name", self._key), attributes.get("attr.type", "string"))
        elif tag in ("data", "default"):
            self._key = attributes.get("key") if tag == "data" else self._key
            self._chunks = []

    def _end(self, tag: str) -> None:
        self._depth -= 1
        tag = tag.rpartition(" ")[2]
        if tag in ("node", "edge"):
            self._item = ""
        elif tag == "data":
            if self._item:
                self.put(str(self._key), "".join(self._chunks))
            self._key = None
        elif tag == "default" and self._key is not None:
            self.defaults[self._key] = "".join(self._chunks)

    def _text(self, text: str) -> None:
        if self._key is not None:
            self.count(len(text))
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


class _Gexf(_GraphML):
    """The same of GEXF, whose attributes are numbered for nodes and for edges apart."""

    kind = "GEXF"
    _class = "node"

    def _begin(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "graph":
            self.directed = attributes.get("defaultedgetype") == "directed"
        elif tag == "attributes":
            self._class = attributes.get("class", "node")
        elif tag == "attribute":
            self._key = f"{self._class} {self._attribute(tag, attributes, 'id')}"
            self.add_key(self._key, attributes.get("title", self._key), attributes.get("type", "string"))
        elif tag == "default":
            self._chunks = []
        elif tag == "attvalue" and self._item:
            self._say(f"{self._item} {attributes.get('for', attributes.get('id'))}", attributes.get("value", ""))
        elif tag == "node" and attributes.get("label", attributes["id"]) != attributes["id"]:
            self.keys.setdefault(NAME, (NAME, "string"))
            self._say(NAME, attributes["label"])
        elif tag == "edge" and WEIGHT in attributes:
            self.keys.setdefault(WEIGHT, (WEIGHT, "double"))
            self.defaults[WEIGHT] = "1"
            self._say(WEIGHT, attributes[WEIGHT])

    def _say(self, key: str, text: str) -> None:
        self.count(len(text))
        self.put(key, text)
