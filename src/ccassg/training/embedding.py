"""Embed a graph with a trained encoder: at once, or layer by layer and block by block.

In blocks, no more than a block of activations is in memory beside the result. What a layer leaves to the next lies in memory
if it is small and in a temporary file otherwise; features, edges and the result may lie on disk as well.

Several processes embed together, each its share of the nodes (`ccassg.training.share`).
"""

import contextlib
import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from ccassg.graph import Array, Graph, sparse
from ccassg.graph.sparse import CSR
from ccassg.model import augment
from ccassg.model.canonical import Canonical
from ccassg.model.encoder import Encoder
from ccassg.training import distributed
from ccassg.training.rows import feature_tensor, neighbours, take_rows, window
from ccassg.training.share import Share

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
            _embed_parts(encoder, Share(graph, BLOCK, Path(), sys.maxsize, files, None), rows)
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
    bytes lie in temporary files beside ``out``. In a `distributed.session` of several processes all must call it; the first one
    writes and returns the file, the others return no rows.
    """
    if block < 1:
        raise ValueError(f"block must be at least 1, got {block}")
    encoder.eval()
    target, ranks = Path(out), distributed.active()
    with contextlib.ExitStack() as files:
        share = Share(graph, block, target.absolute().parent, spill_from, files, ranks)
        result = share.result(target, encoder.dims[-1])
        if ranks is not None:
            ranks.wait()  # a large file may take long to make
        if isinstance(encoder, Canonical):
            _embed_parts(encoder, share, result)
        else:
            _embed_layers(encoder, share, result)
        for start, stop in share.blocks(result):
            require_finite_rows(result[start:stop], share.start + start)
        share.deliver(result)
        if share.rank > 0:
            return np.empty((0, encoder.dims[-1]), np.float32)
        result.flush()
        del result
    return np.load(target, mmap_mode="r+")


def _embed_layers(encoder: Encoder, share: Share, out: Array) -> None:
    """Layer after layer, the last one into ``out``."""
    h: Any = share.features()
    held: Any = share.graph.features  # the array behind ``h``
    aggregation = _Aggregation(share) if encoder.n_hops else None
    last = len(encoder.weights) - 1

    def fill(target: Array, rows_of: Callable[[int, int], Tensor]) -> None:
        """Make ``target`` from ``h`` block by block; it is the next ``h``."""
        nonlocal h, held
        in_order = aggregation is None or rows_of is not layer
        for start, stop in share.blocks(*[held] * in_order, target, gathered=held):
            target[start:stop] = rows_of(start, stop).cpu()
        h, held = torch.from_numpy(target), target

    def times_weight(start: int, stop: int) -> Tensor:
        rows = _slice(h, start, stop).to(weight.device)
        return sparse.multiply(rows, weight) if isinstance(rows, CSR) else rows @ weight

    def unchanged(start: int, stop: int) -> Tensor:
        return h[start:stop]

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
        if aggregation is not None:
            if multiply_first:
                fill(share.scratch(weight.shape[1]), times_weight)
            elif i == 0 and share.place is not None:
                fill(share.scratch(h.shape[1]), unchanged)  # features have no room for those of the halo
            share.spread(held)
        fill(out if i == last else share.scratch(weight.shape[1]), layer)


def _embed_parts(encoder: Canonical, share: Share, out: Array) -> None:
    """Describe the features once, average them hop after hop, and write the parts of each hop."""
    aggregation = _Aggregation(share) if encoder.n_hops else None
    features, device = share.features(), encoder.shift.device
    width, moving_width = encoder.widths[0], sum(encoder.widths[1:])
    moving = share.scratch(moving_width)
    for start, stop in share.blocks(share.graph.features, moving, out):
        described = encoder.describe(_slice(features, start, stop).to(device))
        out[start:stop, :width] = encoder.own(described).cpu()
        moving[start:stop] = encoder.moving(described).cpu()
        out[start:stop, width : width + moving_width] = encoder.averaged(encoder.moving(described), 0).cpu()
    if aggregation is None:
        return
    spare, column = share.scratch(moving_width), width + moving_width
    for hop in range(1, encoder.n_hops + 1):
        before = torch.from_numpy(share.spread(moving))
        for start, stop in share.blocks(spare, out, gathered=moving):
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
    """The own rows of the normalised adjacency, with self-loops, times a table."""

    def __init__(self, share: Share) -> None:
        of_all = neighbours(share.graph)
        share.meet(*of_all)
        self.place, self.n_rows = share.place, share.n_rows
        self.received, sent = (window(rows, share.start, share.stop) for rows in of_all)
        weighted = share.graph.weights is not None
        self.own_degrees = _degrees(self.received, weighted=weighted)
        degrees = np.empty((share.n_rows, 1), np.float32)
        degrees[: share.n_own, 0] = _degrees(sent, weighted=weighted)
        self.degrees = torch.from_numpy(share.spread(degrees)).squeeze(1)

    def __call__(self, h: Any, start: int, stop: int) -> Tensor:
        nodes = torch.arange(start, stop)
        rows = sparse.select_rows(self.received, nodes)
        senders = rows.indices.long()
        places = senders if self.place is None else self.place[senders].long()
        a = sparse.add_self_loops(CSR(rows.indptr, places, rows.values, (len(nodes), self.n_rows)))
        a.indices[a.indptr[1:] - 1] = nodes
        values = sparse.scale_by_degrees(a.values, self.own_degrees[start + sparse.row_ids(a)], self.degrees[a.indices])
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
