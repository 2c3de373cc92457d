"""Read Matrix Market: an adjacency or features as a text file, its header checked against what the file can hold.

Entries are parsed as a table: SciPy's own reader crashes the process on some damaged files.
"""

from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from ccassg.graph import Array
from ccassg.io.files import PathLike, budget, limits, open_bytes, require_kind, require_room, vetted
from ccassg.io.tables import EdgeRows
from ccassg.io.whitespace import parse_blanks, squeezed_pieces


class _Header(NamedTuple):
    n_rows: int
    n_cols: int
    n_entries: int
    symmetric: bool
    pattern: bool
    line: int  # where the sizes stand


def read_matrix_market(path: PathLike) -> EdgeRows:
    """Read a square sparse matrix (real, integer or pattern; perhaps gzipped); row ``i`` points to column ``j``.

    Nodes are numbered from 0 in the order of the rows, as SciPy would (the file itself counts from 1), so features
    in a ``.npy`` or ``.npz`` match row by row.
    """
    with vetted(path) as file:
        header, matrix = _read(file)
        if header.n_rows != header.n_cols:
            raise ValueError(
                f"{file}, line {header.line}: an adjacency is square, this matrix is {header.n_rows} x {header.n_cols}"
            )
        weights = None if header.pattern else matrix.data
        bad = np.flatnonzero(~((matrix.data >= 0) & (matrix.data <= np.finfo(np.float32).max)))
        if len(bad):
            raise ValueError(
                f"{file}, entry {int(bad[0]) + 1}: {matrix.data[bad[0]]:g} cannot be a weight; weights are from 0 to 3e38, so shift, "
                f"rescale or drop such entries"
            )
        source, target = (pa.array(end.astype(np.int64)) for end in (matrix.row, matrix.col))
        nodes = pa.array(np.arange(header.n_rows))
        return EdgeRows(str(file), source, target, weights, directed=not header.symmetric, node_ids=nodes)


def read_mtx_features(file: Path) -> sp.csr_array:
    """Read a sparse matrix of features, a row for each node."""
    return sp.csr_array(_read(file)[1])


def _read(file: Path) -> tuple[_Header, sp.coo_array]:
    """Read the header and all entries, those that symmetry stands for too."""
    require_kind(file, "Matrix Market")
    with open_bytes(file) as stream:
        header = _read_header(file, stream)
        rows, cols, values = _read_entries(file, stream, header)
    if header.symmetric:  # stored once; off the diagonal each entry stands for two
        off = rows != cols
        rows, cols = np.concatenate([rows, cols[off]]), np.concatenate([cols, rows[off]])
        values = np.concatenate([values, values[off]])
    return header, sp.coo_array((values, (rows, cols)), shape=(header.n_rows, header.n_cols))


def _read_header(name: Path, content: IO[bytes]) -> _Header:
    """Read the head of the file; refuse what is of another kind or promises too much."""
    words = content.readline(limits().line).decode("ascii", "replace").lower().split()
    if len(words) != 5 or words[1] != "matrix" or words[2] != "coordinate":
        raise ValueError(
            f"{name}, line 1: expected '%%MatrixMarket matrix coordinate ...', got {' '.join(words)[:80]!r}; write the matrix "
            f"with scipy.io.mmwrite(file, scipy.sparse.coo_array(matrix))"
        )
    if words[3] not in ("real", "integer", "pattern") or words[4] not in ("general", "symmetric"):
        raise ValueError(
            f"{name}, line 1: {words[3]} {words[4]} matrices cannot be read; use real general, for example"
        )
    rows = ((line, row.strip()) for line, row in enumerate(iter(lambda: content.readline(limits().line), b""), 2))
    line, row = next(((line, row) for line, row in rows if row and not row.startswith(b"%")), (0, b""))
    if not row:
        raise ValueError(f"{name} has no line of sizes; check how it was written")
    try:
        n_rows, n_cols, n_entries = (int(word) for word in row.split())
    except ValueError:
        raise ValueError(f"{name}, line {line}: expected rows, columns and entries, got {row[:60]!r}") from None
    if min(n_rows, n_cols) < 1 or (words[4] == "symmetric" and n_rows != n_cols):
        raise ValueError(f"{name}, line {line}: {n_rows} x {n_cols} is no size of a {words[4]} matrix; mend it")
    require_room(name, max(n_rows, n_cols), f"claims {n_rows:,} rows and {n_cols:,} columns in line {line}")
    # The shortest entry, "1 1" and a line end, takes four bytes.
    if n_entries < 0 or 4 * n_entries > budget(name):
        raise ValueError(f"{name}, line {line}: promises {n_entries:,} entries, more than the file can hold")
    if n_entries == 0:
        raise ValueError(f"{name} has no entries; check how it was written")
    return _Header(n_rows, n_cols, n_entries, words[4] == "symmetric", words[3] == "pattern", line)


def _read_entries(name: Path, content: IO[bytes], header: _Header) -> tuple[Array, Array, Array]:
    """Read rows and columns, from 0, and values, 1 where the file has none."""
    types = {"row": pa.int64(), "column": pa.int64()} | ({} if header.pattern else {"value": pa.float64()})
    try:
        pieces = [parse_blanks(piece, types) for piece in squeezed_pieces(name, content, len(types))]
    except pa.ArrowInvalid as error:
        reason = str(error).partition(": ")[2] or str(error)
        raise ValueError(f"{name}: expected {' '.join(types)} in each line; {reason.splitlines()[0][:200]}") from None
    table = pa.concat_tables([pa.schema(types).empty_table(), *pieces])
    if table.num_rows != header.n_entries:
        raise ValueError(f"{name} promises {header.n_entries:,} entries, but holds {table.num_rows:,}; write it again")
    if any(column.null_count for column in table.columns):
        raise ValueError(f"{name} has an entry without a number; write it again")
    rows, cols = table["row"].to_numpy() - 1, table["column"].to_numpy() - 1
    outside = np.flatnonzero((rows < 0) | (rows >= header.n_rows) | (cols < 0) | (cols >= header.n_cols))
    if len(outside):
        at = int(outside[0])
        raise ValueError(
            f"{name}, entry {at + 1}: row {rows[at] + 1}, column {cols[at] + 1} is outside {header.n_rows} x {header.n_cols}; mend "
            f"the entry or the sizes in line {header.line}"
        )
    return rows, cols, np.ones(len(rows), np.float32) if header.pattern else table["value"].to_numpy()
