"""Matrix Market: an adjacency matrix as a text file, its header checked against what the file can hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from ccassg.graph import Array
from ccassg.io.edges import Edges
from ccassg.io.files import PathLike, check_file, one_sentence, open_bytes, require_kind
from ccassg.io.text import squeeze

# Nodes without an edge take no room in the file; so many are taken on faith, more only if the file is as large.
FREE_NODES = 1_000_000


def read_matrix_market(path: PathLike) -> Edges:
    """Read a square sparse matrix; row ``i`` points to column ``j``.

    Nodes are numbered from 0 in the order of the rows, as SciPy would (the file itself counts from 1), so features
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
        header = _check_header(str(file), content)
        rows, cols, weights = _parse(str(file), content, header)
        if header.symmetric:  # stored once; off the diagonal each entry stands for two
            off = rows != cols
            rows, cols = np.concatenate([rows, cols[off]]), np.concatenate([cols, rows[off]])
            weights = None if weights is None else np.concatenate([weights, weights[off]])
        return Edges(
            name=str(file),
            source=pa.chunked_array([pa.array(rows)]),
            target=pa.chunked_array([pa.array(cols)]),
            weights=weights,
            directed=not header.symmetric,
            node_ids=pa.chunked_array([pa.array(np.arange(header.n_nodes))]),
        )


@dataclass(frozen=True)
class _Header:
    n_nodes: int
    n_entries: int
    symmetric: bool
    pattern: bool
    body: int  # where the entries begin
    n_lines: int  # lines before them


def _check_header(name: str, content: bytes) -> _Header:
    """What the head of the file says; refuse what is no adjacency or promises too much."""
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
    if n_entries == 0:
        raise ValueError(f"{name} has no entries; check how it was written")
    body = end + 1 if end >= 0 else len(content)
    return _Header(n_rows, n_entries, words[4] == "symmetric", words[3] == "pattern", body, line)


def _parse(name: str, content: bytes, header: _Header) -> tuple[Array, Array, Array | None]:
    """Rows and columns from 0, and weights; parsed as a table, for SciPy's reader crashes on damaged files."""
    columns = ["row", "column"] if header.pattern else ["row", "column", "value"]
    try:
        table = pacsv.read_csv(
            pa.BufferReader(squeeze(content[header.body :])),
            pacsv.ReadOptions(column_names=columns, block_size=1 << 24),
            pacsv.ParseOptions(delimiter=" ", quote_char=False),
            pacsv.ConvertOptions(column_types={"row": pa.int64(), "column": pa.int64(), "value": pa.float64()}),
        )
    except pa.ArrowInvalid as error:
        reason = str(error).partition(": ")[2] or str(error)
        raise ValueError(f"{name}: expected {' '.join(columns)} in each line; {reason.splitlines()[0][:200]}") from None
    if table.num_rows != header.n_entries:
        raise ValueError(f"{name} promises {header.n_entries:,} entries, but holds {table.num_rows:,}; write it again")
    if any(column.null_count for column in table.columns):
        raise ValueError(f"{name} has an entry without a number; write it again")
    rows, cols = table["row"].to_numpy() - 1, table["column"].to_numpy() - 1
    outside = np.flatnonzero((rows < 0) | (rows >= header.n_nodes) | (cols < 0) | (cols >= header.n_nodes))
    if len(outside):
        at = int(outside[0])
        raise ValueError(
            f"{name}, entry {at + 1}: row {rows[at] + 1}, column {cols[at] + 1} is outside 1 .. {header.n_nodes}; mend the entry "
            f"or the sizes in line {header.n_lines}"
        )
    if header.pattern:
        return rows, cols, None
    weights = table["value"].to_numpy()
    bad = np.flatnonzero(~((weights >= 0) & (weights <= np.finfo(np.float32).max)))
    if len(bad):
        raise ValueError(
            f"{name}, entry {int(bad[0]) + 1}: {weights[bad[0]]:g} cannot be a weight; weights are from 0 to 3e38, so shift, "
            f"rescale or drop such entries"
        )
    return rows, cols, weights
