"""A graph on disk: a folder of memory-mapped arrays and a manifest, opened without reading it.

    manifest.json                                   format, shapes, types, sizes and hashes of everything else
    indptr.npy  indices.npy  weights.npy            the adjacency, as in `Graph`
    features.npy                                    dense features, or
    features_indptr.npy  features_indices.npy  features_data.npy   sparse ones
    ids.npy                                         the nodes' names, if they are integers, or
    ids_indptr.npy  ids_text.npy                    strings: where each begins and ends, and the UTF-8 of all
    labels.npy                                      the nodes' classes, where there are any

A store is written beside its final place and renamed, so that it is there whole or not at all; one that is replaced is set
aside meanwhile, and put back by whoever opens it next if the program was killed in between. Opening it checks every size
and header; reading all of it against the hashes (`ccassg.io.hashes`) takes time on large ones and is done on demand, and for some
nodes alone by `verify_rows`. Nothing in it is a pickle. `ccassg.io.storewriter` writes them.
"""

import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from ccassg.graph import Array, Dataset, Features, Graph
from ccassg.graph.checks import mapped
from ccassg.io.files import first_line, open_regular
from ccassg.io.hashes import BlockHashes, header, is_unchanged
from ccassg.io.manifest import KINDS, MANIFEST, is_store, read_manifest

# Hashing this much takes well under a second, so a store up to this size is checked at every opening.
ALWAYS_VERIFY = 256 * 2**20
CHUNK_BYTES = 2**24

_FEATURE_PARTS = ("features_indptr", "features_indices", "features_data")
# What points, and into what.
_POINTERS = {"indptr": "indices", "features_indptr": "features_indices", "ids_indptr": "ids_text"}
# What has entries, not rows, and what tells which entries are those of a node.
_ENTRIES = {
    "indices": "indptr", "weights": "indptr", "features_indices": "features_indptr", "features_data": "features_indptr",
}  # fmt: skip
_ROWS = ("features", *_ENTRIES)


def open_store(path: str | os.PathLike[str], *, verify: bool | None = None) -> Dataset:
    """Open a graph that `write_store` or ``ccassg convert`` wrote.

    Parameters
    ----------
    path : path-like
        The folder.
    verify : bool, optional
        Read every file and compare its hash. By default only up to `ALWAYS_VERIFY` bytes in all; sizes, types and shapes
        are checked always.

    Returns
    -------
    Dataset
        Its arrays lie in the files and are read when touched. Change copies of them: a change in place does not reach the
        disk, and is undone when pages are released.

    Raises
    ------
    ValueError
        If it is no store, or truncated, altered, or pointing outside itself.

    Examples
    --------
    >>> import ccassg
    >>> ccassg.write_store("cora-store", ccassg.load_dataset("cora"))
    >>> data = ccassg.open_store("cora-store")
    >>> type(data.graph.indices).__name__, data.n_classes
    ('memmap', 7)
    """
    folder = Path(path)
    manifest = read_manifest(folder)
    entries = manifest["arrays"]
    if verify is None:
        verify = sum(entry["bytes"] for entry in entries.values()) <= ALWAYS_VERIFY
    arrays = {name: _open_array(folder, name, entry, verify) for name, entry in entries.items()}
    _check_consistent(folder, manifest, arrays)
    if verify:
        _check_pointers(folder, arrays)
        _check_indices(folder, manifest, arrays, 0, manifest["n_nodes"])
    features: Features | None = arrays.get("features")
    if _FEATURE_PARTS[0] in arrays:
        shape = (manifest["n_nodes"], manifest["n_features"])
        indptr, indices, data = (arrays[part] for part in _FEATURE_PARTS)
        features = sp.csr_array((data, indices, indptr), shape=shape)
    graph = Graph(
        indptr=arrays["indptr"],
        indices=arrays["indices"],
        weights=arrays.get("weights"),
        features=features,
        ids=_strings(folder, arrays, verify) if "ids_indptr" in arrays else arrays.get("ids"),
        directed=manifest["directed"],
        notes=tuple(manifest["notes"]),
    )
    names = (manifest["class_names"], manifest["feature_names"])
    classes, columns = (None if given is None else tuple(given) for given in names)
    return Dataset(graph, arrays.get("labels"), classes, columns, manifest["scaling"], idf=manifest["idf"])


