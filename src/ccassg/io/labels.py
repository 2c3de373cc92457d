"""Read labels, a column of the node table or a file of their own, and number the classes; -1 where there is none."""

import re
from typing import Any

import numpy as np
import pyarrow as pa

from ccassg.graph import Array
from ccassg.io import columns, tables
from ccassg.io.arrays import read_vector
from ccassg.io.features import open_nodes
from ccassg.io.ids import positions, refuse_line_breaks, unique_ids
from ccassg.io.tables import READING, Column, FrameTable, NodeRows, Reading

INTEGER = re.compile(r"-?\d{1,100}")
MISSING_LABELS = frozenset({"", "-1", "nan", "NaN", "NA", "N/A", "null", "None"})


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
        labels = FrameTable(pa.table({"label": vector}), str(source)).columns(["label"])["label"]
        return NodeRows(str(source), len(vector), None, labels=labels)
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
    data = table.columns(wanted, as_text=wanted)
    return NodeRows(
        str(table),
        len(data[label].values),
        None if names_id is None else unique_ids(data[names_id]),
        labels=data[label],
        notes=table.notes,
    )


def encode_labels(labels: Column | None) -> tuple[Array, tuple[str, ...]]:
    """Return the class of each row, -1 where it has none (an empty cell, NaN, the number -1), and the classes in increasing order."""
    assert labels is not None
    column = tables.plain(labels.values)
    kind = column.type
    if pa.types.is_floating(kind):
        values = np.asarray(column.cast(pa.float64()).fill_null(np.nan))
        labels.refuse_where(
            np.isinf(values), lambda row: f"{values[row]} cannot be a class; labels are integers or names"
        )
        if (np.isnan(values) | (values == np.rint(values))).all():  # fractions are named as they are written
            column = pa.chunked_array([pa.array(np.where(np.isnan(values), -1, values).astype(np.int64))])
    elif not (pa.types.is_integer(kind) or tables.is_string(kind) or pa.types.is_boolean(kind)):
        raise ValueError(f"{labels}: {kind} cannot be a class; labels are integers or names")
    if labels.table.is_text:
        refuse_line_breaks(labels._replace(values=column), "no class holds a line break")
    classes, codes = columns.distinct_values(column, MISSING_LABELS, _sorted_classes)
    if classes and all(value.lstrip("-").isdecimal() for value in classes):  # integers, or meant to be
        wrong = [code for code, value in enumerate(classes) if not INTEGER.fullmatch(value)]
        labels.refuse_where(
            np.isin(codes, wrong),
            lambda row: f"{tables.shown(classes[codes[row]])} cannot be a class; labels are integers or names",
        )
    if not classes:
        raise ValueError(f"{labels}: no row has a label; check `label_column`")
    return codes, tuple(classes)


def match_labels(labels: NodeRows, node_ids: pa.Array, of: str = "the graph") -> tuple[Array, tuple[str, ...], int]:
    """Return the class of each node, -1 where there is none, the names of the classes, and how many ids are of no node."""
    codes, class_names = encode_labels(labels.labels)
    n = len(node_ids)
    if labels.ids is None:
        if labels.n_rows != n:
            raise ValueError(
                f"{labels.name} has {labels.n_rows:,} labels without ids, but {of} has {n:,} nodes; give one each, or a column of ids"
            )
        return codes, class_names, 0
    place = positions(labels.ids, node_ids)
    inside = place >= 0
    if not inside.any():
        raise ValueError(
            f"{labels.name} labels no node of {of}: it names {tables.shown(labels.ids[0].as_py())}, {of} "
            f"{tables.shown(node_ids[0].as_py())}; check `id_column`"
        )
    y = np.full(n, -1, np.int64)
    y[place[inside]] = codes[inside]
    return y, class_names, int((~inside).sum())


def _sorted_classes(values: set[str]) -> list[str]:
    """Return classes in increasing order, of numbers if all are."""
    if all(INTEGER.fullmatch(value) for value in values):
        return sorted(values, key=lambda value: (int(value), value))
    return sorted(values)
