"""Many processes on one or more machines: how they meet, add up, swap rows and notice a loss.

The only file that knows torch.distributed. What each process holds of a graph is in `ccassg.training.shards`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

# A rank that does not answer for this long is lost. Before the first step ranks may be busy reading much longer.
STEP_TIMEOUT = timedelta(seconds=50)
SETUP_TIMEOUT = timedelta(minutes=30)


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
