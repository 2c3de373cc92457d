"""Read labels, a column of the node table or a file of their own, and number the classes; -1 where there is none."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ccassg.graph import Array
from ccassg.io import columns, tables
from ccassg.io.arrays import read_vector
from ccassg.io.embeddings import read_embeddings
from ccassg.io.features import open_nodes
from ccassg.io.files import READING, Reading
from ccassg.io.folders import RUN, require_whole
from ccassg.io.ids import id_array, refuse_line_breaks, unique_ids
from ccassg.io.tables import FrameTable, NodeRows

# What a run's folder calls its files.
EMBEDDING, NODES = "embedding.parquet", "nodes.parquet"
INTEGER = re.compile(r"-?\d{1,100}")
MISSING_LABELS = frozenset({"", "-1", "nan", "NaN", "NA", "N/A", "null", "None"})


class Labelled(NamedTuple):
    """Embeddings (n, d), ids (n,), classes (n,) and their names, and how many ids of the labels are of no node."""

    z: Array
    ids: Array
    y: Array | None = None
    names: tuple[str, ...] | None = None
    n_unknown: int = 0


class Unclear(ValueError):
    """Of several columns any may hold the labels."""


def read_labels(
    source: Any,
    *,
    node_ids: pa.Array | None = None,
    id_column: str | int | None = None,
    label_column: str | int | None = None,
    reading: Reading = READING,
) -> NodeRows:
    """Read a file of labels: a table with ids and labels, or one label per node in order (one column, or ``.npy``)."""
    vector = read_vector(source) if tables.is_path(source) else None
    if vector is not None:
        place = FrameTable(pa.table({"label": vector}), str(source)), "label"
        return NodeRows(str(source), len(vector), None, labels=pa.chunked_array([vector]), label_place=place)
    table = open_nodes(source, reading, node_ids)
    names_id = columns.id_column(table, id_column)
    label = columns.label_column(table, label_column, names_id)
    rest = [name for name in table.names if name != names_id]
    if names_id is None and len(rest) > 1:
        names_id = next(name for name in rest if name != label)
        rest.remove(names_id)
    if label is None and len(rest) == 1:
        label = rest[0]
    if label is None:
        raise Unclear(
            f"{table}: which column holds the labels? It has {tables.listed(table.names)}; name it with `label_column`"
        )
    wanted = [name for name in (names_id, label) if name is not None]
    data = table.read(wanted, as_text=wanted)
    return NodeRows(
        str(table),
        data.num_rows,
        None if names_id is None else unique_ids(table, names_id, data[names_id]),
        table.is_text,
        labels=data[label],
        label_place=(table, label),
        notes=table.notes,
    )


def encode_labels(nodes: NodeRows) -> tuple[Array, tuple[str, ...]]:
    """Return the class of each row, -1 where it has none (an empty cell, NaN, the number -1), and the classes in increasing order."""
    assert nodes.labels is not None
    assert nodes.label_place is not None
    table, name = nodes.label_place
    column = tables.plain(nodes.labels)
    kind = column.type
    if pa.types.is_floating(kind):
        values = np.asarray(column.cast(pa.float64()).fill_null(np.nan))
        table.refuse_where(
            name, np.isinf(values), lambda row: f"{values[row]} cannot be a class; labels are integers or names"
        )
        if (np.isnan(values) | (values == np.rint(values))).all():  # fractions are named as they are written
            column = pa.chunked_array([pa.array(np.where(np.isnan(values), -1, values).astype(np.int64))])
    elif not (pa.types.is_integer(kind) or tables.is_string(kind) or pa.types.is_boolean(kind)):
        raise ValueError(f"{table}, column {name!r}: {kind} cannot be a class; labels are integers or names")
    if table.is_text:
        refuse_line_breaks(table, name, column, "no class holds a line break")
    classes, codes = columns.distinct_values(column, MISSING_LABELS, _sorted_classes)
    if classes and _all_digits(classes):
        wrong = [code for code, value in enumerate(classes) if not INTEGER.fullmatch(value)]
        table.refuse_where(
            name,
            np.isin(codes, wrong),
            lambda row: f"{tables.shown(classes[codes[row]])} cannot be a class; labels are integers or names",
        )
    if not classes:
        raise ValueError(f"{table}, column {name!r}: no row has a label; check `label_column`")
    return codes, tuple(classes)


def read_labelled(
    path: Path, labels: Path | None = None, *, id_column: str | None = None, label_column: str | None = None
) -> Labelled:
    """Read embeddings, ids, classes and class names of an embedding file or a run's folder.

    Labels come from the file ``labels``, else from the run itself, else there are none.
    """
    if not path.exists():
        raise ValueError(f"{path}: there is no such file or folder; ccassg fit and ccassg embed write embeddings")
    file = path / EMBEDDING if path.is_dir() else path
    if path.is_dir() and not file.exists():
        raise ValueError(
            f"{path} holds no {EMBEDDING}; if a model was saved there, make one with: ccassg embed {path} GRAPH -o {file}"
        )
    if (path / RUN).exists():
        require_whole(path)
    z, ids = read_embeddings(file)
    if labels is None:
        labels = path / NODES
        if not path.is_dir() or not labels.exists() or "label" not in tables.ParquetTable(labels).names:
            return Labelled(z, ids)
        id_column, label_column = "id", "label"
    table = read_labels(labels, node_ids=id_array(ids), id_column=id_column, label_column=label_column)
    y, names = encode_labels(table)
    if table.ids is None:
        if len(y) != len(z):
            raise ValueError(f"{labels} has {len(y):,} labels without ids, but {path} has {len(z):,} nodes")
        return Labelled(z, ids, y, names)
    place = {str(name): i for i, name in enumerate(table.ids.to_pylist())}
    rows = np.array([place.get(str(name), -1) for name in ids.tolist()])
    if (rows < 0).all():
        raise ValueError(f"{labels} names none of the nodes in {path}; its ids are like {next(iter(place), None)!r}")
    return Labelled(z, ids, np.where(rows >= 0, y[rows], -1), names, len(place) - int((rows >= 0).sum()))


def find_id(ids: Array, name: str) -> int:
    """Return the position of a node by its id, written as text."""
    found = int(pc.index(id_array(ids).cast(pa.large_string()), name).as_py())
    if found < 0:
        example = ", ".join(str(i)[:60] for i in ids[:3].tolist())
        raise ValueError(f"there is no node {name!r}; ids look like {example}")
    return found


def _sorted_classes(values: set[str]) -> list[str]:
    """Return classes in increasing order, of numbers if all are."""
    if all(INTEGER.fullmatch(value) for value in values):
        return sorted(values, key=lambda value: (int(value), value))
    return sorted(values)


def _all_digits(values: Iterable[str]) -> bool:
    """Return whether all are made of digits, perhaps after minus signs: integers, or meant to be."""
    return all(value.lstrip("-").isdecimal() for value in values)
