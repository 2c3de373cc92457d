"""Embedding files: one row per node under the user's ids, in the user's order, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from ccassg.graph import Array
from ccassg.io import tables
from ccassg.io.arrays import read_npy, read_vector
from ccassg.io.atomic import atomic_path, atomic_write
from ccassg.io.encode import encode_columns
from ccassg.io.features import named_id_column, unique_ids
from ccassg.io.files import PathLike, check_file, growth_limit, one_sentence, require_kind, suffix_of
from ccassg.io.ids import flat, settle, to_numpy

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
OBSM_KEY = "X_ccassg"


def write_embeddings(path: PathLike, z: Any, ids: Any = None, *, format: str | None = None) -> None:
    """Write embeddings to a file, in place of an earlier one only when complete.

    Parameters
    ----------
    path : path-like
        The suffix names the format: ``.parquet`` and ``.csv`` (columns ``id``, ``e0``, ``e1``, ...), ``.npy`` (with the ids
        beside it in ``NAME.ids.json``), ``.vec``, ``.w2v`` or ``.txt`` (word2vec text), ``.h5ad`` (AnnData, needs the extra
        ``anndata``; embeddings in ``obsm["X_ccassg"]``).
    z : float array of shape (n, d)
        Stored in 32 bits, and so exactly that text files read back to the same bits.
    ids : sequence of n different integers or strings
        Default 0 .. n - 1. CSV and word2vec files do not tell the string "7" from the integer 7; the others do.
    format : {"parquet", "csv", "npy", "word2vec", "h5ad"}
        To choose a format whatever the suffix.

    Raises
    ------
    ValueError
        If z and ids do not fit together or the format cannot hold an id.
    OSError
        If the file cannot be written.
    """
    kind = _format_of(path, format)
    matrix = np.ascontiguousarray(z.detach().cpu().numpy() if hasattr(z, "detach") else z, dtype=np.float32)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(f"z must have the shape (nodes, dimensions), none of them 0; got {matrix.shape}")
    names = _check_ids(np.arange(len(matrix)) if ids is None else ids, len(matrix))
    _WRITERS[kind](Path(path), matrix, names)


def read_embeddings(path: PathLike, *, format: str | None = None) -> tuple[Array, Array]:
    """Read embeddings from a file.

    Parameters
    ----------
    path : path-like
        As `write_embeddings` makes them; also any CSV or Parquet table of numbers with a column of ids, any ``.npy``
        matrix (ids 0 .. n - 1 if there is no ``NAME.ids.json``) and any ``.h5ad`` (``obsm["X_ccassg"]``, else ``X``).
    format : {"parquet", "csv", "npy", "word2vec", "h5ad"}
        To choose a format whatever the suffix.

    Returns
    -------
    z : float32 array of shape (n, d)
    ids : int64 array, or object array of str, of shape (n,)

    Raises
    ------
    ValueError
        One sentence with the file, the place and the way out.
    """
    kind = _format_of(path, format)
    file = check_file(path)
    with one_sentence(file):
        z, ids = _READERS[kind](file)
        if not np.isfinite(z).all():
            row = int(np.flatnonzero(~np.isfinite(z).all(axis=1))[0])
            raise ValueError(f"{file}: the embedding of {tables.shown(ids[row])} is not finite; train again")
        return z, ids


def _write_parquet(path: Path, z: Array, ids: pa.Array) -> None:
    with atomic_path(path) as temporary:
        # Embeddings are noise to a dictionary and to a compressor: plain pages are smaller and faster.
        pq.write_table(_as_table(z, ids), temporary, use_dictionary=False, compression="none")


def _write_csv(path: Path, z: Array, ids: pa.Array) -> None:
    with atomic_path(path) as temporary:
        pacsv.write_csv(_as_table(z, ids), temporary)


def _write_word2vec(path: Path, z: Array, ids: pa.Array) -> None:
    for name in ids.to_pylist():
        if isinstance(name, str) and (not name or name.split() != [name]):
            raise ValueError(
                f"the id {name!r} holds a blank, which word2vec text cannot; write .parquet or .csv instead"
            )
    options = pacsv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
    with atomic_write(path) as file:
        file.write(f"{len(z)} {z.shape[1]}\n".encode())
        buffer = pa.BufferOutputStream()
        try:
            pacsv.write_csv(_as_table(z, ids), buffer, options)
        except pa.ArrowInvalid:
            raise ValueError(
                "an id holds a quote or control character, which word2vec text cannot; write .parquet"
            ) from None
        file.write(buffer.getvalue())


def _write_npy(path: Path, z: Array, ids: pa.Array) -> None:
    with atomic_path(path) as temporary:
        with open(temporary, "wb") as file:
            np.save(file, z, allow_pickle=False)
        # The ids carry the hash of their matrix: a crash between the two renames is noticed when reading.
        content = {"embeddings_sha256": _sha256(temporary), "ids": ids.to_pylist()}
        with atomic_write(_ids_path(path), "w") as file:
            json.dump(content, file, ensure_ascii=False, indent=0)


def _write_h5ad(path: Path, z: Array, ids: pa.Array) -> None:
    try:
        import anndata
        import pandas as pd
    except ImportError:
        raise ImportError(f"{path}: .h5ad needs AnnData; install it with: pip install 'ccassg[anndata]'") from None

    names = pd.Index(ids.cast(pa.large_string()).to_pylist(), dtype=object)
    data = anndata.AnnData(obs=pd.DataFrame(index=names), obsm={OBSM_KEY: z})
    data.uns["ccassg_ids"] = "int" if pa.types.is_integer(ids.type) else "str"
    with atomic_path(path) as temporary:
        data.write_h5ad(temporary)


def _read_table(path: Path) -> tuple[Array, Array]:
    table = tables.open_table(path, known_names=tables.NODE_NAMES)
    guess = named_id_column(table, None)
    name = table.names[0] if guess is None else guess
    columns = [column for column in table.names if column != name]
    if not columns:
        raise ValueError(f"{path} has a column of ids ({name!r}) but no numbers")
    data = table.read(table.names, as_text=[name])
    ids = settle([unique_ids(table, name, data[name])], [table.is_text])[0]
    z, _ = encode_columns(table, data, columns)
    return (z if isinstance(z, np.ndarray) else z.toarray()), to_numpy(flat(ids))


def _read_npy(path: Path) -> tuple[Array, Array]:
    z = read_npy(path)
    if z.ndim != 2 or z.dtype.kind not in "iuf":
        raise ValueError(f"{path}: expected a matrix of numbers, got shape {z.shape} of {z.dtype}")
    beside = _ids_path(path)
    if not beside.exists():
        return z.astype(np.float32), np.arange(len(z))
    ids = read_vector(beside)
    content = json.loads(beside.read_text(encoding="utf-8"))
    promised = content.get("embeddings_sha256") if isinstance(content, dict) else None
    if promised is not None and promised != _sha256(path):
        raise ValueError(f"{path} and {beside.name} are not of one writing; write the embeddings again")
    if ids is None or len(ids) != len(z):
        raise ValueError(f"{path} has {len(z):,} rows, but {beside.name} {len(ids or ()):,} ids; write them again")
    return z.astype(np.float32), to_numpy(ids)


def _read_word2vec(path: Path) -> tuple[Array, Array]:
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
    names = ["id", *(f"e{i}" for i in range(d))]
    table = pacsv.read_csv(
        pa.BufferReader(content),
        pacsv.ReadOptions(column_names=names, block_size=max(1 << 24, 64 * d)),
        pacsv.ParseOptions(delimiter=" ", quote_char=False),
        pacsv.ConvertOptions(column_types={"id": pa.string(), **dict.fromkeys(names[1:], pa.float32())}),
    )
    if table.num_rows != n:
        raise ValueError(f"{path} promises {n:,} rows, but has {table.num_rows:,}; write it again")
    frame = tables.FrameTable(table, str(path))
    ids = settle([unique_ids(frame, "id", table["id"])], [True])[0]
    z, _ = encode_columns(frame, table, names[1:])
    return (z if isinstance(z, np.ndarray) else z.toarray()), to_numpy(flat(ids))


def _read_h5ad(path: Path) -> tuple[Array, Array]:
    import h5py

    require_kind(path, "HDF5 (.h5ad, .h5)")
    with h5py.File(path, "r") as file:
        z = _dataset(path, file, f"obsm/{OBSM_KEY}" if f"obsm/{OBSM_KEY}" in file else "X")
        index = file["obs"].attrs.get("_index", "_index") if "obs" in file else "_index"
        names = _dataset(path, file, f"obs/{index}")
        kind = file["uns/ccassg_ids"][()] if "uns/ccassg_ids" in file else b"str"
    if z.ndim != 2 or z.dtype.kind not in "iuf" or names.shape != (len(z),):
        raise ValueError(f"{path} holds no matrix with one name per row (obsm[{OBSM_KEY!r}] and obs)")
    ids = pa.array([name.decode() if isinstance(name, bytes) else str(name) for name in names], pa.large_string())
    return z.astype(np.float32), to_numpy(ids.cast(pa.int64()) if kind in (b"int", "int") else ids)


def _dataset(path: Path, file: Any, name: str) -> Array:
    """A dataset stored in this very file, of a size the file can have."""
    import h5py

    parts = name.split("/")
    for depth in range(len(parts)):
        link = file.get("/".join(parts[: depth + 1]), getlink=True)
        if not isinstance(link, h5py.HardLink):
            raise ValueError(f"{path}: {name} is not in the file itself; write the file again without links")
    data = file[name]
    if not isinstance(data, h5py.Dataset) or data.is_virtual or data.external:
        raise ValueError(f"{path}: {name} is not a plain dataset; is it an .h5ad of embeddings?")
    if data.size * data.dtype.itemsize > growth_limit(path):
        raise ValueError(f"{path}: {name} claims the shape {data.shape}, out of proportion to the file's size")
    return np.asarray(data[()])


def _as_table(z: Array, ids: pa.Array) -> pa.Table:
    columns = np.ascontiguousarray(z.T)
    return pa.table({"id": ids, **{f"e{i}": pa.array(column) for i, column in enumerate(columns)}})


def _check_ids(ids: Any, n: int) -> pa.Array:
    values = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    if len(values) != n:
        raise ValueError(f"there are {len(values):,} ids for {n:,} rows of z; give one each")
    strings = any(isinstance(value, str) for value in values)
    # What is neither (a tuple, an enumeration from NetworkX) is written as it prints.
    if strings or not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        array = pa.array([str(value) for value in values], pa.large_string())
    else:
        array = pa.array(values, pa.int64())
    if len(array.unique()) < n:
        raise ValueError("ids must all be different, as text too; rename the repeated ones")
    return array


def _ids_path(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(".npy") + ".ids.json")


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _format_of(path: PathLike, format: str | None) -> str:
    kind = FORMATS.get(suffix_of(path)) if format is None else format
    if kind not in _WRITERS:
        given = f"the suffix of {path}" if format is None else f"the format {format!r}"
        raise ValueError(f"{given} names no format for embeddings; use one of {', '.join(FORMATS)}")
    return kind


_WRITERS = {
    "parquet": _write_parquet,
    "csv": _write_csv,
    "npy": _write_npy,
    "word2vec": _write_word2vec,
    "h5ad": _write_h5ad,
}
_READERS = {
    "parquet": _read_table,
    "csv": _read_table,
    "npy": _read_npy,
    "word2vec": _read_word2vec,
    "h5ad": _read_h5ad,
}
