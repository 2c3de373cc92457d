"""Read GML: edges and node attributes, a line at a time."""

import html
import re
from collections.abc import Iterator
from typing import IO

from ccassg.io.collected import Collected
from ccassg.io.files import PathLike, limits, open_bytes, vetted
from ccassg.io.tables import EdgeRows
from ccassg.io.whitespace import read_line

LABEL = "node label"
TOKEN = re.compile(r'"[^"]*"|[\[\]]|[^\s\[\]"]+')


def read_gml(path: PathLike, weight: str | int | None = None) -> EdgeRows:
    """Read the edges of a GML file, which may be gzipped, and what it says about its nodes.

    Nodes are called by their labels where all are different, else by their numbers.
    """
    with vetted(path, "text") as file, open_bytes(file) as stream:
        reader = _Gml(str(file))
        reader.read(stream)
        return reader.rows(weight)


class _Gml(Collected):
    def read(self, stream: IO[bytes]) -> None:
        """Walk through the file: a key and its value, or a key and a list of such pairs in brackets."""
        within: list[str] = []
        key, line = "", 0
        item: dict[str, str] = {}
        for line, token in self._tokens(stream):
            if token == "]" and within and not key:
                closed = within.pop()
                if within == ["graph"] and closed in ("node", "edge"):
                    self._add(line, closed, item)
            elif token in ("[", "]") and (token == "]" or not key):
                raise self._refuse(line, f"a {token!r} where there should be none; is it GML?")
            elif token == "[":
                within.append(key)
                if len(within) > limits().depth:
                    raise self._refuse(line, f"lists nested more than {limits().depth} deep; is it GML?")
                key, item = "", {} if len(within) == 2 else item
            elif not key:
                key = token
            else:
                if within == ["graph"] and key == "directed":
                    self.directed = token == "1"
                elif len(within) == 2:
                    item[key] = token
                    self.count(len(key) + len(token))
                key = ""
        if key or within:
            raise self._refuse(line, "the file ends before its lists do; it may be cut off")
        self._rename()

    def _rename(self) -> None:
        """Call nodes by their labels, if these tell all of them apart."""
        labels = self.node_data.get(LABEL, {})
        known = {node: labels.get(row, "") for row, node in enumerate(self.node_names)}
        if not labels or "" in known.values() or len(set(known.values())) < len(self.node_names):
            return
        del self.node_data[LABEL]
        for names in (self.node_names, *self.ends):
            for i, name in enumerate(names):
                names[i] = known.get(name, name)
                self.count(len(names[i]))

    def _add(self, line: int, kind: str, item: dict[str, str]) -> None:
        ends = ("id",) if kind == "node" else ("source", "target")
        for end in ends:
            if end not in item:
                raise self._refuse(line, f"a {kind} without {end!r}; write the file again")
        (self.add_node if kind == "node" else self.add_edge)(*(_plain(item.pop(end)) for end in ends))
        for name, value in item.items():
            key, is_text = f"{kind} {name}", value.startswith('"')
            if key not in self.keys or (is_text and self.keys[key][1] != "string"):
                name = LABEL if key == LABEL else name  # no class, as a column "label" would be
                self.add_key(key, name, "string" if is_text else "double")
            self.put(key, _plain(value))

    def _tokens(self, stream: IO[bytes]) -> Iterator[tuple[int, str]]:
        """Yield keys, values and brackets, and on which line each stands; a string may go on over several."""
        number, size, pieces, is_open = 0, 0, [], False
        while raw := read_line(self.name, stream):
            number += 1
            if not is_open and raw.lstrip().startswith(b"#"):
                continue
            is_open ^= bool(raw.count(b'"') % 2)
            size += len(raw)
            pieces.append(raw)
            if is_open and size <= limits().line:
                continue
            if is_open:
                break
            for found in TOKEN.finditer(b"".join(pieces).decode("utf-8", "replace")):
                yield number, found[0]
            size, pieces = 0, []
        if is_open:
            raise self._refuse(number, "a quote opens here or before and never closes; close it")

    def _refuse(self, line: int, reason: str) -> ValueError:
        return ValueError(f"{self.name}, line {line}: {reason}")


def _plain(value: str) -> str:
    return html.unescape(value[1:-1]) if value.startswith('"') else value