def verify_rows(folder: Path, start: int, stop: int, *, names: bool) -> None:
    """Check what a store holds of the nodes ``start .. stop`` as `open_store` checks all of it; ValueError.

    Of edges and features nothing else is read but what shares a block with it, and ids and labels, all of them, only with
    ``names``. Pointers are checked whole.
    """
    manifest = read_manifest(folder)
    whole = [name for name in KINDS if name not in _ROWS and (names or name in _ENTRIES.values())]
    arrays = {
        name: _open_array(folder, name, entry, verify=name in whole) for name, entry in manifest["arrays"].items()
    }
    _check_consistent(folder, manifest, arrays)
    _check_pointers(folder, arrays)
    for name in (name for name in _ROWS if arrays.get(name) is not None and arrays[name].size):
        array, entry = arrays[name], manifest["arrays"][name]
        first, last = _range(arrays, name, start, stop)
        n_bytes, head = array.nbytes // len(array), entry["bytes"] - array.nbytes
        if first < last:
            _require_unchanged(folder / f"{name}.npy", entry, head + first * n_bytes, head + last * n_bytes)
    _check_indices(folder, manifest, arrays, start, stop)
    if names and "ids_indptr" in arrays:
        _strings(folder, arrays, verify=True)


def hashes_of(array: Array) -> list[str]:
    """Return the hashes that an array has in a store, or would have; those of a store's are in its manifest, and nothing is read.

    In stores before version 3 they are not, and the array is read.
    """
    base = mapped(array)
    if base is not None and (folder := _store_of(base)) is not None:
        entry: dict[str, Any] = read_manifest(folder)["arrays"].get(Path(str(base.filename)).stem, {})
        is_whole = array.ctypes.data == base.ctypes.data and array.flags.c_contiguous
        is_its_file = is_whole and (array.dtype.str, list(array.shape)) == (entry.get("dtype"), entry.get("shape"))
        if is_its_file and isinstance(entry["sha256"], list):
            return list(entry["sha256"])
    hashes, dtype = BlockHashes(), array.dtype.newbyteorder("<")
    hashes.update(header(dtype, array.shape))
    content = np.ascontiguousarray(array, dtype).reshape(-1).view(np.uint8)
    for start in range(0, len(content), CHUNK_BYTES):
        hashes.update(content[start : start + CHUNK_BYTES].data)
        release(array)
    return hashes.finish()


def require_own(path: Path) -> None:
    """Refuse a folder that is not a store as we wrote it, as far as `open_store` looks, with nothing else in it; ValueError."""
    try:
        open_store(path)
        entries = sorted(os.scandir(path), key=lambda entry: entry.name)
        ours = {MANIFEST, *(f"{name}.npy" for name in KINDS)}
        other = next((e.name for e in entries if e.name not in ours or not e.is_file(follow_symlinks=False)), None)
        if other is not None:
            raise ValueError(f"{path} holds {other}, which is no part of a store")
    except ValueError as error:
        raise ValueError(f"{path} is not replaced: {error}; choose another name, or remove it first") from None


def release(array: Any) -> None:
    """Take a memory-mapped array's pages out of this process; they are read again when touched.

    A pass over a file larger than memory would otherwise count as resident until the system needs the room. Somebody else's
    private copy (mode "c") stays as it is: what was changed in it is nowhere else.
    """
    for part in (array.data, array.indices) if sp.issparse(array) else (array,):
        base: Any = mapped(part)
        if base is None or (base.mode == "c" and _store_of(base) is None):
            continue
        while base is not None and not isinstance(base, mmap.mmap):
            base = getattr(base, "base", None)
        if base is not None and hasattr(mmap, "MADV_DONTNEED"):
            base.madvise(mmap.MADV_DONTNEED)


def location(graph: Graph) -> Path | None:
    """Return the folder of the store that a graph was opened from, or None."""
    array = mapped(graph.indices)
    return None if array is None else _store_of(array)


def _store_of(array: np.memmap[Any, Any]) -> Path | None:
    folder = None if array.filename is None else Path(array.filename).parent
    return folder if folder is not None and is_store(folder) else None


def _open_array(folder: Path, name: str, entry: dict[str, Any], verify: bool) -> Array:
    """Memory-map one array after checking that it is what the manifest says."""
    file = folder / f"{name}.npy"
    if file.is_symlink() or not file.is_file():
        raise ValueError(
            f"{folder} is not whole: {file.name} is missing or not a regular file; convert the graph again"
        )
    size = file.stat().st_size
    if size != entry["bytes"]:
        raise ValueError(
            f"{file} has {size} bytes instead of {entry['bytes']}; it was cut off or altered, convert again"
        )
    if verify:
        _require_unchanged(file, entry)
    shape = tuple(entry["shape"])
    try:
        if np.prod(shape):
            # Copy on write: torch warns about arrays it may not write to, and the file stays as it is either way.
            array: Array = np.lib.format.open_memmap(file, mode="c")
        else:  # nothing to map
            with open_regular(file) as content:
                array = np.lib.format.read_array(content, allow_pickle=False)
    except Exception as error:  # a damaged header makes NumPy raise anything, from TokenError to MemoryError
        why = f"{type(error).__name__}: {first_line(error)}"
        raise ValueError(f"{file} is not an array that can be mapped ({why}); convert the graph again") from None
    if array.dtype.str != entry["dtype"] or array.shape != shape or array.dtype.kind not in KINDS[name]:
        raise ValueError(
            f"{file} holds {array.dtype.str} of shape {array.shape}, not {entry['dtype']} of shape {shape}; convert again"
        )
    return array


