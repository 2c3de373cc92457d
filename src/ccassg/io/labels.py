"""Read labels, a column of the node table or a file of their own, and number the classes; -1 where there is none."""

from typing import Any

import numpy as np
import pyarrow as pa

from ccassg.graph import Array
from ccassg.io import columns, tables
from ccassg.io.arrays import read_vector
from ccassg.io.encode import distinct_values
from ccassg.io.features import open_nodes
from ccassg.io.ids import unique_ids
from ccassg.io.limits import LIMITS, Limits
from ccassg.io.rows import NodeRows
from ccassg.io.tables import FrameTable

MISSING_LABELS = frozenset({"", "-1", "nan", "NaN", "NA", "N/A", "null", "None"})


def read_labels(
    source: Any,
    *,
    node_ids: pa.Array | None = None,
    id_column: str | int | None = None,
    label_column: str | int | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    limits: Limits = LIMITS,
) -> NodeRows:
    """Read a file of labels: a table with ids and labels, or one label per node in order (one column, or ``.npy``)."""
    vector = read_vector(source) if tables.is_path(source) else None
    if vector is not None:
        place = FrameTable(pa.table({"label": vector}), str(source)), "label"
        return NodeRows(str(source), len(vector), None, labels=pa.chunked_array([vector]), label_place=place)
    table = open_nodes(source, header, encoding, node_ids, limits)
    names_id = columns.id_column(table, id_column)
    label = columns.label_column(table, label_column, names_id)
    rest = [name for name in table.names if name != names_id]
    if names_id is None and len(rest) > 1:
        names_id = next(name for name in rest if name != label)
        rest.remove(names_id)
    if label is None and len(rest) == 1:
        label = rest[0]
    if label is None:
        raise ValueError(
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
    """Number the classes.

    Returns
    -------
    y : int64 array of shape (n_rows,)
        -1 where there is no label (an empty cell, NaN, or the number -1).
    class_names : tuple of str
        In increasing order, of numbers or of text.
    """
    assert nodes.labels is not None
    assert nodes.label_place is not None
    table, name = nodes.label_place
    column = tables.plain(nodes.labels)
    kind = column.type
    if pa.types.is_floating(kind):
        values = np.asarray(column.cast(pa.float64()).fill_null(np.nan))
        table.refuse_where(
            name,
            np.isinf(values) | (values != np.rint(values)) & ~np.isnan(values),
            lambda row: f"{values[row]} cannot be a class; labels are integers or names",
        )
        column = pa.chunked_array([pa.array(np.where(np.isnan(values), -1, values).astype(np.int64))])
    elif not (pa.types.is_integer(kind) or tables.is_string(kind) or pa.types.is_boolean(kind)):
        raise ValueError(f"{table}, column {name!r}: {kind} cannot be a class; labels are integers or names")
    classes, codes = distinct_values(column, MISSING_LABELS, _sorted_classes)
    if not classes:
        raise ValueError(f"{table}, column {name!r}: no row has a label; check `label_column`")
    return codes, tuple(classes)


def _sorted_classes(values: set[str]) -> list[str]:
    """Return classes in increasing order, of numbers if all are."""
    if all(value.lstrip("-").isdecimal() for value in values):
        return sorted(values, key=lambda value: (int(value), value))
    return sorted(values)
