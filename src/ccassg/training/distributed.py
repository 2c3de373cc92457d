"""Many processes on one or more machines: how they meet, add up, swap rows and notice a loss.

The only file that knows torch.distributed. What each process holds of a graph is in `ccassg.training.shards`. In a single
process nothing is shared.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

# A rank that does not answer for this long is lost. Before the first step ranks may be busy reading much longer.
STEP_TIMEOUT = timedelta(seconds=50)
SETUP_TIMEOUT = timedelta(minutes=30)
# Adds a tensor up over all shards, in place, and returns it.
Total = Callable[[Tensor], Tensor]


def no_sharing(tensor: Tensor) -> Tensor:
    """Return the sum over shards when there is only one."""
    return tensor


class LostRankError(ConnectionError):
    """Another process of the run ended or stopped answering."""


def speaks() -> bool:
    """Tell whether this process, of those that torchrun started, is the one to print and to write files."""
    return int(os.environ.get("RANK", "0")) == 0


def is_first_here() -> bool:
    """Tell whether this process, of those that torchrun started, is the first on its machine."""
    return int(os.environ.get("LOCAL_RANK", "0")) == 0


@contextlib.contextmanager
def session(device: str = "cpu") -> Iterator[bool]:
    """Join the processes that torchrun started with this one; in a plain process, nothing. Yields whether it `speaks`."""
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
    """Return the processes this one trains with, inside a `session` of several; else None. All of them must call it."""
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
        """Return rank 0's value, for everyone; waits for ranks that are still reading."""
        box = [value if self.rank == 0 else None]
        with _lost_ranks(f"by rank {self.rank} of {self.size}"):
            dist.broadcast_object_list(box)
        return box[0]


class HaloExchange:
    """Rows that a rank needs of others: they follow its own ones in a tensor of (own + ``n_halo``, d).

    ``sent_rows`` are the own rows that others need, those for rank 0 first. The counts say how many rows go to, and come from,
    each rank.
    """

    def __init__(self, ranks: Ranks, sent_rows: Tensor, send_counts: list[int], receive_counts: list[int]) -> None:
        self.ranks, self.sent_rows = ranks, sent_rows
        self.send_counts, self.receive_counts = send_counts, receive_counts
        self.n_halo = sum(receive_counts)

    def spread(self, rows: Tensor) -> Tensor:
        """Fill in the rows of the halo from the ranks that own them; return the tensor."""
        halo = rows[len(rows) - self.n_halo :]
        self.ranks.swap(halo, rows[self.sent_rows], self.receive_counts, self.send_counts)
        return rows

    def collect(self, rows: Tensor) -> Tensor:
        """Add the rows of the halo to their owners' (the reverse of `spread`); return the own ones."""
        n_own = len(rows) - self.n_halo
        back = rows.new_empty(len(self.sent_rows), *rows.shape[1:])
        self.ranks.swap(back, rows[n_own:], self.send_counts, self.receive_counts)
        return rows[:n_own].index_add_(0, self.sent_rows, back)

    def everywhere(self, amounts: Tensor) -> Tensor:
        """Add up, per sender, own and halo, what it sends to this and all other ranks; in place."""
        self.collect(amounts)
        return self.spread(amounts)


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
