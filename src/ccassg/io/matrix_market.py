"""Matrix Market: an adjacency matrix as a text file, its header checked against what the file can hold."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from ccassg.io.edges import Edges
from ccassg.io.files import PathLike, check_file, one_sentence, open_bytes, require_kind

# Nodes without an edge take no room in the file; so many are taken on faith, more only if the file is as large.
FREE_NODES = 1_000_000


def read_matrix_market(path: PathLike) -> Edges:
    """Read a square sparse matrix; row ``i`` points to column ``j``.

    Nodes are numbered from 0 in the order of the rows, as SciPy numbers them (the file itself counts from 1), so features
    in a ``.npy`` or ``.npz`` match row by row.

    Parameters
    ----------
    path : path-like
        Coordinate format, real, integer or pattern; may be gzipped.

    Returns
    -------
    Edges
    """
    file = check_file(path)
    require_kind(file, "Matrix Market")
    with one_sentence(file):
        with open_bytes(file) as stream:
            content = stream.read()
        symmetric, n = _check_header(str(file), content)
        matrix = _parse(content)
        weights = None if b" pattern " in content[:200].lower() else np.asarray(matrix.data, np.float64)
        if weights is not None and len(weights) and not (weights.min() >= 0 and np.isfinite(weights).all()):
            raise ValueError(f"{file}: weights must be finite and not negative; shift or drop such entries")
        if not len(matrix.row):
            raise ValueError(f"{file} has no entries; check how it was written")
        return Edges(
            name=str(file),
            source=pa.chunked_array([pa.array(matrix.row.astype(np.int64))]),
            target=pa.chunked_array([pa.array(matrix.col.astype(np.int64))]),
            weights=weights,
            directed=not symmetric,
            node_ids=pa.chunked_array([pa.array(np.arange(n))]),
        )


def _check_header(name: str, content: bytes) -> tuple[bool, int]:
    """Whether the matrix is symmetric and how many rows it has; refuse what is no adjacency or promises too much."""
    end = content.find(b"\n")
    words = content[: end if end >= 0 else 0].decode("ascii", "replace").lower().split()
    if len(words) != 5 or words[1] != "matrix" or words[2] != "coordinate":
        raise ValueError(
            f"{name}, line 1: expected '%%MatrixMarket matrix coordinate ...', got {' '.join(words)[:80]!r}; write the matrix "
            f"with scipy.io.mmwrite(file, scipy.sparse.coo_array(matrix))"
        )
    if words[3] not in ("real", "integer", "pattern") or words[4] not in ("general", "symmetric"):
        raise ValueError(
            f"{name}, line 1: {words[3]} {words[4]} matrices are no adjacency; use real general, for example"
        )
    line = 1
    while True:
        line += 1
        start, end = end + 1, content.find(b"\n", end + 1)
        row = content[start : end if end >= 0 else len(content)].strip()
        if row and not row.startswith(b"%"):
            break
        if end < 0:
            raise ValueError(f"{name} has no line of sizes; check how it was written")
    try:
        n_rows, n_cols, n_entries = (int(word) for word in row.split())
    except ValueError:
        raise ValueError(f"{name}, line {line}: expected rows, columns and entries, got {row[:60]!r}") from None
    if n_rows != n_cols or n_rows < 1:
        raise ValueError(f"{name}, line {line}: an adjacency is square, this matrix is {n_rows} x {n_cols}")
    # The shortest entry, "1 1" and a line end, takes four bytes.
    if n_entries < 0 or 4 * n_entries > len(content) + 4 or n_rows > FREE_NODES + len(content):
        raise ValueError(
            f"{name}, line {line}: promises {n_rows:,} rows and {n_entries:,} entries, more than the file can hold"
        )
    return words[4] == "symmetric", n_rows


def _parse(content: bytes) -> sp.coo_array:
    from scipy.io import mmread

    return sp.coo_array(mmread(io.BytesIO(content), spmatrix=False))
