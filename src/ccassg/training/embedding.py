"""Embed a graph with a trained encoder: at once, or layer by layer and block by block.

In blocks, no more than a block of activations is in memory beside the result. What a layer leaves to the next lies in memory
if it is small and in a temporary file otherwise; features, edges and the result may lie on disk as well.
"""

import contextlib
import functools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ccassg.graph import Array, Graph, sparse
from ccassg.graph.sparse import CSR
from ccassg.io.atomic import atomic_path
from ccassg.io.store import release
from ccassg.model import augment
from ccassg.model.encoder import Encoder, Tower
from ccassg.training.rows import feature_tensor, neighbours, take_rows

BLOCK = 65_536
SPILL_FROM = 2**28


@torch.no_grad()
def embed(encoder: Encoder, graph: Graph) -> Tensor:
    """Return the embeddings (n, d) of the graph as it is: no dropping, no masking, batch norm in evaluation mode."""
    device = next(encoder.parameters()).device
    a = augment.normalized(graph, device=device) if encoder.n_hops else None
    z: Tensor = encoder.eval()(feature_tensor(graph, device), a)
    return z


@torch.no_grad()
def embed_blocks(
    encoder: Encoder, graph: Graph, out: str | os.PathLike[str], *, block: int = BLOCK, spill_from: int = SPILL_FROM
) -> Array:
    """Write what `embed` returns, to float32 rounding, into a ``.npy`` file, and return it memory-mapped, (n, d).

    The graph's arrays may lie in a store. Nodes are taken ``block`` at a time, and activations of more than ``spill_from``
    bytes lie in temporary files beside ``out``.
    """
    if block < 1:
        raise ValueError(f"block must be at least 1, got {block}")
    encoder.eval()
    target = Path(out)
    with atomic_path(target) as temporary:
        mapped = np.lib.format.open_memmap(temporary, "w+", np.float32, (graph.n_nodes, encoder.dims[-1]))
        with open(temporary, "r+b") as file:
            _reserve(file.fileno(), temporary.stat().st_size)
        start = 0
        for tower in encoder:
            stop = start + tower.dims[-1]
            with contextlib.ExitStack() as files:
                scratch = functools.partial(_scratch, files, target.absolute().parent, spill_from)
                _embed_into(tower, graph, mapped[:, start:stop], block, scratch)
            start = stop
        mapped.flush()
        del mapped
    return np.load(target, mmap_mode="r+")


def _embed_into(tower: Tower, graph: Graph, out: Array, block: int, scratch: Callable[[int, int], Array]) -> None:
    """Layer after layer, the last one into ``out``."""
    h = feature_tensor(graph, "cpu")
    held: Any = graph.features  # the array behind ``h``
    aggregation = _Aggregation(graph) if tower.n_hops else None
    last = len(tower.weights) - 1

    def fill(target: Array, rows_of: Callable[[int, int], Tensor]) -> None:
        """Make ``target`` from ``h`` block by block; it is the next ``h``."""
        nonlocal h, held
        for start in range(0, graph.n_nodes, block):
            stop = min(start + block, graph.n_nodes)
            target[start:stop] = rows_of(start, stop).cpu()
            for array in (held, target, graph.indices):
                release(array)  # keeps the pages of mapped files out of this process once a block is done
        h, held = torch.from_numpy(target), target

    def times_weight(start: int, stop: int) -> Tensor:
        rows = take_rows(h, torch.arange(start, stop)) if isinstance(h, CSR) else h[start:stop]
        rows = rows.to(weight.device)
        return sparse.multiply(rows, weight) if isinstance(rows, CSR) else rows @ weight

    def aggregated(start: int, stop: int) -> Tensor:
        assert aggregation is not None
        return aggregation(h, start, stop)

    def layer(start: int, stop: int) -> Tensor:
        if not n_hops:
            rows = times_weight(start, stop)
        else:
            rows = aggregated(start, stop).to(weight.device)
            rows = rows if multiply_first else rows @ weight
        rows += tower.biases[i]
        return rows if i == last else (tower.norms[i](rows) if tower.norms else rows).relu_()

    for i, weight in enumerate(tower.weights):
        n_hops = tower.propagate + (tower.extra_hops if i == last else 0)
        # Aggregate on the narrower side of the weight; sparse features are multiplied first in any case.
        multiply_first = isinstance(h, CSR) or weight.shape[0] > weight.shape[1]
        if n_hops and multiply_first:
            fill(scratch(graph.n_nodes, weight.shape[1]), times_weight)
        for _ in range(n_hops - 1):
            fill(scratch(graph.n_nodes, held.shape[1]), aggregated)
        fill(out if i == last else scratch(graph.n_nodes, weight.shape[1]), layer)


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


def _scratch(files: contextlib.ExitStack, folder: Path, spill_from: int, n_rows: int, n_columns: int) -> Array:
    """Return float32 room for activations: memory if they are small, otherwise a temporary file in ``folder``."""
    n_bytes = 4 * n_rows * n_columns
    if n_bytes <= spill_from:
        return np.empty((n_rows, n_columns), np.float32)
    file = files.enter_context(tempfile.TemporaryFile(dir=folder))  # noqa: SIM115
    _reserve(file.fileno(), n_bytes)
    return np.memmap(file, np.float32, "w+", shape=(n_rows, n_columns))


def _reserve(file: int, n_bytes: int) -> None:
    """Take the room on the disk at once: writing to a mapped file on a full one ends the process without a word."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, n_bytes)
