"""Ranks of a session that are threads of this process, for what swaps rows between them."""

import threading
from types import SimpleNamespace

import torch


class Meeting:
    """So many ranks, and what `distributed.Ranks` does for each of them."""

    def __init__(self, size):
        self.size, self._boxes, self._barrier = size, {}, threading.Barrier(size)

    def run(self, work):
        """Call ``work(ranks)`` for every rank at once, and return what each returns; an error of one is an error."""
        found = {}

        def run_one(rank):
            try:
                found[rank] = work(self._of(rank))
            except BaseException:
                self._barrier.abort()
                raise

        threads = [threading.Thread(target=run_one, args=(rank,)) for rank in range(self.size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert sorted(found) == list(range(self.size)), "a rank failed"
        return [found[rank] for rank in range(self.size)]

    def _of(self, rank):
        def swap(received, sent, receive_counts, send_counts):
            assert len(sent) == sum(send_counts)
            for other, rows in enumerate(sent.clone().split(send_counts)):
                self._boxes[rank, other] = rows
            self._barrier.wait(10)
            received.copy_(torch.cat([self._boxes[other, rank] for other in range(self.size)]))
            assert [len(self._boxes[other, rank]) for other in range(self.size)] == receive_counts
            self._barrier.wait(10)

        return SimpleNamespace(rank=rank, size=self.size, swap=swap, keep_pace=lambda: self._barrier.wait(10))
