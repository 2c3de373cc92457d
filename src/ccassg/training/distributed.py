"""Training one model on many processes and machines: the only file that knows torch.distributed.

Every process (rank) holds a part of the nodes: their features and in-edges, and copies of the features of the *halo*, the other
parts' nodes it receives from. Aggregations after the first exchange the halo's activations (`HaloExchange`); column sums and
Grams are added up over all ranks. Edges and columns are drawn by hashes of their global numbers, so the views, and the
loss to float32 rounding, are those of a single process, whatever the number of ranks and the partition.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from ccassg.graph import Array, Graph, partition, sparse
from ccassg.graph.sparse import CSR
from ccassg.io import store
from ccassg.model import augment
from ccassg.model.augment import Edges
from ccassg.training.batches import Rows, neighbours, rows_of_features
from ccassg.training.products import FirstProduct, first_product
from ccassg.training.step import View

if TYPE_CHECKING:
    from ccassg.model.encoder import Encoder
    from ccassg.training.loop import Settings

# A rank that does not answer for this long is lost. Before the first step ranks may be busy reading much longer.
STEP_TIMEOUT = timedelta(seconds=50)
SETUP_TIMEOUT = timedelta(minutes=30)


class LostRankError(ConnectionError):
    """Another process of the run ended or stopped answering."""


def speaks() -> bool:
    """Whether this process, of those that torchrun started, is the one to print and to write files."""
    return int(os.environ.get("RANK", "0")) == 0


def is_first_here() -> bool:
    """Whether this process, of those that torchrun started, is the first on its machine."""
    return int(os.environ.get("LOCAL_RANK", "0")) == 0


@contextlib.contextmanager
def session(device: str = "cpu") -> Iterator[bool]:
    """Join the processes that torchrun started with this one; in a plain process, nothing.

    Yields
    ------
    bool
        Whether this process `speaks` for all.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        yield True
        return
    cuda = torch.device(device).type == "cuda"
    if cuda:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    elif "OMP_NUM_THREADS" not in os.environ:
        local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        torch.set_num_threads(max(1, torch.get_num_threads() // local))
    with _lost_ranks("while the processes met"):
        store, rank, size = next(dist.rendezvous("env://", timeout=SETUP_TIMEOUT))  # type: ignore[attr-defined]
        # torchrun keeps its store over restarts: without a prefix of its own, a process could read the addresses of the dead.
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        store = dist.PrefixStore(f"attempt {attempt}", store)  # type: ignore[attr-defined]
        backend = "nccl" if cuda else "gloo"
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=SETUP_TIMEOUT)
    try:
        yield speaks()
    finally:
        dist.destroy_process_group()


def active() -> Ranks | None:
    """The processes this one trains with, inside a `session` of several; else None. All of them must call it."""
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() < 2:
        return None
    return Ranks()


class Ranks:
    """What this process can do together with the others. ``n_bytes`` counts what it sent to or added up with them."""

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.n_bytes = 0
        with _lost_ranks("before the first step"):
            dist.barrier()  # waits for ranks that are still reading; the group below would not
            self._group = dist.new_group(timeout=STEP_TIMEOUT)

    def total(self, tensor: Tensor) -> Tensor:
        """Add a tensor up over all ranks, in place."""
        self.n_bytes += tensor.nbytes
        shared = tensor.contiguous()
        with _lost_ranks(f"by rank {self.rank} of {self.size}"):
            dist.all_reduce(shared, group=self._group)
        return tensor if shared is tensor else tensor.copy_(shared)

    def swap(self, received: Tensor, sent: Tensor, receive_counts: list[int], send_counts: list[int]) -> None:
        """Send ``send_counts[r]`` rows to every rank r, and fill ``received`` with what comes from each."""
        self.n_bytes += sent.nbytes
        with _lost_ranks(f"by rank {self.rank} of {self.size}"):
            dist.all_to_all_single(received, sent, receive_counts, send_counts, group=self._group)

    def broadcast(self, value: Any) -> Any:
        """Rank 0's value, for everyone; waits for ranks that are still reading."""
        box = [value if self.rank == 0 else None]
        with _lost_ranks(f"by rank {self.rank} of {self.size}"):
            dist.broadcast_object_list(box)
        return box[0]


class HaloExchange:
    """Rows of other ranks that this one needs, behind its own ones; see `ccassg.training.head.Exchange`.

    Parameters
    ----------
    ranks : Ranks
    sent_rows : Tensor
        Own rows that others need, those for rank 0 first.
    send_counts, receive_counts : lists of int
        How many rows go to, and come from, each rank.
    """

    def __init__(self, ranks: Ranks, sent_rows: Tensor, send_counts: list[int], receive_counts: list[int]) -> None:
        self.ranks, self.sent_rows = ranks, sent_rows
        self.send_counts, self.receive_counts = send_counts, receive_counts
        self.n_halo = sum(receive_counts)

    def spread(self, rows: Tensor) -> Tensor:
        """Fill in the rows of the halo from the ranks that own them."""
        halo = rows[len(rows) - self.n_halo :]
        self.ranks.swap(halo, rows[self.sent_rows], self.receive_counts, self.send_counts)
        return rows

    def collect(self, rows: Tensor) -> Tensor:
        """Add the rows of the halo to their owners'; return the own ones."""
        n_own = len(rows) - self.n_halo
        back = rows.new_empty(len(self.sent_rows), *rows.shape[1:])
        self.ranks.swap(back, rows[n_own:], self.send_counts, self.receive_counts)
        return rows[:n_own].index_add_(0, self.sent_rows, back)

    def everywhere(self, amounts: Tensor) -> Tensor:
        """Per sender, own and halo: the sum of what it sends to this and all other ranks; in place."""
        self.collect(amounts)
        return self.spread(amounts)


@dataclass(frozen=True)
class Shard:
    """A rank's part of a graph: ``own`` and ``halo`` are global node numbers, in the order of the local ones."""

    own: Tensor
    halo: Tensor
    edges: Edges
    exchange: HaloExchange


class ShardViews:
    """The two random views of the whole graph at a step, as far as this rank computes them."""

    def __init__(self, graph: Graph, encoder: Encoder, settings: Settings, ranks: Ranks) -> None:
        if settings.loss_nodes or settings.augmentations:
            which = "loss_nodes" if settings.loss_nodes else "augmentations"
            raise ValueError(f"{which} works in a single process only; leave it out or start without torchrun")
        self.n_nodes, self.settings, self.device = graph.n_nodes, settings, encoder.weights[0].device
        self.n_features, self.n_layers = graph.n_features, len(encoder.weights)
        parts = ranks.broadcast(parts_for_ranks(graph, ranks.size) if ranks.rank == 0 else None)
        self.shard: Shard | None = None
        self.exchange: HaloExchange | None = None
        nodes = torch.from_numpy(np.flatnonzero(parts == ranks.rank))
        if encoder.propagate:
            self.shard = make_shard(graph, parts, ranks, settings.drop_both_directions, self.device)
            self.exchange = self.shard.exchange
            nodes = torch.cat([self.shard.own, self.shard.halo])
        features = rows_of_features(graph)
        local = features[nodes] if isinstance(features, Tensor) else features.rows(nodes)
        self.features = first_product(local.to(self.device))

    def __call__(self, step: int) -> tuple[FirstProduct, tuple[View, View], int]:
        """Features, views and number of nodes in the loss, over all ranks, at ``step``."""
        return self.features, (self._view(step, 0), self._view(step, 1)), self.n_nodes

    def _view(self, step: int, v: int) -> View:
        settings, draws = self.settings, {"seed": self.settings.seed, "step": step, "view": v}
        columns = augment.mask_features(self.n_features, settings.feature_mask_rate[v], device=self.device, **draws)
        if self.shard is None:
            return View(columns, None)
        everywhere = self.shard.exchange.everywhere
        pair = augment.drop_edges(self.shard.edges, settings.edge_drop_rate[v], total_sent=everywhere, **draws)
        return View(columns, [pair] * self.n_layers)


def parts_for_ranks(graph: Graph, n_ranks: int) -> Array:
    """The part of every node for a run on so many processes.

    The parts of a store are dealt out in order where there are enough of them, else cut evenly; any other graph is
    partitioned anew.
    """
    folder = store.location(graph)
    if folder is None:
        return partition.partition(graph, n_ranks)
    stored = store.part_bounds(folder)
    n_parts = len(stored) - 1
    if n_parts >= n_ranks and n_parts > 1:
        return partition.ranges_to_parts([stored[n_parts * k // n_ranks] for k in range(n_ranks + 1)])
    return partition.ranges_to_parts(partition.even_bounds(graph.n_nodes, n_ranks))


def make_shard(
    graph: Graph, parts: Array, ranks: Ranks, both_directions: bool, device: torch.device | str = "cpu"
) -> Shard:
    """Cut this rank's part out of a graph; of a store it reads only the rows it needs.

    Parameters
    ----------
    parts : int array of shape (n,)
        The rank of every node.
    """
    received, sent = neighbours(graph)
    part_of = torch.from_numpy(parts)
    own = torch.from_numpy(np.flatnonzero(parts == ranks.rank))
    rows = received.rows(own)
    senders = rows.indices.long()
    halo, receive_counts = _by_part(senders, part_of, ranks)
    nodes = torch.cat([own, halo])
    place = torch.empty(graph.n_nodes, dtype=torch.int32)
    place[nodes] = torch.arange(len(nodes), dtype=torch.int32)
    values = rows.values if rows.values.numel() else torch.ones(rows.nnz)
    # Entries stay in the order of their global numbers, so that sums come out as in a single process, bit for bit.
    a = sparse.add_self_loops(CSR(rows.indptr.int(), place[senders], values, (len(own), len(nodes))))
    receivers = sparse.row_ids(a)
    edges = Edges(
        a=a.to(device),
        keys=augment.edge_keys(own[receivers], nodes[a.indices], graph.n_nodes, both_directions).to(device),
        loops=(a.indptr[1:].long() - 1).to(device),
        rows=receivers.to(torch.int32).to(device),
        transposed=tuple(part.to(device) for part in sparse.transpose_order(a)),  # type: ignore[arg-type]
        weighted=graph.weights is not None,
    )
    needed, send_counts = _needed_by_others(sent, own, part_of, ranks)
    return Shard(own, halo, edges, HaloExchange(ranks, needed.to(device), send_counts, receive_counts))


def _by_part(nodes: Tensor, part_of: Tensor, ranks: Ranks) -> tuple[Tensor, list[int]]:
    """The different nodes of other parts, ordered by part and number, and how many there are of each part."""
    foreign = nodes.unique()
    foreign = foreign[part_of[foreign] != ranks.rank]
    order = part_of[foreign].argsort(stable=True)
    return foreign[order], torch.bincount(part_of[foreign], minlength=ranks.size).tolist()


def _needed_by_others(sent: Rows, own: Tensor, part_of: Tensor, ranks: Ranks) -> tuple[Tensor, list[int]]:
    """Own rows that send to nodes of each other rank, in the order in which that rank expects them."""
    rows = sent.rows(own)
    pairs = part_of[rows.indices.long()].long() * len(own) + sparse.row_ids(rows)
    pairs = pairs.unique()
    rank, row = pairs // len(own), pairs % len(own)
    other = rank != ranks.rank
    return row[other], torch.bincount(rank[other], minlength=ranks.size).tolist()


@contextlib.contextmanager
def _lost_ranks(noticed: str) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise LostRankError(
            f"a process of this run ended or stopped answering (noticed {noticed}: {reason}); the same command "
            f"continues from the last checkpoint, and torchrun --max-restarts does so by itself"
        ) from error
