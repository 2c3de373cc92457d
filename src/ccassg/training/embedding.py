"""Embed a graph with a trained encoder: at once, or layer by layer and block by block.

In blocks, no more than a block of activations is in memory beside the result. What a layer leaves to the next lies in memory
if it is small and in a temporary file otherwise; features, edges and the result may lie on disk as well.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
from ccassg.training.rows import Rows, feature_tensor, neighbours, rows_of_features

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
    encoder: Encoder,
    graph: Graph,
    out: str | os.PathLike[str] | Array | None = None,
    *,
    block: int = BLOCK,
    spill_from: int = SPILL_FROM,
) -> Array:
    """Return what `embed` returns, to float32 rounding, made block by block.

    Parameters
    ----------
    encoder : Encoder
    graph : Graph
        With features; its arrays may lie in a store.
    out : path or float32 array of shape (n, d), optional
        Where to put the result: a ``.npy`` file to make, which then comes back memory-mapped, or an array.
    block : int
        Nodes at a time.
    spill_from : int
        Activations of more bytes than this lie in a temporary file.

    Returns
    -------
    float32 array of shape (n, d)
    """
    if block < 1:
        raise ValueError(f"block must be at least 1, got {block}")
    shape = (graph.n_nodes, encoder.dims[-1])
    encoder.eval()
    if out is None:
        out = np.empty(shape, np.float32)
    if isinstance(out, np.ndarray):
        if out.shape != shape or out.dtype != np.float32:
            raise ValueError(f"out must be float32 of shape {shape}, got {out.dtype} of shape {out.shape}")
        _embed_towers(encoder, graph, out, block, _Scratch(None, spill_from))
        return out
    target = Path(out)
    with atomic_path(target) as temporary:
        mapped = np.lib.format.open_memmap(temporary, "w+", np.float32, shape)
        with open(temporary, "r+b") as file:
            _reserve(file.fileno(), temporary.stat().st_size)
        _embed_towers(encoder, graph, mapped, block, _Scratch(target.absolute().parent, spill_from))
        mapped.flush()
        del mapped
    return np.load(target, mmap_mode="r+")


def _embed_towers(encoder: Encoder, graph: Graph, out: Array, block: int, scratch: _Scratch) -> None:
    """Each tower into its own columns of ``out``."""
    start = 0
    for tower in encoder:
        stop = start + tower.dims[-1]
        _embed_into(tower, graph, out[:, start:stop], block, scratch)
        start = stop


def _embed_into(tower: Tower, graph: Graph, out: Array, block: int, scratch: _Scratch) -> None:
    """Layer after layer, the last one into ``out``."""
    h: Tensor | Rows = rows_of_features(graph)
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
        return _times(h[torch.arange(start, stop)] if isinstance(h, Rows) else h[start:stop], weight)

    def aggregated(start: int, stop: int) -> Tensor:
        assert aggregation is not None
        return aggregation(h, start, stop)

    def layer(start: int, stop: int) -> Tensor:
        if not n_hops:
            rows = times_weight(start, stop)
        else:
            rows = aggregated(start, stop).to(weight.device)
            rows = rows if multiply_first else _times(rows, weight)
        rows += tower.biases[i]
        return rows if i == last else (tower.norms[i](rows) if tower.norms else rows).relu_()

    with contextlib.ExitStack() as files:
        for i, weight in enumerate(tower.weights):
            n_hops = tower.propagate + (tower.extra_hops if i == last else 0)
            # Aggregate on the narrower side of the weight; sparse features are multiplied first in any case.
            multiply_first = isinstance(h, Rows) or weight.shape[0] > weight.shape[1]
            if n_hops and multiply_first:
                fill(files.enter_context(scratch((graph.n_nodes, weight.shape[1]))), times_weight)
            for _ in range(n_hops - 1):
                fill(files.enter_context(scratch((graph.n_nodes, held.shape[1]))), aggregated)
            fill(out if i == last else files.enter_context(scratch((graph.n_nodes, weight.shape[1]))), layer)


class _Aggregation:
    """Rows of the normalised adjacency, with self-loops, times a matrix."""

    def __init__(self, graph: Graph) -> None:
        self.received, sent = neighbours(graph)
        self.degrees = tuple(_degrees(rows, graph.n_nodes) for rows in (self.received, sent))

    def __call__(self, h: Any, start: int, stop: int) -> Tensor:
        nodes = torch.arange(start, stop)
        rows = self.received[nodes]
        a = sparse.add_self_loops(CSR(rows.indptr, rows.indices.long(), rows.values, rows.shape))
        a.indices[a.indptr[1:] - 1] = nodes
        received, sent = self.degrees
        values = sparse.scale_by_degrees(a.values, received[start + sparse.row_ids(a)], sent[a.indices])
        return sparse.multiply(a.with_values(values), h)


def _degrees(rows: Rows, n: int) -> Tensor:
    """Sum of the weights of every row, and 1 for its self-loop, shape (n,)."""
    if rows.weights is None:
        return (rows.indptr.diff() + 1).float()
    sums = torch.ones(n)
    for start in range(0, n, BLOCK):
        nodes = torch.arange(start, min(start + BLOCK, n))
        sums[nodes] += sparse.row_sums(rows[nodes])
    return sums


def _times(rows: Tensor | CSR, weight: Tensor) -> Tensor:
    """Rows times a weight, on the weight's device."""
    rows = rows.to(weight.device)
    return sparse.multiply(rows, weight) if isinstance(rows, CSR) else rows @ weight


@dataclass(frozen=True)
class _Scratch:
    """Where activations go: memory if they are small, otherwise a temporary file in ``folder``."""

    folder: Path | None
    spill_from: int

    @contextlib.contextmanager
    def __call__(self, shape: tuple[int, int]) -> Iterator[Array]:
        """A float32 array of a shape."""
        n_bytes = 4 * shape[0] * shape[1]
        if n_bytes <= self.spill_from:
            yield np.empty(shape, np.float32)
            return
        with tempfile.TemporaryFile(dir=self.folder) as file:
            _reserve(file.fileno(), n_bytes)
            yield np.memmap(file, np.float32, "w+", shape=shape)


def _reserve(file: int, n_bytes: int) -> None:
    """Take the room on the disk at once: writing to a mapped file on a full one ends the process without a word."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, n_bytes)
