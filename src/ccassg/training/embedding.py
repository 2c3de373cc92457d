"""Embed a graph with a trained encoder: at once, or layer by layer and block by block.

In blocks, no more than a block of activations is in memory beside the result. What a layer leaves to the next lies in memory
if it is small and in a temporary file otherwise; features, edges and the result may lie on disk as well.

Several processes of one machine (`ccassg.training.distributed`) take turns with the blocks. They map the same files, and wait for
each other after every layer.
"""

import contextlib
import itertools
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from ccassg.graph import Array, Graph, sparse
from ccassg.graph.sparse import CSR
from ccassg.io.atomic import atomic_path
from ccassg.io.store import release
from ccassg.model import augment
from ccassg.model.canonical import Canonical
from ccassg.model.encoder import Encoder
from ccassg.training import distributed
from ccassg.training.rows import feature_tensor, neighbours, take_rows

# So few rows that what is made of a block is memory that the allocator hands out again, not fresh pages.
BLOCK = 16_384
SPILL_FROM = 2**28


@torch.no_grad()
def embed(encoder: Encoder | Canonical, graph: Graph) -> Tensor:
    """Return the embeddings (n, d) of the graph as it is: no dropping, no masking, batch norm in evaluation mode."""
    device = next(itertools.chain(encoder.parameters(), encoder.buffers())).device
    if isinstance(encoder, Canonical) and device.type == "cpu":
        # In blocks as well: wide matrices of all nodes, anew at every hop, are fresh pages, which cost more than the arithmetic.
        rows = np.empty((graph.n_nodes, encoder.dims[-1]), np.float32)
        with contextlib.ExitStack() as files:
            _embed_parts(encoder, _Work(graph, BLOCK, Path(), sys.maxsize, files, None), rows)
        return require_finite_rows(torch.from_numpy(rows))
    a = augment.normalized(graph, device=device) if encoder.n_hops else None
    z: Tensor = encoder.eval()(feature_tensor(graph, device), a)
    require_finite_rows(z)
    return z


Rows = TypeVar("Rows", Tensor, Array)


def require_finite_rows(z: Rows, first: int = 0) -> Rows:
    """Return what was made of the nodes, the first of them number ``first``; ValueError if a value is not finite."""
    rows = z if isinstance(z, Tensor) else torch.from_numpy(z)
    # A sum is one pass without a copy; only if it is not finite is it worth looking for the reason.
    if not bool(rows.sum().isfinite()) and len(bad := (~rows.isfinite().all(1)).nonzero()):
        raise ValueError(
            f"the embedding of node {first + int(bad[0])} is not finite; most likely features or edge weights are extremely "
            f"large beside those of training: rescale them, or fit again"
        )
    return z


@torch.no_grad()
def embed_blocks(
    encoder: Encoder | Canonical,
    graph: Graph,
    out: str | os.PathLike[str],
    *,
    block: int = BLOCK,
    spill_from: int = SPILL_FROM,
) -> Array:
    """Write what `embed` returns, to float32 rounding, into a ``.npy`` file, and return it memory-mapped, (n, d).

    The graph's arrays may lie in a store. Nodes are taken ``block`` at a time, and activations of more than ``spill_from``
    bytes lie in temporary files beside ``out``. In a `distributed.session` of several processes on one machine all must call it, with
    the first one's ``out``.
    """
    if block < 1:
        raise ValueError(f"block must be at least 1, got {block}")
    encoder.eval()
    target, ranks = Path(out), distributed.active_here()
    with contextlib.ExitStack() as files:
        work = _Work(graph, block, target.absolute().parent, spill_from, files, ranks)
        mapped = work.result(target, encoder.dims[-1])
        if isinstance(encoder, Canonical):
            _embed_parts(encoder, work, mapped)
        else:
            _embed_layers(encoder, work, mapped)
        for start, stop in work.blocks(mapped):
            require_finite_rows(mapped[start:stop], start)
        mapped.flush()
        del mapped
    if ranks is not None:
        ranks.wait()  # until the first has given the file its name
    return np.load(target, mmap_mode="r+")


