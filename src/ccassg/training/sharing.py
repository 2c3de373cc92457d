"""What a step shares with other processes that train the same model: sums over all nodes, and rows of other shards.

In a single process nothing is shared. `ccassg.training.shards` and `ccassg.training.distributed` do it for several.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

# Adds a tensor up over all shards, in place, and returns it.
Total = Callable[[Tensor], Tensor]


def no_sharing(tensor: Tensor) -> Tensor:
    """Return the sum over shards when there is only one."""
    return tensor


class Exchange(Protocol):
    """Rows that a shard needs of others: they follow its own ones in a tensor of (own + ``n_halo``, d)."""

    n_halo: int

    def spread(self, rows: Tensor) -> Tensor:
        """Fill in the rows of the halo from the shards that own them; return the tensor."""

    def collect(self, rows: Tensor) -> Tensor:
        """Add the rows of the halo to their owners' (the reverse of `spread`); return the own ones."""


@dataclass(frozen=True)
class Population:
    """The nodes that the loss is about: those at hand, on one machine; of a shard or a batch, more than them.

    ``n`` counts them. ``smooth``, if given, replaces the second moments of a batch by better estimates of the whole graph's,
    in place; gradients go through the batch all the same.
    """

    n: int
    total: Total
    smooth: Total | None = None

    def moments(self, sums: Tensor) -> Tensor:
        """Turn sums of products over the nodes at hand into second moments, in place."""
        self.total(sums).div_(self.n)
        return sums if self.smooth is None else self.smooth(sums)
