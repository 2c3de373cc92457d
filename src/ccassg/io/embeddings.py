"""Read and write embedding files: one row per node under the user's ids, in the user's order, whole or not at all."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ccassg.graph import Array
from ccassg.io import columns, tables
from ccassg.io.arrays import read_npy, read_vector
from ccassg.io.embedding_writers import BLOCK_BYTES, OBSM_KEY, WRITERS, ids_path, sha256
from ccassg.io.encode import encode_columns
from ccassg.io.files import PathLike, check_file, one_sentence, require_kind, suffix_of
from ccassg.io.ids import flat, settle, to_numpy, unique_ids
from ccassg.io.limits import LIMITS, Limits
from ccassg.io.open_table import open_table
from ccassg.io.text import parse_blanks

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".npy": "npy",
    ".vec": "word2vec",
    ".w2v": "word2vec",
    ".txt": "word2vec",
    ".h5ad": "h5ad",
}


def write_embeddings(
    path: PathLike, z: Any, ids: Any = None, *, format: str | None = None, block_bytes: int = BLOCK_BYTES
) -> None:
    """Write embeddings to a file, in place of an earlier one only when complete.

    Parameters
    ----------
    path : path-like
        The suffix names the format: ``.parquet`` and ``.csv`` (columns ``id``, ``e0``, ``e1``, ...), ``.npy`` (with the ids
        beside it in ``NAME.ids.json``), ``.vec``, ``.w2v`` or ``.txt`` (word2vec text), ``.h5ad`` (AnnData, needs the extra
        ``anndata``; embeddings in ``obsm["X_ccassg"]``).
    z : float array of shape (n, d)
        Stored in 32 bits, and so exactly that text files read back to the same bits. A memory-mapped one (float32) is
        written some rows at a time and never wholly in memory.
    ids : sequence of n different integers or strings
        Default 0 .. n - 1. CSV and word2vec files do not tell the string "7" from the integer 7; the others do.
    format : {"parquet", "csv", "npy", "word2vec", "h5ad"}
        To choose a format whatever the suffix.
    block_bytes : int
        How much of z is written at a time.

    Raises
    ------
    ValueError
        If z and ids do not fit together or the format cannot hold an id.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import ccassg
    >>> ccassg.write_embeddings("embedding.csv", [[0.5, 1.0], [2.0, 0.25]], ids=["ann", "bob"])
    >>> print(open("embedding.csv").read().strip())
    "id","e0","e1"
    "ann",0.5,1
    "bob",2,0.25
    """
    kind = format_of(path, format)
    matrix = z.detach().cpu().numpy() if hasattr(z, "detach") else z
    if not (isinstance(matrix, np.memmap) and matrix.dtype == np.float32):  # what lies in a file stays there
        matrix = np.ascontiguousarray(matrix, dtype=np.float32)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(f"z must have the shape (nodes, dimensions), none of them 0; got {matrix.shape}")
    names = _check_ids(np.arange(len(matrix)) if ids is None else ids, len(matrix))
    WRITERS[kind](Path(path), matrix, names, block_bytes)


def read_embeddings(path: PathLike, *, format: str | None = None, limits: Limits = LIMITS) -> tuple[Array, Array]:
    """Read embeddings from a file.

    Parameters
    ----------
    path : path-like
        As `write_embeddings` makes them; also any CSV or Parquet table of numbers with a column of ids, any ``.npy``
        matrix (ids 0 .. n - 1 if there is no ``NAME.ids.json``) and any ``.h5ad`` (``obsm["X_ccassg"]``, else ``X``).
    format : {"parquet", "csv", "npy", "word2vec", "h5ad"}
        To choose a format whatever the suffix.
    limits : Limits
        How much a file may claim and grow to.

    Returns
    -------
    z : float32 array of shape (n, d)
    ids : int64 array, or object array of str, of shape (n,)

    Raises
    ------
    ValueError
        One sentence with the file, the place and the way out.

    Examples
    --------
    >>> import ccassg
    >>> ccassg.write_embeddings("embedding.parquet", [[0.5, 1.0], [2.0, 0.25]], ids=["ann", "bob"])
    >>> z, ids = ccassg.read_embeddings("embedding.parquet")
    >>> z.shape, ids.tolist()
    ((2, 2), ['ann', 'bob'])
    """
    kind = format_of(path, format)
    file = check_file(path)
    with one_sentence(file):
        z, ids = _READERS[kind](file, limits)
        if not np.isfinite(z).all():
            row = int(np.flatnonzero(~np.isfinite(z).all(axis=1))[0])
            raise ValueError(f"{file}: the embedding of {tables.shown(ids[row])} is not finite; train again")
        return z, ids


def _read_table(path: Path, limits: Limits) -> tuple[Array, Array]:
    table = open_table(path, known_names=columns.NODE_NAMES, limits=limits)
    name = columns.id_column(table) or table.names[0]
    if len(table.names) < 2:
        raise ValueError(f"{path} has a column of ids ({name!r}) but no numbers")
    return _rows_of(table, table.read(table.names, as_text=[name]), name)


def _rows_of(table: tables.Table, data: pa.Table, id_column: str) -> tuple[Array, Array]:
    """Return the numbers of all columns but one, and the ids in that one."""
    ids = settle([unique_ids(table, id_column, data[id_column])], [table.is_text])[0]
    names = [name for name in table.names if name != id_column]
    for name in names:
        if tables.is_string(data[name].type):  # categories are features, not embeddings
            raise columns.not_a_number(table, name, data[name], "an embedding")
    z, _, _ = encode_columns(table, data, names)
    return (z if isinstance(z, np.ndarray) else z.toarray()), to_numpy(flat(ids))


def _read_npy(path: Path, limits: Limits) -> tuple[Array, Array]:
    z = read_npy(path)
    if z.ndim != 2 or z.dtype.kind not in "iuf":
        raise ValueError(f"{path}: expected a matrix of numbers, got shape {z.shape} of {z.dtype}")
    beside = ids_path(path)
    if not beside.exists():
        return z.astype(np.float32), np.arange(len(z))
    ids = read_vector(beside)
    content = json.loads(beside.read_text(encoding="utf-8"))
    promised = content.get("embeddings_sha256") if isinstance(content, dict) else None
    if promised is not None and promised != sha256(path):
        raise ValueError(f"{path} and {beside.name} are not of one writing; write the embeddings again")
    if ids is None or len(ids) != len(z):
        raise ValueError(f"{path} has {len(z):,} rows, but {beside.name} {len(ids or ()):,} ids; write them again")
    return z.astype(np.float32), to_numpy(ids)


def _read_word2vec(path: Path, limits: Limits) -> tuple[Array, Array]:
    require_kind(path, "text")
    with open(path, "rb") as file:
        head = file.readline(100).split()
        if len(head) != 2 or not all(word.isdigit() for word in head):
            raise ValueError(f"{path}, line 1: expected the number of rows and of dimensions, as word2vec writes them")
        n, d = int(head[0]), int(head[1])
        content = file.read()
    if n < 1 or d < 1 or n * (d + 1) * 2 > len(content) + 2:
        raise ValueError(f"{path}, line 1: promises {n:,} x {d:,} numbers, more than the file can hold")
    # Some writers end a line with a blank, which would count as one more column.
    content = content.replace(b" \n", b"\n")
    table = parse_blanks(content, {"id": pa.string(), **{f"e{i}": pa.float32() for i in range(d)}})
    if table.num_rows != n:
        raise ValueError(f"{path} promises {n:,} rows, but has {table.num_rows:,}; write it again")
    return _rows_of(tables.FrameTable(table, str(path), is_text=True), table, "id")


def _read_h5ad(path: Path, limits: Limits) -> tuple[Array, Array]:
    import h5py

    require_kind(path, "HDF5 (.h5ad, .h5)")
    with h5py.File(path, "r") as file:
        z = _dataset(path, limits, file, f"obsm/{OBSM_KEY}" if f"obsm/{OBSM_KEY}" in file else "X")
        index = file["obs"].attrs.get("_index", "_index") if "obs" in file else "_index"
        names = _dataset(path, limits, file, f"obs/{index}")
        kind = file["uns/ccassg_ids"][()] if "uns/ccassg_ids" in file else b"str"
    if z.ndim != 2 or z.dtype.kind not in "iuf" or names.shape != (len(z),):
        raise ValueError(f"{path} holds no matrix with one name per row (obsm[{OBSM_KEY!r}] and obs)")
    ids = pa.array([name.decode() if isinstance(name, bytes) else str(name) for name in names], pa.large_string())
    return z.astype(np.float32), to_numpy(ids.cast(pa.int64()) if kind in (b"int", "int") else ids)


def _dataset(path: Path, limits: Limits, file: Any, name: str) -> Array:
    """Read a dataset stored in this very file, of a size the file can have."""
    import h5py

    parts = name.split("/")
    for depth in range(len(parts)):
        link = file.get("/".join(parts[: depth + 1]), getlink=True)
        if not isinstance(link, h5py.HardLink):
            raise ValueError(f"{path}: {name} is not in the file itself; write the file again without links")
    data = file[name]
    if not isinstance(data, h5py.Dataset) or data.is_virtual or data.external:
        raise ValueError(f"{path}: {name} is not a plain dataset; is it an .h5ad of embeddings?")
    if data.size * data.dtype.itemsize > limits.budget(path):
        raise ValueError(f"{path}: {name} claims the shape {data.shape}, out of proportion to the file's size")
    return np.asarray(data[()])


def id_array(ids: Any) -> pa.Array:
    """Return ids as one plain array: integers, or strings; what is neither (a tuple, an enumeration) is written as it prints."""
    if isinstance(ids, np.ndarray) and ids.dtype.kind in "iu":
        return pa.array(ids).cast(pa.int64())
    if isinstance(ids, np.ndarray) and ids.dtype.kind == "U":
        return pa.array(ids, pa.large_string())
    values = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    strings = any(isinstance(value, str) for value in values)
    if strings or not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return pa.array([str(value) for value in values], pa.large_string())
    return pa.array(values, pa.int64())


def _check_ids(ids: Any, n: int) -> pa.Array:
    array = id_array(ids)
    if len(array) != n:
        raise ValueError(f"there are {len(array):,} ids for {n:,} rows of z; give one each")
    if pc.count_distinct(array).as_py() < n:
        raise ValueError("ids must all be different, as text too; rename the repeated ones")
    return array


def format_of(path: PathLike, format: str | None = None) -> str:
    """Return the format of an embedding file, by name or by its suffix; ValueError if there is none."""
    kind = FORMATS.get(suffix_of(path)) if format is None else format
    if kind not in WRITERS:
        given = f"the suffix of {path}" if format is None else f"the format {format!r}"
        raise ValueError(f"{given} names no format for embeddings; use one of {', '.join(FORMATS)}")
    return kind


_READERS = {
    "parquet": _read_table,
    "csv": _read_table,
    "npy": _read_npy,
    "word2vec": _read_word2vec,
    "h5ad": _read_h5ad,
}
