"""Labels: a column of the node table or a file of their own, numbered, -1 where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ccassg.graph import Array
from ccassg.io import tables
from ccassg.io.arrays import read_vector
from ccassg.io.features import Nodes, named_id_column, open_nodes, unique_ids
from ccassg.io.tables import FrameTable, Table

MISSING_LABELS = frozenset({"", "-1", "nan", "NaN", "NA", "N/A", "null", "None"})


def read_labels(
    source: Any,
    *,
    node_ids: pa.Array | None = None,
    id_column: str | int | None = None,
    label_column: str | int | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
) -> Nodes:
    """Read a file of labels: a table with ids and labels, or one label per node in order (one column, or ``.npy``)."""
    vector = read_vector(source) if tables.is_path(source) else None
    if vector is not None:
        table: Table = FrameTable(pa.table({"label": vector}), str(source))
        return Nodes(str(source), len(vector), None, labels=pa.chunked_array([vector]), label_place=(table, "label"))
    table = open_nodes(source, header, encoding, node_ids)
    names_id = named_id_column(table, id_column)
    rest = [name for name in table.names if name != names_id]
    if label_column is not None:
        label: str | None = tables.find_column(table, label_column, "labels", "label_column")
    else:
        label = tables.guess_column(table, [n for n in tables.LABEL if n != names_id])
    if names_id is None and len(rest) > 1:
        names_id = next(name for name in rest if name != label)
        rest.remove(names_id)
    if label is None and len(rest) == 1:
        label = rest[0]
    if label is None:
        raise ValueError(
            f"{table}: which column holds the labels? It has {tables.listed(table.names)}; name it with `label_column`"
        )
    columns = [name for name in (names_id, label) if name is not None]
    data = table.read(columns, as_text=columns)
    found_ids = None if names_id is None else unique_ids(table, names_id, data[names_id])
    return Nodes(
        str(table),
        data.num_rows,
        found_ids,
        table.is_text,
        labels=data[label],
        label_place=(table, label),
        notes=table.notes,
    )


def encode_labels(nodes: Nodes) -> tuple[Array, tuple[str, ...]]:
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
    column = nodes.labels
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_floating(kind):
        values = np.asarray(column.cast(kind).cast(pa.float64()).fill_null(np.nan))
        odd = np.flatnonzero(np.isfinite(values) & (values != np.rint(values)) | np.isinf(values))
        if len(odd):
            raise ValueError(
                f"{table}, column {name!r}, {table.place(int(odd[0]))}: {values[odd[0]]} cannot be a class; labels are "
                f"integers or names"
            )
        column = pa.chunked_array([pa.array(np.where(np.isnan(values), -1, values).astype(np.int64))])
    elif not (pa.types.is_integer(kind) or tables.is_string(kind) or pa.types.is_boolean(kind)):
        raise ValueError(f"{table}, column {name!r}: {kind} cannot be a class; labels are integers or names")
    texts = (
        column.cast(kind if kind != column.type else column.type).cast(pa.large_string()).fill_null("").combine_chunks()
    )
    coded = texts.dictionary_encode()
    values_of = [value.strip() for value in coded.dictionary.to_pylist()]
    classes = _sorted_classes({value for value in values_of if value not in MISSING_LABELS})
    if not classes:
        raise ValueError(f"{table}, column {name!r}: no row has a label; check `label_column`")
    rank = {value: i for i, value in enumerate(classes)}
    lookup = np.array([rank.get(value, -1) for value in values_of], np.int64)
    return lookup[coded.indices.to_numpy()], tuple(classes)


def _sorted_classes(values: set[str]) -> list[str]:
    if all(value.lstrip("-").isdecimal() for value in values):
        return sorted(values, key=lambda value: (int(value), value))
    return sorted(values)
