"""Many processes on one or more machines: how they meet, add up, swap rows and notice a loss.

The only file that knows torch.distributed. What each process holds of a graph is in `ccassg.training.shards`. In a single
process nothing is shared.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

# A rank that does not answer for this long is lost. Before the first step ranks may be busy reading much longer.
STEP_TIMEOUT = timedelta(seconds=40)
SETUP_TIMEOUT = timedelta(minutes=30)
# Who is alive answers a roll call within a moment, whatever it computes; for those who do not, nobody waits longer than this.
ASK_SECONDS, LEAST_SECONDS, MOST_SECONDS = 0.2, 1.0, 5.0
# Adds a tensor up over all shards, in place, and returns it.
Total = Callable[[Tensor], Tensor]


def no_sharing(tensor: Tensor) -> Tensor:
    """Return the sum over shards when there is only one."""
    return tensor


class LostRankError(ConnectionError):
    """Another process of the run ended or stopped answering."""


def speaks() -> bool:
    """Tell whether this process, of those that torchrun started, is the one to print and to write files."""
    return rank() == 0


def rank() -> int:
    """Return the number of this process among those that torchrun started with it."""
    return int(os.environ.get("RANK", "0"))


def n_processes() -> int:
    """Return how many processes torchrun started with this one."""
    return int(os.environ.get("WORLD_SIZE", "1"))


@contextlib.contextmanager
def session(device: str = "cpu", checkpoint: Path | None = None) -> Iterator[bool]:
    """Join the processes that torchrun started with this one; in a plain process, nothing. Yields whether it `speaks`.

    Where one of them is lost, or told to end, every other says which, and names the checkpoint to go on from.
    """
    if n_processes() < 2:
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
        # What is embedded in blocks lies in the processor's memory in either case.
        backend = "cpu:gloo,cuda:nccl" if cuda else "gloo"
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=SETUP_TIMEOUT)
        global _roll
        _roll = _Roll(store, rank, size, checkpoint)
    try:
        with _told_to_end(_roll):
            yield speaks()
    finally:
        _roll.close()
        _roll = None
        dist.destroy_process_group()


def active() -> Ranks | None:
    """Return the processes this one trains with, inside a `session` of several; else None. All of them must call it."""
    return Ranks() if is_shared() else None


def is_shared() -> bool:
    """Tell whether this process is in a `session` of several."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


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
        return tensor.copy_(shared)

    def swap(self, received: Tensor, sent: Tensor, receive_counts: list[int], send_counts: list[int]) -> None:
        """Send ``send_counts[r]`` rows to every rank r, and fill ``received`` with what comes from each."""
        self.n_bytes += sent.nbytes
        with _lost_ranks(f"by rank {self.rank} of {self.size}"):
            dist.all_to_all_single(received, sent, receive_counts, send_counts, group=self._group)

    def wait(self) -> None:
        """Wait until every rank has come here, however long each of them computes."""
        with _lost_ranks(f"by rank {self.rank} of {self.size}"):
            dist.barrier()

    def keep_pace(self) -> None:
        """Wait for ranks that have a step's time to come here; one that does not come is lost."""
        with _lost_ranks(f"by rank {self.rank} of {self.size}"):
            dist.barrier(self._group)

    def broadcast(self, value: Any) -> Any:
        """Return rank 0's value, for everyone; waits for ranks that are still reading."""
        box = [value if self.rank == 0 else None]
        with _lost_ranks(f"by rank {self.rank} of {self.size}"):
            dist.broadcast_object_list(box)
        return box[0]


