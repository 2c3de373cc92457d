"""Embeddings with the labels of their nodes, from a run's folder or from files of their own."""

from pathlib import Path

import numpy as np

from ccassg.graph import Array
from ccassg.io.embeddings import read_embeddings

# What a run's folder calls them.
EMBEDDING, NODES = "embedding.parquet", "nodes.parquet"


def read_labelled(
    path: Path, labels: Path | None = None, *, id_column: str | None = None, label_column: str | None = None
) -> tuple[Array, Array, Array | None, tuple[str, ...] | None]:
    """Read embeddings, ids, classes and class names of an embedding file or a run's folder.

    Labels come from the file ``labels``, else from the run itself, else there are none.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from ccassg.io.labels import encode_labels, read_labels

    if not path.exists():
        raise ValueError(f"{path}: there is no such file or folder; ccassg fit and ccassg embed write embeddings")
    z, ids = read_embeddings(path / EMBEDDING if path.is_dir() else path)
    if labels is None:
        labels = path / NODES
        if not path.is_dir() or not labels.exists() or "label" not in pq.read_schema(labels).names:
            return z, ids, None, None
        id_column, label_column = "id", "label"
    table = read_labels(labels, node_ids=pa.array(ids.tolist()), id_column=id_column, label_column=label_column)
    y, names = encode_labels(table)
    if table.ids is None:
        if len(y) != len(z):
            raise ValueError(f"{labels} has {len(y):,} labels without ids, but {path} has {len(z):,} nodes")
        return z, ids, y, names
    place = {str(name): i for i, name in enumerate(table.ids.to_pylist())}
    rows = np.array([place.get(str(name), -1) for name in ids.tolist()])
    if (rows < 0).all():
        raise ValueError(f"{labels} names none of the nodes in {path}; its ids are like {next(iter(place), None)!r}")
    return z, ids, np.where(rows >= 0, y[rows], -1), names


def find_id(ids: Array, name: str) -> int:
    """Return the position of a node by its id, written as text."""
    found = np.flatnonzero(ids.astype(str) == name)
    if len(found) == 0:
        example = ", ".join(str(i) for i in ids[:3].tolist())
        raise ValueError(f"there is no node {name!r}; ids look like {example}")
    return int(found[0])
