"""Write a graph store: in pieces, hashed on the way, whole or not at all. `ccassg.io.store` says what is in one."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ccassg.graph import Array, Dataset, Features, Graph
from ccassg.graph.checks import check_kind
from ccassg.io.atomic import said_of, sync, write_bytes_atomic
from ccassg.io.hashes import BlockHashes, header
from ccassg.io.ids import id_array
from ccassg.io.manifest import FORMAT, MANIFEST, VERSION, aside, is_store, manifest_hash, recover
from ccassg.io.store import CHUNK_BYTES, require_own


def write_store(
    path: str | os.PathLike[str], data: Dataset | Graph, *, parts: Array | None = None, overwrite: bool = False
) -> None:
    """Write a graph with all that is known of it as a store, in chunks: it may itself lie in one.

    Parameters
    ----------
    path : path-like
        The folder to make.
    data : Dataset or Graph
        Of a dataset, labels, class names, feature names, scaling and idf are kept with the graph.
    parts : int array of shape (n,), optional
        The part of every node. Nodes are then stored part by part, each part in the old order, so that a part is a range of
        rows; their ids (or old numbers) go with them.
    overwrite : bool
        Replace a store that is already there. Anything else that is there is never touched.

    Examples
    --------
    >>> import ccassg
    >>> data = ccassg.load_dataset("cora")
    >>> ccassg.write_store("cora-store", data)
    >>> ccassg.open_store("cora-store").graph
    Graph(nodes: 2,708, edges: 5,278 (undirected), sparse features: 1,433)
    """
    if isinstance(data, Graph):
        data = Dataset(data)
    check_kind("data", data, Dataset, "give a Dataset, or a Graph of ccassg.as_graph")
    graph = data.graph
    with StoreWriter(path, overwrite=overwrite) as writer:
        n = graph.n_nodes
        order, bounds = None, [0, n]
        if parts is not None:
            order = np.argsort(parts, kind="stable")
            bounds = [0, *np.cumsum(np.bincount(parts)).tolist()]
        writer.add_adjacency(graph, order)
        if graph.features is not None:
            writer.add_features(graph.features, order)
        if graph.ids is not None or order is not None:
            writer.add_ids(np.arange(n) if graph.ids is None else graph.ids, order)
        if data.y is not None:
            writer.add("labels", data.y.astype(np.int64, copy=False), order)
        writer.finish(
            n,
            graph.n_edges,
            graph.n_features,
            directed=graph.directed,
            notes=graph.notes,
            bounds=bounds,
            class_names=data.class_names,
            feature_names=data.feature_names,
            scaling=None if data.scaling is None else data.scaling._asdict(),
            idf=None if data.idf is None else list(data.idf),
        )


class StoreWriter:
    """Write a store array by array; what is larger than memory goes in as pieces.

    A context manager: the folder appears under its name when the block ends after `finish`, and not at all otherwise.
    """

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        self.path, self._overwrite = Path(path), overwrite
        require_free(self.path, overwrite=overwrite)
        if not self.path.absolute().parent.is_dir():
            raise ValueError(f"the folder {self.path.absolute().parent} does not exist; make it first")
        self._folder = self.path.with_name(f".ccassg-{secrets.token_hex(8)}.tmp")
        self._entries: dict[str, dict[str, Any]] = {}
        self._finished = False

    def __enter__(self) -> StoreWriter:
        with said_of(self.path):
            self._folder.mkdir()
        return self

    def __exit__(self, *error: object) -> None:
        try:
            if self._finished and error[0] is None:
                with said_of(self.path):
                    self._take_place()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _take_place(self) -> None:
        """Set an earlier store aside, come in its place, and remove it: at any moment one of the two is whole."""
        old = aside(self.path)
        _remove(old)  # that of a program that was killed after its own store was in place
        try:
            if self._overwrite and self.path.exists():
                require_free(self.path, overwrite=True)
                os.rename(self.path, old)
            os.rename(self._folder, self.path)
        finally:
            recover(self.path)
        sync(old.parent)
        _remove(old)

    def add(self, name: str, array: Array, order: Array | None = None) -> None:
        """Write one array, its rows in the given order."""
        array = np.asarray(array)
        step = max(1, CHUNK_BYTES // max(1, array.itemsize * int(np.prod(array.shape[1:]))))
        chunks = (slice(start, start + step) for start in range(0, len(array), step))
        pieces = (array[rows if order is None else order[rows]] for rows in chunks)
        self.add_pieces(name, array.dtype, array.shape, pieces)

    def add_pieces(self, name: str, dtype: Any, shape: tuple[int, ...], pieces: Iterator[Array]) -> None:
        """Write one array given as pieces along its first axis."""
        dtype = np.dtype(dtype).newbyteorder("<")
        hashes, begin = BlockHashes(), header(dtype, shape)
        path = self._folder / f"{name}.npy"
        with said_of(self.path), open(path, "wb") as file:
            file.write(begin)
            hashes.update(begin)
            rows = 0
            for piece in pieces:
                block = np.ascontiguousarray(piece, dtype=dtype)
                # Not `ndarray.tofile`, whose errors do not say that the disk is full.
                content = block.data if block.size and block.dtype.kind != "U" else block.tobytes()
                file.write(content)
                hashes.update(content)
                rows += len(block)
            file.flush()
            os.fsync(file.fileno())
        if rows != shape[0]:
            raise ValueError(f"{name} was announced with {shape[0]} rows, but {rows} came")
        size = path.stat().st_size
        self._entries[name] = {
            "dtype": dtype.str, "shape": list(shape), "bytes": size, "sha256": hashes.finish(),
        }  # fmt: skip

    def add_adjacency(self, graph: Graph, order: Array | None = None) -> None:
        """Write the edges of a graph, its nodes in the given order."""
        self.add("indptr", _pointers(graph.indptr, order))

        def pieces(values: Array) -> Iterator[Array]:
            for indptr, entries in _row_chunks(graph.indptr, order):
                if order is None:
                    yield values[entries]
                    continue
                columns = place[graph.indices[entries]]
                owners = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
                by_column = np.lexsort((columns, owners))
                yield (columns if values is graph.indices else values[entries])[by_column]

        if order is not None:
            place = np.empty(graph.n_nodes, graph.indices.dtype)
            place[order] = np.arange(graph.n_nodes)
        self.add_pieces("indices", graph.indices.dtype, (graph.n_edges,), pieces(graph.indices))
        if graph.weights is not None:
            self.add_pieces("weights", np.float32, (graph.n_edges,), pieces(graph.weights))

    def add_features(self, features: Features, order: Array | None = None) -> None:
        """Write dense or sparse features, their rows in the given order."""
        if isinstance(features, np.ndarray):
            self.add("features", features, order)
            return
        # SciPy wants both index arrays of one type, and would copy the larger one into memory otherwise.
        index = np.int32 if max(features.nnz, *features.shape) < 2**31 else np.int64
        self.add("features_indptr", _pointers(features.indptr, order).astype(index))
        for name, dtype, values in (("indices", index, features.indices), ("data", np.float32, features.data)):
            pieces = (values[entries] for _, entries in _row_chunks(features.indptr, order))
            self.add_pieces(f"features_{name}", dtype, (features.nnz,), pieces)

    def add_ids(self, ids: Any, order: Array | None = None) -> None:
        """Write the names of the nodes, integers or strings."""
        names = _plain_ids(ids)
        if pa.types.is_integer(names.type):
            self.add("ids", names.to_numpy(), order)
            return
        names = names if order is None else names.take(pa.array(order))
        indptr = np.frombuffer(names.buffers()[1], np.int64)[names.offset : names.offset + len(names) + 1]
        self.add("ids_indptr", indptr - indptr[0])
        self.add("ids_text", np.frombuffer(names.buffers()[2] or b"", np.uint8)[indptr[0] : indptr[-1]])

    def finish(self, n_nodes: int, n_edges: int, n_features: int, **known: Any) -> None:
        """Write the manifest, without which the folder is no store; ``known`` are further entries, in JSON's types."""
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "n_nodes": n_nodes,
            "n_edges": n_edges,
            "n_features": n_features,
            "directed": False,
            "notes": [],
            "bounds": [0, n_nodes],
            "class_names": None,
            "feature_names": None,
            "scaling": None,
            "idf": None,
        } | known
        manifest["arrays"] = self._entries
        manifest["sha256"] = manifest_hash(manifest)
        with said_of(self.path):
            write_bytes_atomic(self._folder / MANIFEST, (json.dumps(manifest, indent=1) + "\n").encode())
        self._finished = True