class _Work:
    """The blocks that this process embeds, and the files that it shares with the ``ranks`` that embed the others."""

    def __init__(
        self,
        graph: Graph,
        block: int,
        folder: Path,
        spill_from: int,
        files: contextlib.ExitStack,
        ranks: distributed.Ranks | None,
    ) -> None:
        self.graph, self.folder, self.files, self.ranks = graph, folder, files, ranks
        self.rank, self.size = (0, 1) if ranks is None else (ranks.rank, ranks.size)
        self.block = min(block, -(-graph.n_nodes // self.size))
        # What others read lies in a file.
        self.spill_from = spill_from if ranks is None else -1

    def blocks(self, *held: Any, gathered: Any = None) -> Iterator[tuple[int, int]]:
        """Go through the own nodes, and keep the pages of mapped files out of this process; at the end, wait for the others.

        Those of what is ``gathered`` from all over go last: the next block takes most of them again.
        """
        n = self.graph.n_nodes
        for start in range(self.rank * self.block, n, self.size * self.block):
            yield start, min(start + self.block, n)
            for array in (*held, self.graph.indices):
                release(array)
        release(gathered)
        if self.ranks is not None:
            self.ranks.wait()

    def result(self, target: Path, n_columns: int) -> Any:
        """Return the file that becomes ``target``; the first process makes and names it."""
        shape = (self.graph.n_nodes, n_columns)
        made = None
        if self.rank == 0:
            made = self.files.enter_context(atomic_path(target))
            np.lib.format.open_memmap(made, "w+", np.float32, shape)
            with open(made, "r+b") as file:
                _reserve(file.fileno(), made.stat().st_size)
        return np.lib.format.open_memmap(self._shared(made), "r+")

    def scratch(self, n_columns: int) -> Array:
        """Return float32 room for activations: memory if they are small, otherwise a temporary file."""
        shape = (self.graph.n_nodes, n_columns)
        n_bytes = 4 * shape[0] * n_columns
        if n_bytes <= self.spill_from:
            return np.empty(shape, np.float32)
        with contextlib.ExitStack() as named:
            made = None
            if self.rank == 0:
                file = named.enter_context(
                    tempfile.NamedTemporaryFile(prefix=".ccassg-", suffix=".tmp", dir=self.folder)
                )
                _reserve(file.fileno(), n_bytes)
                made = Path(file.name)
            room = np.memmap(self._shared(made), np.float32, "r+", shape=shape)
            if self.ranks is not None:
                self.ranks.wait()  # until all have opened it: it loses its name now, so that no end of theirs leaves it behind
        return room

    def _shared(self, path: Path | None) -> Path:
        """Return the first process's path."""
        given = path if self.ranks is None else self.ranks.broadcast(path)
        assert given is not None
        return given


def _embed_layers(encoder: Encoder, work: _Work, out: Array) -> None:
    """Layer after layer, the last one into ``out``."""
    graph, scratch = work.graph, work.scratch
    h = feature_tensor(graph, "cpu")
    held: Any = graph.features  # the array behind ``h``
    aggregation = _Aggregation(graph) if encoder.n_hops else None
    last = len(encoder.weights) - 1

    def fill(target: Array, rows_of: Callable[[int, int], Tensor]) -> None:
        """Make ``target`` from ``h`` block by block; it is the next ``h``."""
        nonlocal h, held
        in_order = aggregation is None or rows_of is times_weight
        for start, stop in work.blocks(*[held] * in_order, target, gathered=held):
            target[start:stop] = rows_of(start, stop).cpu()
        h, held = torch.from_numpy(target), target

    def times_weight(start: int, stop: int) -> Tensor:
        rows = _slice(h, start, stop).to(weight.device)
        return sparse.multiply(rows, weight) if isinstance(rows, CSR) else rows @ weight

    def layer(start: int, stop: int) -> Tensor:
        if aggregation is None:
            rows = times_weight(start, stop)
        else:
            rows = aggregation(h, start, stop).to(weight.device)
            rows = rows if multiply_first else rows @ weight
        rows += encoder.biases[i]
        return rows if i == last else (encoder.norms[i](rows) if encoder.norms else rows).relu_()

    for i, weight in enumerate(encoder.weights):
        # Aggregate on the narrower side of the weight; sparse features are multiplied first in any case.
        multiply_first = isinstance(h, CSR) or weight.shape[0] > weight.shape[1]
        if aggregation is not None and multiply_first:
            fill(scratch(weight.shape[1]), times_weight)
        fill(out if i == last else scratch(weight.shape[1]), layer)


def _embed_parts(encoder: Canonical, work: _Work, out: Array) -> None:
    """Describe the features once, average them hop after hop, and write the parts of each hop."""
    graph, scratch = work.graph, work.scratch
    features, device = feature_tensor(graph, "cpu"), encoder.shift.device
    width, moving_width = encoder.widths[0], sum(encoder.widths[1:])
    moving = scratch(moving_width)
    for start, stop in work.blocks(graph.features, moving, out):
        described = encoder.describe(_slice(features, start, stop).to(device))
        out[start:stop, :width] = encoder.own(described).cpu()
        moving[start:stop] = encoder.moving(described).cpu()
        out[start:stop, width : width + moving_width] = encoder.averaged(encoder.moving(described), 0).cpu()
    if encoder.n_hops == 0:
        return
    aggregation, spare, column = _Aggregation(graph), scratch(moving_width), width + moving_width
    for hop in range(1, encoder.n_hops + 1):
        before = torch.from_numpy(moving)
        for start, stop in work.blocks(spare, out, gathered=moving):
            rows = aggregation(before, start, stop)
            spare[start:stop] = rows
            if hop in encoder.hops:
                out[start:stop, column : column + moving_width] = encoder.averaged(rows.to(device), hop).cpu()
        moving, spare = spare, moving
        column += moving_width * (hop in encoder.hops)


def _slice(rows: Tensor | CSR, start: int, stop: int) -> Tensor | CSR:
    """Return the rows of a block; dense ones are not copied."""
    return rows[start:stop] if isinstance(rows, Tensor) else take_rows(rows, torch.arange(start, stop))


class _Aggregation:
    """Rows of the normalised adjacency, with self-loops, times a matrix."""

    def __init__(self, graph: Graph) -> None:
        self.received, sent = neighbours(graph)
        self.degrees = tuple(_degrees(rows, weighted=graph.weights is not None) for rows in (self.received, sent))

    def __call__(self, h: Any, start: int, stop: int) -> Tensor:
        nodes = torch.arange(start, stop)
        rows = sparse.select_rows(self.received, nodes)
        a = sparse.add_self_loops(CSR(rows.indptr, rows.indices.long(), rows.values, rows.shape))
        a.indices[a.indptr[1:] - 1] = nodes
        received, sent = self.degrees
        values = sparse.scale_by_degrees(a.values, received[start + sparse.row_ids(a)], sent[a.indices])
        return sparse.multiply(a.with_values(values), h)


def _degrees(rows: CSR, *, weighted: bool) -> Tensor:
    """Return the sum of the weights of every row, and 1 for its self-loop, shape (n,)."""
    if not weighted:
        return (rows.indptr.diff() + 1).float()
    sums = torch.ones(rows.shape[0])
    for start in range(0, len(sums), BLOCK):
        nodes = torch.arange(start, min(start + BLOCK, len(sums)))
        sums[nodes] += sparse.row_sums(sparse.select_rows(rows, nodes))
    return sums


def _reserve(file: int, n_bytes: int) -> None:
    """Take the room on the disk at once: writing to a mapped file on a full one ends the process without a word."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, n_bytes)
