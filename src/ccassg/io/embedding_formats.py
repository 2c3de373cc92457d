"""Embedding files of every format, its reader beside its writer.

Writers take some rows at a time: the matrix may lie in a file larger than memory.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from ccassg.graph import Array
from ccassg.io import columns, tables
from ccassg.io.arrays import read_npy, read_vector
from ccassg.io.atomic import atomic_path, atomic_write, blank, is_sealed, require_replaceable, require_room, seal
from ccassg.io.encode import encode_columns
from ccassg.io.files import limits, open_regular, read_json, require_kind, sha256, suffix_of
from ccassg.io.folders import files_of
from ccassg.io.h5ad import OBSM_KEY, read_h5ad
from ccassg.io.ids import to_numpy, unique_ids
from ccassg.io.open_table import open_table
from ccassg.io.store import release
from ccassg.io.whitespace import parse_blanks

# What their seals say that an embedding file is, and the ids beside one.
_KIND, _IDS = "embedding", "ids"


def is_ours(path: Path) -> bool:
    """Tell whether a file is as the writers below left it, and no part of a run; CSV and word2vec have no place to say so."""
    if suffix_of(path) == ".npy":
        return is_sealed(ids_path(path), _IDS) and sha256(path) in _hashes(ids_path(path))
    return is_no_part(path) and is_sealed(path, _KIND)


def is_no_part(path: Path) -> bool:
    """Tell whether a file is none of those that make up a run or a model."""
    return path.name not in files_of(path.parent)


def encoder_of(path: Path) -> str | None:
    """Return what a Parquet file of embeddings says that they were made by; None where it says nothing."""
    said = (pq.read_schema(path).metadata or {}) if suffix_of(path) in tables.PARQUET_SUFFIXES else {}
    return said[b"encoder"].decode("utf-8", "replace") if b"encoder" in said else None


def _read_table(path: Path) -> tuple[Array, Array]:
    table = open_table(path, known_names=columns.NODE_NAMES)
    name = columns.id_column(table) or table.names[0]
    if len(table.names) < 2:
        raise ValueError(f"{path} has a column of ids ({name!r}) but no numbers")
    return _rows_of(table, table.columns(table.names, as_text=[name]), name)


def _rows_of(table: tables.Table, data: dict[str, tables.Column], id_column: str) -> tuple[Array, Array]:
    """Return the numbers of all columns but one, and the ids in that one."""
    ids = unique_ids(data[id_column], line_breaks=True)
    names = [name for name in table.names if name != id_column]
    for name in names:
        if tables.is_string(data[name].values.type):  # categories are features, not embeddings
            raise columns.not_a_number(data[name], "an embedding")
    z: Any = encode_columns(table, data, names, keep=names).features
    return (z if isinstance(z, np.ndarray) else z.toarray()), to_numpy(ids)


def _write_table(path: Path, z: Array, ids: pa.Array, block_bytes: int, encoder: str | None = None) -> None:
    """Write columns ``id``, ``e0``, ``e1``, ... as CSV or as Parquet, there with a row group per block."""
    mark = {"written_by": blank(_KIND)} | ({"encoder": encoder} if encoder else {})
    schema = pa.schema([("id", ids.type), *((f"e{i}", pa.float32()) for i in range(z.shape[1]))], mark)
    # Embeddings are noise to a dictionary and to a compressor: plain pages are smaller and faster.
    plain = {"use_dictionary": False, "compression": "none"}
    with atomic_path(path) as temporary:
        is_csv = suffix_of(path) == ".csv"
        with pacsv.CSVWriter(temporary, schema) if is_csv else pq.ParquetWriter(temporary, schema, **plain) as writer:
            for rows, some_ids in _blocks(z, ids, block_bytes):
                writer.write_table(_as_table(rows, some_ids))
        if not is_csv:
            seal(temporary, _KIND)


def _read_npy(path: Path) -> tuple[Array, Array]:
    z = read_npy(path)
    if z.ndim != 2 or z.dtype.kind not in "iuf":
        raise ValueError(f"{path}: expected a matrix of numbers, got shape {z.shape} of {z.dtype}")
    beside = ids_path(path)
    if not beside.exists():
        return z.astype(np.float32), np.arange(len(z))
    ids = read_vector(beside)
    promised, *_ = _hashes(beside)
    if promised is not None and promised != sha256(path):
        raise ValueError(f"{path} and {beside.name} are not of one writing; write the embeddings again")
    if ids is None or len(ids) != len(z):
        raise ValueError(f"{path} has {len(z):,} rows, but {beside.name} {len(ids or ()):,} ids; write them again")
    return z.astype(np.float32), to_numpy(ids)


def _write_npy(path: Path, z: Array, ids: pa.Array, block_bytes: int, encoder: str | None = None) -> None:
    """Write the matrix, and the ids beside it."""
    require_replaceable(ids_path(path), lambda beside: is_sealed(beside, _IDS))
    # Until the matrix follows them, the ids know the earlier one too.
    earlier = {"earlier_sha256": sha256(path)} if path.exists() else {}
    with atomic_path(path) as temporary:
        with open(temporary, "wb") as file:
            header = {"descr": np.dtype(np.float32).str, "fortran_order": False, "shape": z.shape}
            np.lib.format.write_array_header_1_0(file, header)
            for rows, _ in _blocks(z, ids, block_bytes):
                rows.tofile(file)
        # The ids carry the hash of their matrix: a crash between the two renames is noticed when reading.
        with atomic_path(ids_path(path)) as beside:
            with open(beside, "w", encoding="utf-8", newline="\n") as file:
                head = {"written_by": blank(_IDS), "embeddings_sha256": sha256(temporary), **earlier}
                file.write(f'{{\n{json.dumps(head, indent=0)[2:-2]},\n"ids": [')
                before = "\n"
                for _, names in _blocks(z, ids, block_bytes):
                    file.write(before + json.dumps(names.to_pylist(), ensure_ascii=False, indent=0)[2:-2])
                    before = ",\n"
                file.write("\n]\n}")
            seal(beside, _IDS)


def ids_path(path: Path) -> Path:
    """Return where the ids of a ``.npy`` file are."""
    return path.with_name(path.name.removesuffix(".npy") + ".ids.json")


def _hashes(beside: Path) -> tuple[Any, Any]:
    """Return the hash of the matrix that ids belong to, and of the one before it; None where nothing is said."""
    content = read_json(beside)
    known = content if isinstance(content, dict) else {}
    return known.get("embeddings_sha256"), known.get("earlier_sha256")


def _read_word2vec(path: Path) -> tuple[Array, Array]:
    require_kind(path, "text")
    with open_regular(path) as file:
        head = file.readline(100).split()
        if len(head) != 2 or not all(word.isdigit() for word in head):
            raise ValueError(f"{path}, line 1: expected the number of rows and of dimensions, as word2vec writes them")
        n, d = int(head[0]), int(head[1])
        content = file.read()
    if n < 1 or d < 1 or n * (d + 1) * 2 > len(content) + 2:
        raise ValueError(f"{path}, line 1: promises {n:,} x {d:,} numbers, more than the file can hold")
    if d > limits().columns:
        raise ValueError(f"{path}, line 1: {d:,} dimensions, more than {limits().columns:,}; store them as .npy")
    # Some writers end a line with a blank, which would count as one more column.
    content = content.replace(b" \n", b"\n")
    table = parse_blanks(content, {"id": pa.string(), **{f"e{i}": pa.float32() for i in range(d)}})
    if table.num_rows != n:
        raise ValueError(f"{path} promises {n:,} rows, but has {table.num_rows:,}; write it again")
    frame = tables.FrameTable(table, str(path), is_text=True)
    return _rows_of(frame, frame.columns(frame.names), "id")


def _write_word2vec(path: Path, z: Array, ids: pa.Array, block_bytes: int, encoder: str | None = None) -> None:
    """Write a line of counts, then a line per node."""
    for name in (name for _, names in _blocks(z, ids, block_bytes) for name in names.to_pylist()):
        if isinstance(name, str) and (not name or name.split() != [name]):
            raise ValueError(
                f"the id {name!r} holds a blank, which word2vec text cannot; write .parquet or .csv instead"
            )
    options = pacsv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
    with atomic_write(path) as file:
        file.write(f"{len(z)} {z.shape[1]}\n".encode())
        for rows, names in _blocks(z, ids, block_bytes):
            buffer = pa.BufferOutputStream()
            try:
                pacsv.write_csv(_as_table(rows, names), buffer, options)
            except pa.ArrowInvalid:
                raise ValueError(
                    "an id holds a quote or control character, which word2vec text cannot; write .parquet"
                ) from None
            file.write(buffer.getvalue())


def _write_h5ad(path: Path, z: Array, ids: pa.Array, block_bytes: int, encoder: str | None = None) -> None:
    """Write an AnnData file without counts, the matrix in ``obsm``."""
    import anndata
    import h5py
    import pandas as pd

    # Beforehand, because HDF5 crashes at the end of a program that found the disk full.
    require_room(path, 4 * z.size + ids.get_total_buffer_size() + 48 * len(ids) + 2**16)
    names = pd.Index(ids.cast(pa.large_string()).to_pylist(), dtype=object)
    data = anndata.AnnData(obs=pd.DataFrame(index=names))
    data.uns["written_by"] = blank(_KIND)
    data.uns["ccassg_ids"] = "int" if pa.types.is_integer(ids.type) else "str"
    with atomic_path(path) as temporary:
        data.write_h5ad(temporary)
        with h5py.File(temporary, "r+") as file:
            matrix = file["obsm"].create_dataset(OBSM_KEY, z.shape, np.float32)
            matrix.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
            start = 0
            for rows, _ in _blocks(z, ids, block_bytes):
                matrix[start : start + len(rows)] = rows
                start += len(rows)
        seal(temporary, _KIND)


def _blocks(z: Array, ids: pa.Array, block_bytes: int) -> Iterator[tuple[Array, pa.Array]]:
    """Yield some rows and their ids at a time; of a mapped file, no page stays in this process for longer than its block.

    ValueError at a row that is not finite: what is on its way is not finished.
    """
    n_rows = max(1, block_bytes // (4 * z.shape[1]))
    for start in range(0, len(z), n_rows):
        rows = np.asarray(z[start : start + n_rows])
        require_finite(rows, ids.slice(start, n_rows))
        yield rows, ids.slice(start, n_rows)
        release(z)


def require_finite(rows: Array, ids: Any) -> None:
    """Refuse rows that are not finite; ValueError."""
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        (name,) = ids[bad[0] : bad[0] + 1].tolist()
        raise ValueError(f"the embedding of {tables.shown(name)} is not finite; train again")


def _as_table(rows: Array, ids: pa.Array) -> pa.Table:
    columns = np.ascontiguousarray(rows.T)
    return pa.table({"id": ids, **{f"e{i}": pa.array(column) for i, column in enumerate(columns)}})


# By suffix: who reads a file and who writes it.
FORMATS = {
    ".parquet": (_read_table, _write_table),
    ".pq": (_read_table, _write_table),
    ".csv": (_read_table, _write_table),
    ".npy": (_read_npy, _write_npy),
    ".vec": (_read_word2vec, _write_word2vec),
    ".w2v": (_read_word2vec, _write_word2vec),
    ".txt": (_read_word2vec, _write_word2vec),
    ".h5ad": (read_h5ad, _write_h5ad),
}