def require_free(path: Path, *, overwrite: bool) -> None:
    """Refuse a name that is taken (ValueError), unless by a store that may be overwritten and by nothing else."""
    is_a_store = is_store(path) and not path.is_symlink()
    if (path.exists() or path.is_symlink()) and not (is_a_store and overwrite):
        raise ValueError(f"{path} exists already; {'pass `overwrite=True`' if is_a_store else 'choose another name'}")
    if is_a_store:
        require_own(path)


def _remove(store: Path) -> None:
    """Remove a store that was set aside, its manifest first: what is left at a kill is no store to be put back."""
    if store.is_dir() and not store.is_symlink():
        (store / MANIFEST).unlink(missing_ok=True)
        shutil.rmtree(store)


def _row_chunks(indptr: Array, order: Array | None) -> Iterator[tuple[Array, Any]]:
    """Give rows of a CSR structure, as many at a time as fit a chunk: their own pointers, the positions of their entries."""
    rows = np.arange(len(indptr) - 1) if order is None else order
    ends = np.cumsum(np.diff(indptr)[rows])
    start = 0
    while start < len(rows):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + CHUNK_BYTES // 8, side="right")))
        some = rows[start:stop]
        if order is None:
            yield indptr[start : stop + 1] - indptr[start], slice(int(indptr[start]), int(indptr[stop]))
        else:
            pointers = _pointers(indptr, some)
            yield pointers, np.arange(pointers[-1]) + np.repeat(indptr[some] - pointers[:-1], np.diff(pointers))
        start = stop


def _pointers(indptr: Array, rows: Array | None) -> Array:
    """Return the pointers of some rows of a CSR structure, in the order given; all of them without one."""
    if rows is None:
        return indptr.astype(np.int64, copy=False)
    pointers = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(indptr[rows + 1] - indptr[rows], out=pointers[1:])
    return pointers


def _plain_ids(ids: Any) -> pa.Array:
    """Return ids as integers or strings."""
    if isinstance(ids, np.ndarray) and ids.dtype.kind not in "iuU":
        names = ids.tolist()
        if not any(all(isinstance(n, kind) and not isinstance(n, bool) for n in names) for kind in (str, int)):
            other = next((name for name in names if not isinstance(name, (str, int))), names[0])
            raise ValueError(
                f"node ids must all be strings or all be integers to be stored, got {other!r}; rename the nodes"
            )
    return id_array(ids)
