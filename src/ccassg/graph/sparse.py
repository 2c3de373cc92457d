"""Pure functions on sparse matrices in compressed row form (CSR), held as torch tensors.

A row is a receiving node, a column the node it receives from: ``multiply(a, h)`` sums over each node's
in-neighbours. Nothing here is differentiable by itself; gradients multiply by the transpose, explicitly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn import functional

# Rows per block of a product. A block of 2048 x 512 floats (4 MB) is small enough that the allocator hands back the
# same warm pages every time; one fresh N x D result would cost more in page faults than in arithmetic.
BLOCK_ROWS = 2048

Epilogue = Callable[[Tensor, slice, Tensor], object]


@dataclass(frozen=True)
class CSR:
    """A sparse matrix: row ``i`` has columns ``indices[indptr[i]:indptr[i + 1]]`` and the values beside them."""

    indptr: Tensor
    indices: Tensor
    values: Tensor
    shape: tuple[int, int]

    @property
    def nnz(self) -> int:
        """Number of stored entries."""
        return self.indices.numel()

    @cached_property
    def transposed(self) -> CSR:
        """The transpose, built when it is first asked for and kept with the matrix: every gradient of a product needs it."""
        return transpose(self)

    def to(self, device: torch.device | str) -> CSR:
        """Return the same matrix on another device."""
        return CSR(self.indptr.to(device), self.indices.to(device), self.values.to(device), self.shape)

    def with_values(self, values: Tensor) -> CSR:
        """Return the same pattern with other values."""
        return replace(self, values=values)

    def to_dense(self) -> Tensor:
        """Return a dense copy; duplicates are summed."""
        dense = self.values.new_zeros(self.shape)
        return dense.index_put_((row_ids(self), self.indices.long()), self.values, accumulate=True)

    def to_scipy(self) -> sp.csr_array:
        """Return the same matrix for SciPy, sharing memory where it lies on the CPU."""
        parts = (self.values.cpu().numpy(), self.indices.cpu().numpy(), self.indptr.cpu().numpy())
        return sp.csr_array(parts, shape=self.shape)


def from_scipy(matrix: sp.sparray | sp.spmatrix, dtype: torch.dtype = torch.float32) -> CSR:
    """Convert any SciPy sparse matrix; indices are 32 bit wherever that suffices (half the traffic)."""
    csr = sp.csr_array(matrix)
    index = np.int32 if max(*csr.shape, csr.nnz) < 2**31 else np.int64
    return CSR(
        torch.from_numpy(csr.indptr.astype(index, copy=False)),
        torch.from_numpy(csr.indices.astype(index, copy=False)),
        torch.from_numpy(csr.data).to(dtype),
        (int(csr.shape[0]), int(csr.shape[1])),
    )


def row_ids(a: CSR) -> Tensor:
    """Return the row of every stored entry, shape (nnz,)."""
    rows = torch.arange(a.shape[0], device=a.indices.device)
    return torch.repeat_interleave(rows, a.indptr.diff().long(), output_size=a.nnz)


def multiply(
    a: CSR, b: Tensor, out: Tensor | None = None, then: Epilogue | None = None, *, block_rows: int = BLOCK_ROWS
) -> Tensor:
    """Multiply sparse times dense, (n, m) x (m, d) -> (n, d), written into ``out`` if given.

    PyTorch's embedding bag is this product (each row sums weighted rows of a table); on a CPU it is up to
    twice as fast as the library's own CSR product. ``then(block, rows, out)`` may turn a block of the product, that of
    the slice ``rows``, into what is to stand in ``out`` instead, while it is still in the cache.
    """
    n_rows = a.shape[0]
    if out is None:
        out = b.new_empty(n_rows, b.shape[1])
    if n_rows == 0:
        return out
    block, bounds = n_rows, [0, a.nnz]  # one kernel, and no waiting for the device
    if b.device.type == "cpu":
        block = block_rows
        bounds = a.indptr[torch.arange(0, n_rows + block, block).clamp_(max=n_rows)].tolist()
    for start, first, last in zip(range(0, n_rows, block), bounds[:-1], bounds[1:], strict=True):
        stop = min(start + block, n_rows)
        product = functional.embedding_bag(
            a.indices[first:last],
            b,
            a.indptr[start : stop + 1] - first,
            mode="sum",
            per_sample_weights=a.values[first:last],
            include_last_offset=True,
        )
        if then is None:
            out[start:stop] = product
        else:
            then(product, slice(start, stop), out[start:stop])
    return out


def transpose_order(a: CSR) -> tuple[Tensor, Tensor, Tensor]:
    """Find the structure of the transpose: its ``indptr`` and ``indices``, and for each of its entries the entry of ``a``.

    Built once per structure; afterwards the transpose under any values is ``values[order]``.
    """
    order = torch.argsort(a.indices, stable=True)
    counts = torch.bincount(a.indices, minlength=a.shape[1])
    indptr = torch.zeros(a.shape[1] + 1, dtype=a.indptr.dtype, device=a.indptr.device)
    indptr[1:] = counts.cumsum(0)
    return indptr, row_ids(a)[order].to(a.indices.dtype), order


def transpose(a: CSR) -> CSR:
    """Return the transpose as CSR, columns in order within each row."""
    if a.values.device.type == "cpu":
        # SciPy's counting sort is several times faster than a general one.
        by_column = a.to_scipy().tocsc()
        indptr, indices, values = map(torch.from_numpy, (by_column.indptr, by_column.indices, by_column.data))
        return CSR(indptr, indices, values, (a.shape[1], a.shape[0]))
    indptr, indices, order = transpose_order(a)
    return CSR(indptr, indices, a.values[order], (a.shape[1], a.shape[0]))


def select_entries(a: CSR, keep: Tensor) -> CSR:
    """Keep the stored entries where the boolean ``keep`` (nnz,) is true; the shape stays."""
    positions = keep.nonzero().squeeze(1)
    running = torch.zeros(a.nnz + 1, dtype=a.indptr.dtype, device=keep.device)
    torch.cumsum(keep, 0, out=running[1:])
    return CSR(running[a.indptr.long()], a.indices[positions], a.values[positions], a.shape)


def select_rows(a: CSR, rows: Tensor) -> CSR:
    """Return the matrix of the given rows, in the given order, shape (len(rows), m)."""
    rows = rows.long()
    counts = a.indptr[rows + 1] - a.indptr[rows]
    indptr = torch.zeros(rows.numel() + 1, dtype=a.indptr.dtype, device=a.indptr.device)
    indptr[1:] = counts.cumsum(0)
    # Entry k of the result is entry k - (where its row starts here) + (where its row starts in `a`).
    shift = a.indptr[rows] - indptr[:-1]
    total = int(indptr[-1])
    entries = torch.arange(total, device=rows.device) + torch.repeat_interleave(
        shift.long(), counts.long(), output_size=total
    )
    # One value that is stored once for all entries (stride 0) stays so.
    values = a.values[entries] if a.values.stride(0) else a.values[:total]
    return CSR(indptr, a.indices[entries], values, (rows.numel(), a.shape[1]))


def compact_columns(a: CSR) -> tuple[CSR, Tensor]:
    """Leave out columns without entries; also return the old numbers of those that stay, in order."""
    place = a.indices.new_zeros(a.shape[1])
    place[a.indices] = True
    columns = place.nonzero().squeeze(1)
    place[columns] = torch.arange(len(columns), dtype=a.indices.dtype, device=a.indices.device)
    return CSR(a.indptr, place[a.indices], a.values, (a.shape[0], len(columns))), columns


def row_sums(a: CSR) -> Tensor:
    """Sum up the values of each row, shape (n,)."""
    return a.values.new_zeros(a.shape[0]).index_add_(0, row_ids(a), a.values)


def column_sums(a: CSR) -> Tensor:
    """Sum up the values of each column, shape (m,)."""
    return a.values.new_zeros(a.shape[1]).index_add_(0, a.indices, a.values)


def scale_by_degrees(values: Tensor, received: Tensor, sent: Tensor) -> Tensor:
    """Divide each entry by sqrt(received x sent): the formula of every normalised adjacency in this package.

    All (nnz,). ``received`` is all that the entry's row (the receiving node) receives, ``sent`` all that its column (the sending
    node) sends, self-loops included. Entries of a node that receives or sends nothing become 0.
    """

    def inverse_sqrt(degrees: Tensor) -> Tensor:
        return torch.where(degrees > 0, degrees, torch.inf).rsqrt()

    return inverse_sqrt(received).mul_(inverse_sqrt(sent)).mul_(values)


def normalize(a: CSR) -> CSR:
    """Divide each entry by sqrt(row sum x column sum): D_in^-1/2 A D_out^-1/2.

    For a symmetric matrix this is the usual symmetric normalisation. In a directed graph, or a view whose two directions of
    an edge were dropped independently, the receiving end counts what it receives and the sending end what it sends.
    """
    return a.with_values(scale_by_degrees(a.values, row_sums(a)[row_ids(a)], column_sums(a)[a.indices]))


def add_self_loops(a: CSR) -> CSR:
    """Return A + I for a square matrix without a stored diagonal; the loop is the last entry of its row."""
    n = a.shape[0]
    counts = a.indptr.diff()
    indptr = torch.zeros_like(a.indptr)
    indptr[1:] = (counts + 1).cumsum(0)
    loops = indptr[1:].long() - 1
    is_edge = torch.ones(a.nnz + n, dtype=torch.bool, device=a.indices.device)
    is_edge[loops] = False
    indices = a.indices.new_empty(a.nnz + n)
    values = a.values.new_ones(a.nnz + n)
    indices[is_edge] = a.indices
    indices[loops] = torch.arange(n, dtype=indices.dtype, device=indices.device)
    values[is_edge] = a.values
    return CSR(indptr, indices, values, a.shape)