def _check_consistent(folder: Path, manifest: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Check that shapes fit each other, and index pointers their ends."""
    n, n_edges, n_features = manifest["n_nodes"], manifest["n_edges"], manifest["n_features"]
    expected: dict[str, tuple[int, ...]] = {
        "indptr": (n + 1,), "indices": (n_edges,), "weights": (n_edges,), "features": (n, n_features), "ids": (n,),
        "labels": (n,), "features_indptr": (n + 1,), "ids_indptr": (n + 1,),
    }  # fmt: skip
    sparse_parts = [part for part in _FEATURE_PARTS if part in arrays]
    if sparse_parts and (len(sparse_parts) < 3 or "features" in arrays):
        raise ValueError(f"{folder}: sparse features need {', '.join(_FEATURE_PARTS)} and nothing else")
    if sparse_parts:
        expected |= dict.fromkeys(_FEATURE_PARTS[1:], arrays["features_data"].shape)
    id_parts = sorted(name for name in arrays if name.startswith("ids"))
    if id_parts not in ([], ["ids"], ["ids_indptr", "ids_text"]):
        raise ValueError(f"{folder}: ids need ids_indptr and ids_text, or are numbers, got {', '.join(id_parts)}")
    if "ids_text" in arrays:
        expected["ids_text"] = (arrays["ids_text"].nbytes,)
    for name, array in arrays.items():
        if array.shape != expected[name]:
            raise ValueError(f"{folder}: {name} has shape {array.shape}, but the store needs {expected[name]}")
    for pointer, entries in _POINTERS.items():
        if pointer in arrays and (arrays[pointer][0] != 0 or arrays[pointer][-1] != len(arrays[entries])):
            raise ValueError(f"{folder}: {pointer} does not end where {entries} does; convert the graph again")


def _require_unchanged(file: Path, entry: dict[str, Any], first: int = 0, last: int | None = None) -> None:
    if not is_unchanged(file, entry["sha256"], first, last):
        raise ValueError(f"{file} was altered: its hash differs from the manifest's; convert the graph again")


def _range(arrays: dict[str, Array], name: str, start: int, stop: int) -> tuple[int, int]:
    """Return where what an array holds of some nodes begins and ends."""
    if name not in _ENTRIES:
        return start, stop
    pointer = arrays[_ENTRIES[name]]
    return int(pointer[start]), int(pointer[stop])


def _check_pointers(folder: Path, arrays: dict[str, Array]) -> None:
    """Check what the hashes cannot tell of a store that somebody made by hand: no row ends before it begins."""
    for pointer in sorted({*_ENTRIES.values()} & arrays.keys()):
        if (np.diff(arrays[pointer]) < 0).any():
            raise ValueError(f"{folder}: {pointer} decreases somewhere; this store was not written by ccassg convert")


def _check_indices(folder: Path, manifest: dict[str, Any], arrays: dict[str, Array], start: int, stop: int) -> None:
    """Check, for the nodes ``start .. stop``, that every index is one."""
    for name, limit in (("indices", manifest["n_nodes"]), ("features_indices", manifest["n_features"])):
        if name not in arrays:
            continue
        first, last = _range(arrays, name, start, stop)
        for piece in range(first, last, CHUNK_BYTES):
            values = arrays[name][piece : min(piece + CHUNK_BYTES, last)]
            if values.min() < 0 or values.max() >= limit:
                raise ValueError(f"{folder}: {name} points outside 0 .. {limit - 1}")
            release(arrays[name])


def _strings(folder: Path, arrays: dict[str, Array], verify: bool) -> pa.Array:
    """Return the ids that are strings as an Arrow array over the files, of which nothing but the pointers is read."""
    indptr = np.ascontiguousarray(arrays["ids_indptr"], np.int64)
    for start in range(0, len(indptr), CHUNK_BYTES):
        # Whether the rest is verified or not: Arrow would follow a wrong pointer out of the file.
        if (np.diff(indptr[start : start + CHUNK_BYTES + 1]) < 0).any():
            raise ValueError(f"{folder}: ids_indptr decreases somewhere; this store was not written by ccassg convert")
        release(indptr)
    ids = pa.LargeStringArray.from_buffers(len(indptr) - 1, pa.py_buffer(indptr), pa.py_buffer(arrays["ids_text"]))
    if verify:
        try:
            ids.validate(full=True)
        except pa.ArrowInvalid as error:
            raise ValueError(f"{folder}: ids_text is no text ({first_line(error)}); convert the graph again") from None
    return ids
