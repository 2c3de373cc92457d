"""Write embedding files of every format, some rows at a time: the matrix may lie in a file larger than memory."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from ccassg.graph import Array
from ccassg.io.atomic import atomic_path, atomic_write
from ccassg.io.store import release

OBSM_KEY = "X_ccassg"
BLOCK_BYTES = 2**25


def ids_path(path: Path) -> Path:
    """Return where the ids of a ``.npy`` file are."""
    return path.with_name(path.name.removesuffix(".npy") + ".ids.json")


def sha256(path: Path) -> str:
    """Return the hash of a file's content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_parquet(path: Path, z: Array, ids: pa.Array, block_bytes: int) -> None:
    """Write columns ``id``, ``e0``, ``e1``, ...; a row group per block."""
    # Embeddings are noise to a dictionary and to a compressor: plain pages are smaller and faster.
    plain = {"use_dictionary": False, "compression": "none"}
    with atomic_path(path) as temporary, pq.ParquetWriter(temporary, _schema(z, ids), **plain) as writer:
        for rows, names in _blocks(z, ids, block_bytes):
            writer.write_table(_as_table(rows, names))


def _write_csv(path: Path, z: Array, ids: pa.Array, block_bytes: int) -> None:
    """Write the same columns as text."""
    with atomic_path(path) as temporary, pacsv.CSVWriter(temporary, _schema(z, ids)) as writer:
        for rows, names in _blocks(z, ids, block_bytes):
            writer.write_table(_as_table(rows, names))


def _write_word2vec(path: Path, z: Array, ids: pa.Array, block_bytes: int) -> None:
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


def _write_npy(path: Path, z: Array, ids: pa.Array, block_bytes: int) -> None:
    """Write the matrix, and the ids beside it."""
    with atomic_path(path) as temporary:
        with open(temporary, "wb") as file:
            header = {"descr": np.dtype(np.float32).str, "fortran_order": False, "shape": z.shape}
            np.lib.format.write_array_header_1_0(file, header)
            for rows, _ in _blocks(z, ids, block_bytes):
                rows.tofile(file)
        # The ids carry the hash of their matrix: a crash between the two renames is noticed when reading.
        with atomic_write(ids_path(path), "w") as file:
            file.write(f'{{\n"embeddings_sha256": "{sha256(temporary)}",\n"ids": [')
            before = "\n"
            for _, names in _blocks(z, ids, block_bytes):
                file.write(before + json.dumps(names.to_pylist(), ensure_ascii=False, indent=0)[2:-2])
                before = ",\n"
            file.write("\n]\n}")


def _write_h5ad(path: Path, z: Array, ids: pa.Array, block_bytes: int) -> None:
    """Write an AnnData file without counts, the matrix in ``obsm``."""
    try:
        import anndata
        import h5py
        import pandas as pd
    except ImportError:
        raise ImportError(f"{path}: .h5ad needs AnnData; install it with: pip install 'ccassg[anndata]'") from None

    names = pd.Index(ids.cast(pa.large_string()).to_pylist(), dtype=object)
    data = anndata.AnnData(obs=pd.DataFrame(index=names))
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


def _blocks(z: Array, ids: pa.Array, block_bytes: int) -> Iterator[tuple[Array, pa.Array]]:
    """Yield some rows and their ids at a time; of a mapped file, no page stays in this process for longer than its block."""
    n_rows = max(1, block_bytes // (4 * z.shape[1]))
    for start in range(0, len(z), n_rows):
        yield np.asarray(z[start : start + n_rows]), ids.slice(start, n_rows)
        release(z)


def _schema(z: Array, ids: pa.Array) -> pa.Schema:
    return pa.schema([("id", ids.type), *((f"e{i}", pa.float32()) for i in range(z.shape[1]))])


def _as_table(rows: Array, ids: pa.Array) -> pa.Table:
    columns = np.ascontiguousarray(rows.T)
    return pa.table({"id": ids, **{f"e{i}": pa.array(column) for i, column in enumerate(columns)}})


WRITERS = {
    "parquet": _write_parquet,
    "csv": _write_csv,
    "npy": _write_npy,
    "word2vec": _write_word2vec,
    "h5ad": _write_h5ad,
}
