"""Find the edges of a graph and what lies beside them: in a file, a frame, the files of a folder, or a file that holds all.

Collections publish the latter as the arrays of one NumPy archive, or as AnnData.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ccassg.graph import Array
from ccassg.io import columns, tables
from ccassg.io.arrays import MATRIX_SUFFIXES, Matrix, each_of, is_matrix, read_arrays, sparse_of
from ccassg.io.files import require_room, suffix_of, vetted
from ccassg.io.gml import read_gml
from ccassg.io.graphml import read_graphml
from ccassg.io.h5ad import read_h5ad_graph
from ccassg.io.ids import as_ids
from ccassg.io.matrix_market import read_matrix_market
from ccassg.io.open_table import open_table
from ccassg.io.tables import READING, EdgeRows, Learned, Reading, Table, Whole, edges_of, listed, shown

WHOLE = (".npz", ".h5ad")  # edges, features and labels in one file
EDGE_SUFFIXES = (*tables.TABLE_SUFFIXES, ".graphml", ".xml", ".gexf", ".gml", ".mtx", ".mm", *WHOLE)
NODE_SUFFIXES = (*tables.TABLE_SUFFIXES, *MATRIX_SUFFIXES)
ID_SUFFIXES = (*tables.TABLE_SUFFIXES, ".npy")
# Of sparse matrices, after one of the prefixes: none where SciPy saved the adjacency alone.
PARTS = ("data", "indices", "indptr", "shape", "format", "row", "col")
ADJACENCY = ("", "adj_", "adj_matrix_", "adj_matrix.")
ATTRIBUTES = ("attr_", "attr_matrix_", "attr_matrix.")
EDGES = ("edge_index", "edges", "edge_list")
FEATURES = ("attr_matrix", "features", "node_features", "x")
LABELS = ("labels", "node_labels", "label", "y", "target")


def read_edges(
    edges: Any,
    *,
    source: str | int | None = None,
    target: str | int | None = None,
    weight: str | int | None = None,
    reading: Reading = READING,
) -> EdgeRows:
    """Read the edges of a graph, by the suffix of a file or from a pandas, Polars or pyarrow table; options as in `read_graph`.

    Files: ``.csv``, ``.tsv``, ``.txt`` and other text (blanks between columns, ``#`` comments), ``.parquet``, ``.jsonl``,
    ``.graphml``, ``.gexf``, ``.gml``, ``.mtx``; all but Parquet also gzipped.
    """
    if tables.is_path(edges):
        suffix = suffix_of(edges)
        if suffix in (".graphml", ".xml", ".gexf"):
            return read_graphml(edges, weight)
        if suffix == ".gml":
            return read_gml(edges, weight)
        if suffix in (".mtx", ".mm"):
            return read_matrix_market(edges)
        if suffix not in tables.TABLE_SUFFIXES:
            raise ValueError(
                f"{edges}: no reader for the suffix {suffix!r}; edges are .csv, .tsv, .txt, .parquet, .jsonl, .graphml, .gexf, .gml "
                f"or .mtx, and .npz or .h5ad of a whole graph, so save the file as one of these"
            )
    table = open_table(edges, reading, known_names=columns.EDGE_NAMES, what="the edge table")
    found = _of_table(table, source, target, weight)
    if table.unsure_header and _holds(found, table.names[:2]):  # then the first line is an edge too
        table = open_table(edges, reading._replace(header=False))
        return _of_table(table, source, target, weight)
    return found


def _of_table(table: Table, source: str | int | None, target: str | int | None, weight: str | int | None) -> EdgeRows:
    """Read the edges in a table; arguments as in `read_edges`."""
    ends = columns.edge_columns(table, source, target)
    weight_column = columns.weight_column(table, weight, ends)
    wanted = [*ends] if weight_column is None else [*ends, weight_column]
    data = table.columns(wanted, as_text=ends)
    weights = None
    if weight_column is not None:
        weights = columns.numbers(data[weight_column], "a weight")
        columns.check_weights(data[weight_column], weights)
    first, second = (as_ids(data.pop(name)) for name in ends)  # each is let go once it is converted
    return EdgeRows(str(table), first, second, weights, table=table, notes=table.notes)


def _holds(edges: EdgeRows, names: Sequence[str]) -> bool:
    """Return whether one of the names is an id of the edges."""
    ids = (column for column in (edges.source, edges.target) if not pa.types.is_integer(column.type))
    return any(pc.any(pc.is_in(column, value_set=pa.array(names, column.type))).as_py() for column in ids)


def of_folder(folder: Path, features: Any, labels: Any, ids: Any, notes: list[str]) -> tuple[Path, Any, Any, Any]:
    """Find the files of a folder by their names; what the user named goes first, and a note tells what is not read."""
    edges = _only(folder, ("edges", "edge_list", "edgelist", "graph"), EDGE_SUFFIXES)
    if edges is None:
        raise ValueError(f"{folder} holds no edges.* (such as edges.csv or edges.parquet); name the edge file itself")
    features = features if features is not None else _only(folder, ("nodes", "features"), NODE_SUFFIXES)
    labels = labels if labels is not None else _only(folder, ("labels", "target", "targets"), ID_SUFFIXES)
    if ids is None and any(map(is_matrix, each_of(features))):
        ids = _only(folder, ("ids",), ID_SUFFIXES)
    read = {Path(path).absolute() for path in (edges, *each_of(features), labels, ids) if tables.is_path(path)}
    left = [path.name for path in sorted(folder.iterdir()) if path.absolute() not in read and path.name[0] != "."]
    if left:
        names = ", ".join(sorted(path.name for path in read if path.parent == folder.absolute()))
        notes.append(f"{folder}: read {names}, and not {listed(left)} (`features` and `labels` name others)")
    return edges, features, labels, ids


def of_file(path: Path, features: Any, labels: Any, ids: Any, label_column: Any) -> tuple[EdgeRows, Any, Any, Any]:
    """Read a file that holds all of a graph; features and labels that the user gave go first."""
    is_inside = tables.is_path(features) and suffix_of(features) == "" and not Path(features).exists()
    own = features is None or is_inside
    whole = (read_npz_graph if suffix_of(path) == ".npz" else read_h5ad_graph)(
        path, str(features) if is_inside else None, label_column if own and labels is None else None
    )
    if own and whole.features is not None:
        width = whole.features.values.shape[1]
        whole.edges.notes.append(Learned(f"{path}: learns from {tables.counted(width, 'feature', 'features')}"))
        features = whole.features
    is_bare = label_column is None and all(map(is_matrix, each_of(features)))  # a table may have labels of its own
    if labels is None and whole.labels is not None and (own or is_bare):
        whole.edges.notes.append(f"{path}: labels in {whole.labels.column_names[1]!r}")
        labels = whole.labels
    if ids is None and any(map(is_matrix, each_of(features))):
        ids = pa.table({"id": whole.edges.node_ids})
    return whole.edges, features, labels, ids


def _only(folder: Path, stems: Sequence[str], suffixes: Sequence[str]) -> Path | None:
    """Return the file of the first of these names, whole or after an underscore (``musae_chameleon_edges.csv``)."""
    known = {path: path.name.lower().split(".")[0] for path in folder.iterdir() if suffix_of(path) in suffixes}
    for stem in stems:
        fitting = sorted(path for path in known if known[path] == stem) or sorted(
            path for path in known if known[path].endswith(f"_{stem}")
        )
        if len(fitting) > 1:
            raise ValueError(
                f"{folder} holds several {stem}.* ({fitting[0].name}, {fitting[1].name}); name the one to read"
            )
        if fitting:
            return fitting[0]
    return None


def read_npz_graph(path: Path, features: str | None, label_column: str | None) -> Whole:
    """Read a ``.npz`` of sparse matrices in parts (``adj_data``, ...), of edges and dense features, or of one SciPy matrix.

    ``features`` and ``label_column`` name arrays; nodes are rows.
    """
    label_names = LABELS if label_column is None else (label_column,)
    feature_names = FEATURES if features is None else (features,)
    parts = {prefix + part for prefix in (*ADJACENCY, *ATTRIBUTES) for part in PARTS}
    with vetted(path) as file:
        arrays = read_arrays(file, {*parts, *EDGES, *feature_names, *label_names})
        adjacency = _sparse(file, arrays, ADJACENCY)
        x = _sparse(file, arrays, ATTRIBUTES) if features is None else None
        x = _first(arrays, feature_names) if x is None else x
        y, label = _first(arrays, label_names), next((name for name in label_names if name in arrays), "label")
        for name, array in ((features, x), (label_column, y)):
            if name is not None and array is None:
                raise ValueError(f"{file} has no array {shown(name)}; it has {listed(sorted(arrays))}, perhaps more")
        if adjacency is not None:
            n = int(adjacency.shape[0])
            if adjacency.shape[1] != n:
                raise ValueError(
                    f"{file}: an adjacency is square, this matrix is {adjacency.shape}; are these features?"
                )
            coo = adjacency.tocoo()
            ends, weights = (coo.row, coo.col), coo.data
        else:
            ends, weights = _ends(file, _first(arrays, EDGES)), None
            rows = next((array for array in (x, y) if array is not None), None)
            n = int(max(end.max(initial=-1) for end in ends)) + 1 if rows is None else rows.shape[0]
            require_room(file, n, f"claims {n:,} nodes")
        ids = pa.array(np.arange(n))
        labels = None if y is None else pa.table({"id": ids, label: pa.array(y.reshape(n))})
        return Whole(edges_of(str(file), ids, ends, weights), None if x is None else Matrix(x), labels)


def _sparse(file: Path, arrays: dict[str, Array], prefixes: tuple[str, ...]) -> Any:
    prefix = next((prefix for prefix in prefixes if {f"{prefix}data", f"{prefix}shape"} <= arrays.keys()), None)
    if prefix is None:
        return None
    return sparse_of(file, {part: arrays[prefix + part] for part in PARTS if prefix + part in arrays})


def _first(arrays: dict[str, Array], names: tuple[str, ...]) -> Array | None:
    return next((arrays[name] for name in names if name in arrays), None)


def _ends(file: Path, pairs: Array | None) -> tuple[Array, Array]:
    if pairs is None:
        raise ValueError(
            f"{file} has no edges under a known name, such as adj_data, adj_indices, ... or edge_index; save the adjacency with "
            f"scipy.sparse.save_npz"
        )
    if pairs.ndim != 2 or 2 not in pairs.shape or pairs.dtype.kind not in "iu":
        raise ValueError(
            f"{file}: edges must be whole numbers in two rows or columns, got {pairs.dtype} of shape {pairs.shape}"
        )
    first, second = pairs if pairs.shape[0] == 2 else pairs.T
    return first, second
