"""From whatever holds a graph to a `Dataset`: edges, features and labels brought together under one set of ids."""

import dataclasses
import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ccassg.datasets import DATASETS, load_dataset
from ccassg.graph import Array, Dataset, Features, FeatureSpace, Graph, as_graph
from ccassg.graph.checks import choose_from
from ccassg.graph.structural import structural_features, structural_names
from ccassg.io import tables
from ccassg.io.edges import WHOLE, of_file, of_folder, read_edges
from ccassg.io.features import read_nodes
from ccassg.io.files import require_budget, suffix_of
from ccassg.io.folders import is_output
from ccassg.io.ids import number_ids, to_numpy
from ccassg.io.labels import Unclear, encode_labels, match_labels, read_labels
from ccassg.io.manifest import is_store, read_manifest
from ccassg.io.matching import match_nodes, read_side_by_side
from ccassg.io.objects import as_rows, holds_graph
from ccassg.io.store import open_store
from ccassg.io.tables import EdgeRows, Learned, NodeRows, Reading

# What a node costs that has no features, from those made for it to its embedding, and one without edges besides, which a
# file may claim for nothing.
NODE_BYTES, LONE_BYTES = 512, 4096


def read_graph(
    edges: Any,
    features: Any = None,
    labels: Any = None,
    *,
    ids: Any = None,
    source: str | int | None = None,
    target: str | int | None = None,
    weight: str | int | None = None,
    id_column: str | int | None = None,
    feature_columns: Sequence[str | int] | None = None,
    label_column: str | int | None = None,
    directed: bool = False,
    keep: Sequence[str] | None = None,
    like: Any = None,
    scale: bool | None = None,
    n_components: int = 32,
    header: bool | None = None,
    encoding: str = "utf-8",
) -> Dataset:
    """Read a graph from files, frames or the objects of other libraries.

    Parameters
    ----------
    edges : path-like, frame, array or graph
        See `ccassg.io.edges.read_edges`. Or a folder with ``edges.*`` and, where they exist, ``nodes.*`` or ``features.*``,
        ``labels.*`` or ``target.*``, and ``ids.*``. Or a file with all of a graph (``.npz``, ``.h5ad``). Or an array of shape (2, n_edges), whose rows are the ids of both ends; or whatever else
        `as_graph` takes, with its own node attributes (NetworkX), ``x`` and ``y`` (PyG), ``X`` and ``obs`` (AnnData).
    features : path-like, frame or matrix, or a list of these
        A node table, a list of the features of each node, or a matrix; several stand side by side, their rows matched by ids; see `ccassg.io.features.read_nodes`. Nodes come in the order of its rows. Without it,
        features are made from the edges (`structural_features`) and nodes come in increasing order of their ids. Text
        in a table becomes tf-idf of its words; ids, dates and constants are left out, as a note says. Of
        NetworkX and AnnData also the name of an attribute, or of an entry of ``obsm`` or ``layers``.
    labels : path-like, frame or sequence
        Labels, if they are not a column of the node table; a sequence is in the order of the nodes.
    ids : path-like
        The ids of a matrix's rows.
    source, target, weight : str or int
        Columns of the edge table.
    id_column, feature_columns, label_column : str or int, or a sequence of these
        Columns of the node table; the first and last also of the label table. ``label_column`` is also an attribute of a PyG
        ``Data``, or a column of ``obs``.
    directed : bool
        Keep directions; by default every edge gets its reverse.
    keep : sequence of str
        Columns to learn from although they look like ids, dates, addresses or constants, which are left out otherwise.
    like : model, Dataset or sequence of str
        A fitted model, the dataset it was trained on, or their ``feature_names``: what is read becomes the same features. Text
        needs one of the first two, which know how words are weighed.
    scale : bool, optional
        Bring every numeric column to mean 0 and standard deviation 1 over the nodes, a constant one to 0. By default where
        columns are of very different size, with a note. Categories, text, sparse matrices and features made from
        the edges stay as they are. A model brings new nodes to the scale of those it was trained on.
    n_components : int
        For `structural_features`.
    header, encoding
        Of text files: whether they begin with column names (guessed by default), and their encoding.

    Returns
    -------
    Dataset
        Its graph has features and the user's ids; its notes say what was guessed, changed or left out.

    Raises
    ------
    ValueError
        One sentence with file, line or column, and the way out.

    Examples
    --------
    Files would do as well: ``ccassg.read_graph("edges.csv", "nodes.csv")``.

    >>> import pyarrow
    >>> import ccassg
    >>> edges = pyarrow.table({"source": ["ann", "bob"], "target": ["bob", "cid"]})
    >>> nodes = pyarrow.table({"id": ["cid", "bob", "ann"], "age": [0.7, 0.4, 0.5], "label": ["x", "y", "x"]})
    >>> data = ccassg.read_graph(edges, nodes)
    >>> data.graph
    Graph(nodes: 3, edges: 2 (undirected), dense features: 1)
    >>> data.ids, data.feature_names, data.labels
    (array(['cid', 'bob', 'ann'], dtype=object), ('age',), ['x', 'y', 'x'])
    """
    space = FeatureSpace.like(like)
    space = space if space is None or space.names is not None else None
    aside: list[str] = []
    is_asked = labels is not None  # else those of a folder are read if it is clear which they are
    if tables.is_path(edges) and Path(edges).is_dir():
        edges, features, labels, ids = of_folder(Path(edges), features, labels, ids, aside)
    file = edges if tables.is_path(edges) else None
    if tables.is_path(edges) and suffix_of(edges) in WHOLE:
        edges, features, labels, ids = of_file(Path(edges), features, labels, ids, label_column)
    edges, features, labels, ids = as_rows(edges, features, labels, ids, label_column=label_column)
    if header is not None and not isinstance(header, bool):
        raise ValueError(f"header must be True, False or None, got {tables.shown(header)}")
    reading = Reading(header, encoding)
    if not isinstance(edges, EdgeRows):
        found = read_edges(edges, source=source, target=target, weight=weight, reading=reading)
    elif (named := next((name for name in (source, target, weight) if name is not None), None)) is not None:
        raise ValueError(
            f"{tables.shown(named)} names a column of an edge table, and {edges.name} has none; leave it out"
        )
    else:
        found = edges
    # The ids that edges name, and the edges as positions among them, shape (2, n_edges).
    edge_ids, codes = number_ids(found.source, found.target)
    codes = codes.reshape(2, -1)
    notes = aside + found.notes
    nodes = None
    own = features if features is not None else found.nodes
    if own is not None:
        read: Any = read_side_by_side if isinstance(own, list) else read_nodes
        nodes = read(
            own,
            ids=ids,
            edge_ids=edge_ids,
            id_column="id" if own is found.nodes else id_column,
            feature_columns=feature_columns,
            label_column=label_column if labels is None else None,
            guess_labels=labels is None,
            keep=keep,
            like=space,
            scale=scale,
            reading=reading,
        )
        notes += nodes.notes
    node_ids, place = match_nodes(found, edge_ids, codes, nodes)
    if found.directed and not directed:
        notes.append(f"{found.name} is directed; every edge got its reverse (`directed=True` keeps directions)")
    graph = _build(found, codes if place is None else place[codes], len(node_ids), nodes, directed)
    graph = dataclasses.replace(graph, ids=_ids_or_none(node_ids))
    notes += graph.notes
    feature_names = None if nodes is None else nodes.feature_names
    if graph.features is None:
        if file is not None:
            n_bytes = NODE_BYTES * graph.n_nodes + LONE_BYTES * graph.n_isolated
            way_out = "leave nodes without edges out or give features"
            require_budget(file, n_bytes, "features are made from its edges", way_out)
        graph = graph.with_features(structural_features(graph, n_components=n_components))
        feature_names = structural_names(graph.n_features)
        notes.append(
            f"no features were given: made {graph.n_features} from the edges (degree, clustering, core number, PageRank and "
            f"leading eigenvectors)"
        )
    if n_isolated := graph.n_isolated:
        notes.append(f"{tables.counted(n_isolated, 'node has', 'nodes have')} no edge; features alone embed them")
    y, class_names = None, None
    if labels is not None:
        id_named = id_column if features is None else None
        try:
            table = read_labels(
                labels, node_ids=node_ids, id_column=id_named, label_column=label_column, reading=reading
            )
            notes += table.notes
            y, class_names, n_outside = match_labels(table, node_ids)
            if n_outside:
                notes.append(
                    f"{table.name}: left out the labels of {tables.counted(n_outside, 'id', 'ids')} not in the graph"
                )
        except Unclear as unclear:
            if is_asked:
                raise
            notes.append(f"read no labels: {unclear}")
    elif nodes is not None and nodes.labels is not None:
        y, class_names = encode_labels(nodes.labels)
    scaling, idf = (None, None) if nodes is None else (nodes.scaling, nodes.idf)
    return Dataset(graph, y, class_names, feature_names, scaling, tuple(dict.fromkeys(notes)), idf=idf)


