"""Read and write embedding files: one row per node under the user's ids, in the user's order, whole or not at all."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from ccassg import optional
from ccassg.graph import Array
from ccassg.graph.checks import check_count
from ccassg.io.atomic import require_replaceable
from ccassg.io.embedding_formats import FORMATS, is_no_part, is_ours, require_finite
from ccassg.io.files import LIMITS, Limits, PathLike, suffix_of, vetted, within
from ccassg.io.ids import id_array

BLOCK_BYTES = 2**25


def write_embeddings(
    path: PathLike,
    z: Any,
    ids: Any = None,
    *,
    encoder: str | None = None,
    overwrite: bool = False,
    block_bytes: int = BLOCK_BYTES,
) -> None:
    """Write embeddings to a file, in place of earlier ones that nobody changed, and only when complete.

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
    encoder : str, optional
        What made them, such as "canonical": kept in a Parquet file, for `ccassg evaluate` to judge their width by.
    overwrite : bool
        Replace whatever file is there, but for one of a model's folder.
    block_bytes : int
        How much of z is written at a time.

    Raises
    ------
    ValueError
        If z and ids do not fit together, z is not finite, the format cannot hold an id, or what is there is not known to be
        as this function left it.
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
    _, write = format_of(path)
    check_count("block_bytes", block_bytes, 1, 2**40)
    require_free(path, overwrite=overwrite)
    matrix = z.detach().cpu().numpy() if hasattr(z, "detach") else z
    if not (isinstance(matrix, np.memmap) and matrix.dtype == np.float32):  # what lies in a file stays there
        matrix = np.ascontiguousarray(matrix, dtype=np.float32)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(f"z must have the shape (nodes, dimensions), none of them 0; got {matrix.shape}")
    names = id_array(np.arange(len(matrix)) if ids is None else ids)
    if len(names) != len(matrix):
        raise ValueError(f"there are {len(names):,} ids for {len(matrix):,} rows of z; give one each")
    if pc.count_distinct(names).as_py() < len(names):
        raise ValueError("ids must all be different, as text too; rename the repeated ones")
    write(Path(path), matrix, names, block_bytes, encoder)


def require_free(path: PathLike, *, overwrite: bool = False, inputs: Iterable[PathLike] = ()) -> None:
    """Refuse, before the work, a file that must not be replaced; see `require_replaceable`."""
    remedy = "give another name, or `overwrite` it"
    require_replaceable(path, is_no_part if overwrite else is_ours, inputs=inputs, remedy=remedy)


def read_embeddings(path: PathLike, *, limits: Limits = LIMITS) -> tuple[Array, Array]:
    """Read embeddings from a file.

    Parameters
    ----------
    path : path-like
        As `write_embeddings` makes them; also any CSV or Parquet table of numbers with a column of ids, any ``.npy``
        matrix (ids 0 .. n - 1 if there is no ``NAME.ids.json``) and any ``.h5ad`` (``obsm["X_ccassg"]``, else ``X``).
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
    read, _ = format_of(path)
    with within(limits), vetted(path) as file:
        z, ids = read(file)
        require_finite(z, ids)
        return z, ids


def format_of(path: PathLike) -> tuple[Any, Any]:
    """Return who reads and who writes an embedding file, by its suffix; ValueError if nobody does."""
    suffix = suffix_of(path)
    if suffix == ".h5ad":
        optional.require("anndata", f"{path}: .h5ad")
    if suffix not in FORMATS:
        raise ValueError(f"the suffix of {path} names no format for embeddings; use one of {', '.join(FORMATS)}")
    return FORMATS[suffix]