class _Roll:
    """Who is still there, asked when a process is lost.

    Every process answers from a thread of its own: its training may be waiting for the lost one.
    """

    def __init__(self, store: Any, rank: int, size: int, checkpoint: Path | None) -> None:
        self.rank, self.size, self.checkpoint = rank, size, checkpoint
        self.called, self._who = False, ""
        self._store = store.clone() if hasattr(store, "clone") else store
        # Read now: the store may be lost together with a host.
        self._store.set(f"host {rank}", platform.node())
        self._hosts = [each.decode() for each in self._store.multi_get([f"host {r}" for r in range(size)])]
        self._store.set_timeout(timedelta(seconds=MOST_SECONDS))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._answer, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Answer no more."""
        self._over.set()
        if not self.called:  # else the store may not answer the thread
            self._thread.join(MOST_SECONDS)

    def call(self, *, told: bool = False) -> str:
        """Return who was lost, in words; ``told`` says that this process was told to end."""
        self.called = True
        # The store waits for an unplugged machine much longer than anybody should.
        asking = threading.Thread(target=self._ask, kwargs={"told": told}, daemon=True)
        asking.start()
        asking.join(MOST_SECONDS + 1)
        if asking.is_alive() and "TORCHELASTIC_RUN_ID" in os.environ:
            # torchrun, which started this process, waits for the same store without end and hears no other signal.
            atexit.register(os.kill, os.getppid(), signal.SIGKILL)
        return self._who or self._keeper()

    def _ask(self, *, told: bool) -> None:
        start = time.monotonic()
        with contextlib.suppress(RuntimeError):
            if told:
                self._store.compare_set("told", "", str(self.rank))
            self._store.set("lost", "")
            self._store.set(f"here {self.rank}", "")
            while missing := [r for r in range(self.size) if not self._store.check([f"here {r}"])]:
                passed = time.monotonic() - start
                if passed > (LEAST_SECONDS if len(missing) == 1 else MOST_SECONDS):
                    break
                time.sleep(ASK_SECONDS)
            if missing:
                self._who = f"{self._named(missing)} ended or stopped answering"
            elif self._store.check(["told"]):
                self._who = f"{self._named([int(self._store.get('told'))])} was told to end"
            else:
                self._who = "a process of this run ended or stopped answering"

    def _keeper(self) -> str:
        """Name who kept the store, which does not answer: torchrun on one of the machines, or else the first process."""
        if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
            return f"{self._named([0])} ended or stopped answering"
        where = f" on {os.environ['MASTER_ADDR']}" if len(set(self._hosts)) > 1 else ""
        return f"a process of this run{where} ended or stopped answering"

    def _named(self, ranks: list[int]) -> str:
        """Say which processes these are, and where."""
        where = f" on {', '.join(dict.fromkeys(self._hosts[r] for r in ranks))}" if len(set(self._hosts)) > 1 else ""
        return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))} of {self.size}{where}"

    def _answer(self) -> None:
        with contextlib.suppress(RuntimeError):
            while not self._over.wait(ASK_SECONDS):
                if self._store.check(["lost"]):
                    # Now, for the one that called first may take the store with it.
                    return self._ask(told=False)


_roll: _Roll | None = None


@contextlib.contextmanager
def _told_to_end(roll: _Roll) -> Iterator[None]:
    """Let SIGTERM end the process with a sentence: torchrun sends it to all that are left when it has lost one."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def tell(number: int, frame: Any) -> None:
        if not roll.called:  # else its last words are on their way
            raise _lost(f"by rank {roll.rank} of {roll.size}", "SIGTERM", told=True)

    signal.signal(signal.SIGTERM, tell)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextlib.contextmanager
def _lost_ranks(noticed: str) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise _lost(noticed, reason) from error


def _lost(noticed: str, reason: str, *, told: bool = False) -> LostRankError:
    """Return the error that says who was lost, and how to go on."""
    if _roll is None and int(os.environ.get("GROUP_WORLD_SIZE", "1")) > 1 and "GLOO_SOCKET_IFNAME" not in os.environ:
        noticed += f" on {platform.node()}; if its name leads to 127.0.1.1, set GLOO_SOCKET_IFNAME=eth0 or what its network interface is called"
    who = "a process of this run ended or stopped answering" if _roll is None else _roll.call(told=told)
    path = None if _roll is None else _roll.checkpoint
    saved = "the last checkpoint, if there is one" if path is None else str(path)
    if path is not None and not path.exists():
        saved = f"the start, as {path} was not written yet"
    return LostRankError(
        f"{who} (noticed {noticed}: {reason}); the same command continues from {saved}, and torchrun --max-restarts does so "
        f"by itself"
    )
