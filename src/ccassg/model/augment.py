"""Random views of a graph: edge dropping and feature masking.

Every draw is a function of (seed, step, view, what is drawn for), never of a generator's state: the same views come out
whatever the order, the batch or the number of processes, and a resumed run continues with the same ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ccassg.graph import Graph, sparse
from ccassg.graph.sparse import CSR

# What a draw is for; part of its key, so that no two uses of one (seed, step, view) share numbers.
EDGES, COLUMNS, NODES = 0, 1, 2

_MASK = 2**64 - 1
# Multipliers of the MurmurHash3 64-bit finaliser, as signed integers for torch.
_FIRST, _SECOND = 0xFF51AFD7ED558CCD - 2**64, 0xC4CEB9FE1A85EC53 - 2**64


def draw(keys: Tensor, *, seed: int, step: int, view: int, purpose: int) -> Tensor:
    """One uniform 64-bit integer (signed) per key, shape of ``keys``.

    A full-avalanche hash of the key and of (seed, step, view, purpose).
    """
    stream = _scramble(_scramble(_scramble(_scramble(seed & _MASK) ^ step) ^ view) ^ purpose)
    return mix(keys ^ (stream - 2**64 if stream >= 2**63 else stream))


def mix(x: Tensor) -> Tensor:
    """The MurmurHash3 finaliser, in place on an int64 tensor."""
    for multiplier in (_FIRST, _SECOND, None):
        x ^= (x >> 33) & 0x7FFFFFFF
        if multiplier is not None:
            x *= multiplier
    return x


def keep(keys: Tensor, rate: float, *, seed: int, step: int, view: int, purpose: int) -> Tensor:
    """Boolean mask, true with probability 1 - rate independently per key."""
    return draw(keys, seed=seed, step=step, view=view, purpose=purpose) >= threshold(rate)


def threshold(rate: float) -> int:
    """A draw is below this with probability ``rate``."""
    return int(rate * 2.0**64) - 2**63


@dataclass(frozen=True)
class Edges:
    """The fixed structure that edge dropping thins out: A + I with rows as receivers, and its transpose.

    ``keys`` names each entry independently of its position (hash of sender and receiver); ``loops`` are the positions
    of the self-loops. ``weighted`` is False where every value is 1, which makes degrees mere counts.
    """

    a: CSR
    keys: Tensor
    loops: Tensor
    rows: Tensor
    transposed: tuple[Tensor, Tensor, Tensor]
    weighted: bool


def edge_structure(graph: Graph, *, both_directions: bool = False, device: torch.device | str = "cpu") -> Edges:
    """Prepare a graph for `drop_edges`, once.

    Parameters
    ----------
    both_directions : bool
        Give the two directions of an edge the same key, so that they are dropped together.
    """
    adjacency = graph.adjacency()
    received = adjacency.T.tocsr() if graph.directed else adjacency
    a = sparse.add_self_loops(sparse.from_scipy(received))
    rows = sparse.row_ids(a)
    return Edges(
        a=a.to(device),
        keys=edge_keys(rows, a.indices.long(), graph.n_nodes, both_directions).to(device),
        loops=(a.indptr[1:].long() - 1).to(device),
        rows=rows.to(a.indices.dtype).to(device),
        transposed=tuple(part.to(device) for part in sparse.transpose_order(a)),  # type: ignore[arg-type]
        weighted=graph.weights is not None,
    )


def drop_edges(
    edges: Edges, rate: float, *, seed: int, step: int, view: int, total_sent: Callable[[Tensor], Tensor] | None = None
) -> tuple[CSR, CSR]:
    """Drop each edge with probability ``rate``; return the normalised view and its transpose.

    Dropped edges do not count in degrees. Self-loops stay, so no node loses itself. Both results hold only the edges
    that remain. Where the receivers are only some of the nodes, ``total_sent`` adds to what the senders (m,) send
    to these what they send to all others.
    """
    a = edges.a
    if rate == 0:
        kept = None
        view_a, rows, values = a, edges.rows, a.values
    else:
        kept = keep(edges.keys, rate, seed=seed, step=step, view=view, purpose=EDGES)
        kept[edges.loops] = True
        positions = kept.nonzero().squeeze(1)
        view_a = CSR(_running_count(kept)[a.indptr], a.indices[positions], a.values[:0], a.shape)
        rows = edges.rows[positions]
        values = a.values[positions] if edges.weighted else a.values[: len(positions)]
    if edges.weighted:
        received = a.values.new_zeros(a.shape[0]).index_add_(0, rows, values)
        sent = a.values.new_zeros(a.shape[1]).index_add_(0, view_a.indices, values)
    else:
        received = view_a.indptr.diff().to(values.dtype)
        sent = torch.bincount(view_a.indices, minlength=a.shape[1]).to(values.dtype)
    if total_sent is not None:
        sent = total_sent(sent)
    scaled = received.rsqrt()[rows] * sent.rsqrt()[view_a.indices]
    if edges.weighted:
        scaled *= values
    return view_a.with_values(scaled), _transposed(edges, kept, scaled)


def normalized(edges: Edges) -> CSR:
    """The whole graph as the encoder sees it at inference: every edge, normalised."""
    return drop_edges(edges, 0.0, seed=0, step=0, view=0)[0]


def mask_features(
    n_features: int, rate: float, *, seed: int, step: int, view: int, device: torch.device | str = "cpu"
) -> Tensor | None:
    """Boolean mask (n_features,) of the columns that stay; None if ``rate`` is 0 and all do."""
    if rate == 0:
        return None
    keys = mix(torch.arange(1, n_features + 1, device=device))
    return keep(keys, rate, seed=seed, step=step, view=view, purpose=COLUMNS)


def sample_nodes(n_nodes: int, size: int, *, seed: int, step: int, device: torch.device | str = "cpu") -> Tensor:
    """``size`` different nodes, uniformly, in increasing order."""
    keys = mix(torch.arange(1, n_nodes + 1, device=device))
    numbers = draw(keys, seed=seed, step=step, view=0, purpose=NODES)
    return torch.topk(numbers, size, sorted=False).indices.sort().values


def _transposed(edges: Edges, kept: Tensor | None, values: Tensor) -> CSR:
    indptr, indices, order = edges.transposed
    shape = (edges.a.shape[1], edges.a.shape[0])
    if kept is None:
        return CSR(indptr, indices, values[order], shape)
    kept_t = kept[order]
    positions = kept_t.nonzero().squeeze(1)
    # Where each kept entry of `a` went in the thinned arrays.
    place = _running_count(kept)[order[positions]]
    return CSR(_running_count(kept_t)[indptr], indices[positions], values[place], shape)


def _running_count(flags: Tensor) -> Tensor:
    """counts[i] = number of true flags before position i, shape (len + 1,), 32 bit where that suffices."""
    counts = torch.zeros(len(flags) + 1, dtype=torch.int32 if len(flags) < 2**31 else torch.int64, device=flags.device)
    torch.cumsum(flags, 0, out=counts[1:])
    return counts


def edge_keys(receivers: Tensor, senders: Tensor, n: int, both_directions: bool) -> Tensor:
    """A name for each edge of a graph of n nodes, the same wherever the edge is met."""
    if both_directions:
        receivers, senders = torch.maximum(receivers, senders), torch.minimum(receivers, senders)
    return mix(senders * n + receivers + 1)


def _scramble(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)