def open_graph(graph: Any, *, data_dir: Path | None = None, verify: bool = True, **options: Any) -> Dataset:
    """Open a dataset by its name, a store, or whatever `read_graph` takes (``verify``: see `open_store`, the rest: `read_graph`).

    A store is read against its hashes: whatever a command does with it takes longer, and a wrong index could crash it. Without ``verify``
    so is one of a directed graph, whose edges are turned round by every process.
    """
    if isinstance(graph, str) and not graph.strip():
        raise ValueError("the name of the graph is empty; name a file, a folder or a dataset")
    if tables.is_path(graph):
        if names_dataset(graph) and options.get("features") is None:
            if options.get("scale") is True:
                raise ValueError(f"{graph} has its features as the paper has them; leave `scale` out")
            return load_dataset(str(graph), data_dir=data_dir)
        if is_store(graph) or (Path(graph) / "indptr.npy").is_file():  # the latter has lost its manifest
            return _open_store(graph, verify, options)
        require_there(graph)
    if "like" in options and options.get("scale") is None:
        options["scale"] = False  # new nodes for a model, which brings them to its own scale, even if it has no names
    return read_graph(graph, **options)


def require_there(graph: str | PathLike[str]) -> None:
    """Refuse a graph that is neither a file or folder nor a dataset: ValueError."""
    if not (names_dataset(graph) or Path(graph).exists()):
        raise ValueError(
            f"{graph} is neither a file or folder here nor a dataset's name; {choose_from(graph, DATASETS)}"
        )


