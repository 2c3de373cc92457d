"""What a rank needs of other ranks' nodes and they of its own: who they are, and how their rows travel."""

from typing import NamedTuple

import torch
from torch import Tensor

from ccassg.graph import Array, sparse
from ccassg.graph.sparse import CSR
from ccassg.training.distributed import Ranks

# Nodes whose edges are looked through at once.
ROWS = 65_536


class Halo(NamedTuple):
    """What a rank receives and sends: nodes of other parts, ordered by part and number, and the places of own ones, by receiver.

    Receivers expect rows in the order of their numbers. The counts say how many there are of, and for, each rank.
    """

    nodes: Tensor
    receive_counts: list[int]
    sent_rows: Tensor
    send_counts: list[int]


def find_halo(received: CSR, sent: CSR, parts: Array, own: Tensor, ranks: Ranks) -> Halo:
    """Find the halo of the ``own`` nodes, given whom every node receives from and sends to, and every node's rank (n,)."""
    part_of = torch.from_numpy(parts)
    is_heard = torch.zeros(len(parts), dtype=torch.bool)
    pairs = []  # (rank, own row) as rank * len(own) + row; a block at a time, for edges may lie in a store
    for rows in torch.arange(len(own)).split(ROWS):
        is_heard[sparse.select_rows(received, own[rows]).indices.long()] = True
        to = sparse.select_rows(sent, own[rows])
        pairs.append((part_of[to.indices.long()].long() * len(own) + rows[sparse.row_ids(to)]).unique())
    heard = is_heard.nonzero().squeeze(1)
    foreign = heard[part_of[heard] != ranks.rank]
    nodes = foreign[part_of[foreign].argsort(stable=True)]
    sorted_pairs = torch.cat([torch.arange(0), *pairs]).sort().values
    rank, row = sorted_pairs // max(len(own), 1), sorted_pairs % max(len(own), 1)
    other = rank != ranks.rank
    counts = (torch.bincount(each, minlength=ranks.size).tolist() for each in (part_of[foreign], rank[other]))
    return Halo(nodes, next(counts), row[other], next(counts))


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

    def with_halo(self, own: Tensor | CSR) -> Tensor | CSR:
        """Return own rows and, after them, those of the halo."""
        if isinstance(own, Tensor):
            return self.spread(torch.cat([own, own.new_empty(self.n_halo, *own.shape[1:])]))
        counts = torch.cat([own.indptr.diff().long(), own.indptr.new_empty(self.n_halo, dtype=torch.int64)])
        self.spread(counts)
        sent = sparse.select_rows(own, self.sent_rows)
        n_sent, n_received = (
            [int(part.sum()) for part in each.split(n_rows)]
            for each, n_rows in (
                (counts[self.sent_rows], self.send_counts),
                (counts[own.shape[0] :], self.receive_counts),
            )
        )
        columns, values = own.indices.new_empty(sum(n_received)), own.values.new_empty(sum(n_received))
        self.ranks.swap(columns, sent.indices, n_received, n_sent)
        self.ranks.swap(values, sent.values, n_received, n_sent)
        indptr = torch.cat([own.indptr[:1], counts.cumsum(0).to(own.indptr.dtype)])
        shape = (len(counts), own.shape[1])
        return CSR(indptr, torch.cat([own.indices, columns]), torch.cat([own.values, values]), shape)

    def everywhere(self, amounts: Tensor) -> Tensor:
        """Add up, per sender, own and halo, what it sends to this and all other ranks; in place."""
        self.collect(amounts)
        return self.spread(amounts)
