"""The nodes that one process embeds: a range of them, with room for what it makes and for what it needs of others.

Several processes (`ccassg.training.distributed`), on one machine or many, embed a range each, and read no other rows. Rows of their
halos they send each other after every layer, those of the result to the first process at the end. No file is shared.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ccassg.graph import Array, Graph, partition
from ccassg.graph.sparse import CSR
from ccassg.io.atomic import atomic_path
from ccassg.io.store import release
from ccassg.training.distributed import Ranks
from ccassg.training.halo import find_halo
from ccassg.training.rows import feature_tensor, window
from ccassg.training.shards import bounds_for_ranks


class Share:
    """The own nodes ``start .. stop`` of a graph, their blocks, and tables of a row per own node and one per node of the halo.

    Without ``ranks`` all nodes are own ones, and there is no halo. Tables of more than ``spill_from`` bytes lie in temporary files
    in ``folder``, or where that is not on this machine, in the system's own place for them.
    """

    def __init__(
        self, graph: Graph, block: int, folder: Path, spill_from: int, files: contextlib.ExitStack, ranks: Ranks | None
    ) -> None:
        self.graph, self.block, self.folder, self.spill_from = graph, block, folder, spill_from
        self.files, self.ranks = files, ranks
        self.rank, size = (0, 1) if ranks is None else (ranks.rank, ranks.size)
        self.bounds = bounds_for_ranks(graph, size)
        self.start, self.stop = self.bounds[self.rank : self.rank + 2]
        self.n_own = self.n_rows = self.stop - self.start
        self._n_blocks = max(-(-n // block) for n in np.diff(self.bounds).tolist())
        # Where each node's row is in a table; None where that is its number.
        self.place: Tensor | None = None
        self._sent: list[Tensor] = []
        self._received: list[Tensor] = []

    def features(self) -> Tensor | CSR:
        """Return the features of the own nodes, still where they lie; of sparse ones `take_rows` takes rows."""
        features = feature_tensor(self.graph, "cpu")
        if isinstance(features, Tensor):
            return features[self.start : self.stop]
        return window(features, self.start, self.stop)

    def meet(self, received: CSR, sent: CSR) -> None:
        """Find the halo, for which tables have room from now on, given whom every node receives from and sends to."""
        if self.ranks is None:
            return
        own = torch.arange(self.start, self.stop)
        halo = find_halo(received, sent, partition.ranges_to_parts(self.bounds), own, self.ranks)
        self.n_rows = self.n_own + len(halo.nodes)
        self.place = torch.empty(self.graph.n_nodes, dtype=torch.int32)
        self.place[own] = torch.arange(self.n_own, dtype=torch.int32)
        self.place[halo.nodes] = torch.arange(self.n_own, self.n_rows, dtype=torch.int32)
        self._sent = list(halo.sent_rows.split(halo.send_counts))
        self._received = list(torch.arange(self.n_own, self.n_rows).split(halo.receive_counts))

    def blocks(self, *held: Any, gathered: Any = None) -> Iterator[tuple[int, int]]:
        """Go through the rows of the own nodes, and keep the pages of mapped files out of this process.

        Those of what is ``gathered`` from all over go last: the next block takes most of them again.
        """
        for start in range(0, self._n_blocks * self.block, self.block):
            if start < self.n_own:
                yield start, min(start + self.block, self.n_own)
            for array in (*held, self.graph.indices):
                release(array)
            if self.ranks is not None:
                self.ranks.keep_pace()  # so that a process that is lost is missed within a block
        release(gathered)

    def scratch(self, n_columns: int) -> Array:
        """Return float32 room for a row per own node and node of the halo: memory if it is small, otherwise a temporary file."""
        return self._room(self.n_rows, n_columns)

    def spread(self, table: Array) -> Array:
        """Fill in the rows of the halo from the processes that own them; return the table."""
        if self.ranks is not None:
            self._move(table, self._sent, self._received)
        return table

    def result(self, target: Path, n_columns: int) -> Any:
        """Return room for the own rows of the result; the first process's is the file that becomes ``target``, with room for all."""
        if self.rank > 0:
            return self._room(self.n_own, n_columns)
        made = self.files.enter_context(atomic_path(target))
        mapped = np.lib.format.open_memmap(made, "w+", np.float32, (self.graph.n_nodes, n_columns))
        with open(made, "r+b") as file:
            _reserve(file.fileno(), made.stat().st_size)
        return mapped

    def deliver(self, result: Array) -> None:
        """Send the own rows of the result to the first process."""
        if self.ranks is None:
            return
        sent, received = ([torch.arange(0)] * self.ranks.size for _ in range(2))
        if self.rank > 0:
            sent[0] = torch.arange(self.n_own)
        else:
            received[1:] = [torch.arange(*ends) for ends in itertools.pairwise(self.bounds[1:])]
        self._move(result, sent, received)

    def _move(self, table: Array, sent: Sequence[Tensor], received: Sequence[Tensor]) -> None:
        """Send the given rows to each process, and put those from each where they belong; of each some at a time, about a block."""
        assert self.ranks is not None
        rows, n = torch.from_numpy(table), -(-self.graph.n_nodes // self.block)
        for k in range(n):
            to, back = (
                [part[len(part) * k // n : len(part) * (k + 1) // n] for part in parts] for parts in (sent, received)
            )
            came = rows.new_empty(sum(map(len, back)), rows.shape[1])
            self.ranks.swap(came, rows[torch.cat(to)], [*map(len, back)], [*map(len, to)])
            rows[torch.cat(back)] = came
            release(table)

    def _room(self, n_rows: int, n_columns: int) -> Array:
        n_bytes = 4 * n_rows * n_columns
        if n_bytes <= self.spill_from:
            return np.empty((n_rows, n_columns), np.float32)
        folder = self.folder if self.folder.is_dir() else None
        # Mapped, it needs no name: no end of this process leaves it behind.
        with tempfile.NamedTemporaryFile(prefix=".ccassg-", suffix=".tmp", dir=folder) as file:
            _reserve(file.fileno(), n_bytes)
            return np.memmap(file.name, np.float32, "r+", shape=(n_rows, n_columns))


def _reserve(file: int, n_bytes: int) -> None:
    """Take the room on the disk at once: writing to a mapped file on a full one ends the process without a word."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, n_bytes)