def names_dataset(graph: Any) -> bool:
    """Whether it is the name of a dataset: a file or a folder of that name comes first, unless ccassg itself made it for a model."""
    return str(graph) in DATASETS and (not Path(graph).exists() or is_output(Path(graph)))


def open_object(data: Any, *, stacklevel: int = 3, **options: Any) -> Any:
    """Open what `open_graph` can, alone or in a pair with its features; return anything else, arrays and graphs, as it is.

    What the program prints as notes are warnings here, at the line of the caller's caller, or as ``stacklevel`` says; what is learned
    from is one where a category became features and there are no labels: it may be what is to be predicted.
    """
    graph, features = data if isinstance(data, tuple) and len(data) == 2 else (data, None)
    if not (holds_graph(graph) or (features is not None and tables.is_frame(graph))):
        return data
    found = open_graph(graph, **({} if features is None else {"features": features}), **options)
    doubtful = found.y is None and any("=" in name for name in found.feature_names or ())
    for note in found.notes:
        if doubtful or not isinstance(note, Learned):
            warnings.warn(note, stacklevel=stacklevel)
    return found


def _build(edges: EdgeRows, codes: Array, n_nodes: int, nodes: NodeRows | None, directed: bool) -> Graph:
    features: Features | None = None if nodes is None else nodes.features
    try:
        return as_graph(
            codes,
            features,
            edge_weights=edges.weights,
            n_nodes=n_nodes if features is None else None,
            directed=directed,
        )
    except ValueError as error:
        raise ValueError(f"{edges.name}: {error}") from None


def _ids_or_none(ids: pa.Array) -> pa.Array | Array | None:
    """Return ids for the graph, strings as they are; 0 .. n - 1 need not be stored."""
    if not pa.types.is_integer(ids.type):
        return ids
    numbers = to_numpy(ids)
    return None if np.array_equal(numbers, np.arange(len(numbers))) else numbers


def _open_store(path: str, verify: bool, options: dict[str, Any]) -> Dataset:
    """Open a store; ValueError if options ask for what it cannot give, rather than passing over them."""
    usual = {"encoding": "utf-8", "directed": False, "like": options.get("like")}
    for name, value in options.items():
        if value != usual.get(name):
            raise ValueError(
                f"{path} is a store, which holds its own edges, features, labels and ids; leave `{name}` out here and give it "
                f"to ccassg convert"
            )
    return open_store(path, verify=verify or read_manifest(Path(path))["directed"])
