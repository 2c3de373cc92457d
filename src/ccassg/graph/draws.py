"""Random numbers as hashes of what they are drawn for.

Every draw is a function of (seed, step, view, purpose, key), never of a generator's state: the same numbers come out whatever
the order, the batch or the number of processes, and a resumed run continues with the same ones.
"""

import torch
from torch import Tensor

# What a draw is for; part of its key, so that no two uses of one (seed, step, view) share numbers.
EDGES, COLUMNS, NODES, ORDER, PARTNERS = 0, 1, 2, 3, 4

_MASK = 2**64 - 1
# Multipliers of the MurmurHash3 64-bit finaliser, as signed integers for torch.
_FIRST, _SECOND = 0xFF51AFD7ED558CCD - 2**64, 0xC4CEB9FE1A85EC53 - 2**64
_ROUNDS = 4


def draw(keys: Tensor, *, seed: int, step: int, view: int, purpose: int) -> Tensor:
    """Draw one uniform 64-bit integer (signed) per key, shape of ``keys``.

    A full-avalanche hash of the key and of (seed, step, view, purpose).
    """
    stream = _scramble(_scramble(_scramble(_scramble(seed & _MASK) ^ step) ^ view) ^ purpose)
    return mix(keys ^ ((stream ^ 2**63) - 2**63))  # the same 64 bits, signed


def keep(keys: Tensor, rate: float, *, seed: int, step: int, view: int, purpose: int) -> Tensor:
    """Return a boolean mask, true with probability 1 - rate independently per key."""
    return draw(keys, seed=seed, step=step, view=view, purpose=purpose) >= threshold(rate)


def threshold(rate: float) -> int:
    """Return the number that a draw is below with probability ``rate``."""
    return int(rate * 2.0**64) - 2**63


def numbered_keys(n: int, device: torch.device | str = "cpu") -> Tensor:
    """Return a key for each of n things that have no name but their number."""
    return mix(torch.arange(1, n + 1, device=device))


def edge_keys(receivers: Tensor, senders: Tensor, n: int, both_directions: bool) -> Tensor:
    """Return a key for each edge of a graph of n nodes, the same wherever the edge is met."""
    if both_directions:
        receivers, senders = torch.maximum(receivers, senders), torch.minimum(receivers, senders)
    return mix(senders * n + receivers + 1)


def sample_nodes(n_nodes: int, size: int, *, seed: int, step: int, device: torch.device | str = "cpu") -> Tensor:
    """Draw ``size`` different nodes, uniformly, in increasing order."""
    numbers = draw(numbered_keys(n_nodes, device), seed=seed, step=step, view=0, purpose=NODES)
    return torch.topk(numbers, size).indices.sort().values


def shuffled(positions: Tensor, n: int, *, seed: int, epoch: int) -> Tensor:
    """Return where a random permutation of 0 .. n - 1 sends these positions, without making all of it.

    A Feistel network is a permutation of a power of 4; what falls outside 0 .. n - 1 goes round again.
    """
    half = ((n - 1).bit_length() + 1) // 2
    mask = (1 << half) - 1
    result = positions.clone()
    todo = torch.arange(len(positions))
    while len(todo):
        left, right = result[todo] >> half, result[todo] & mask
        for i in range(_ROUNDS):
            number = draw(mix(right + 1), seed=seed, step=epoch, view=i, purpose=ORDER)
            left, right = right, left ^ (number & mask)
        result[todo] = (left << half) | right
        todo = todo[result[todo] >= n]
    return result


def mix(x: Tensor) -> Tensor:
    """Apply the MurmurHash3 finaliser, in place on an int64 tensor."""
    for multiplier in (_FIRST, _SECOND, None):
        x ^= (x >> 33) & 0x7FFFFFFF
        if multiplier is not None:
            x *= multiplier
    return x


def _scramble(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)
