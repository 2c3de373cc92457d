"""What a graph says without labels about where its information lies: in a node's own features or in its neighbourhood.

Features are split into two random halves of columns. Two descriptions of the nodes made from different halves share nothing
but what the nodes really are, so the better they agree on which nodes are alike, the less they are noise. Agreement is the
unbiased, centred kernel alignment (Kornblith et al., 2019; Song et al., 2012).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ccassg.graph import Array, Graph, sparse

HOPS = (0, 1, 2, 4)
# Columns of a half are projected onto so many random directions: enough to tell agreement from chance.
N_DIRECTIONS = 128
# Below this an agreement is not told from chance on a few thousand nodes.
CHANCE = 5e-4


@dataclass(frozen=True)
class Signals:
    """Agreement of descriptions that share no column, by the number of hops features were averaged over.

    ``held_out``: of the features averaged over k hops, with the own features in the other half of the columns; at 0 hops, how
    much the features agree with each other. ``disjoint``: of both halves averaged over k hops, each along its own half of the
    edges.
    """

    held_out: dict[int, float]
    disjoint: dict[int, float]

    @property
    def own(self) -> float:
        """Evidence that the own features say something."""
        return max(self.held_out[0], 0.0)

    @property
    def neighbourhood(self) -> float:
        """Evidence that the neighbourhood says something, the better of both kinds."""
        return max(0.0, *(values[k] for values in (self.held_out, self.disjoint) for k in HOPS if k > 0))

    @property
    def own_share(self) -> float:
        """The own features' part of all evidence, between 0 and 1; one half if there is none."""
        return (self.own + CHANCE) / (self.own + self.neighbourhood + 2 * CHANCE)

    @property
    def n_hops(self) -> int:
        """The fewest of 0 to 2 hops whose agreement is within a tenth of their best; 4 where that is better by a quarter."""
        values = self.held_out
        if max(HOPS, key=lambda k: values[k]) == 0 and self.neighbourhood > self.own:
            # What neighbours have in common is not what the features have: Amazon's products are like that.
            values = self.disjoint
        near = max(values[k] for k in HOPS[:3])
        if values[4] > max(1.25 * near, CHANCE):
            return 4
        return next(k for k in HOPS if values[k] >= min(0.9 * near, near))


def measure_signals(graph: Graph) -> Signals:
    """Measure the signals of a graph of at least two columns and four nodes, averaged over random splits of the columns."""
    # More splits of small graphs, where chance plays a larger part.
    n_splits = max(2, min(8, 20_000 // graph.n_nodes))
    adjacency = graph.adjacency()
    whole = _normalized(adjacency)
    held_out: dict[int, list[float]] = {k: [] for k in HOPS}
    disjoint: dict[int, list[float]] = {k: [] for k in HOPS}
    for split in range(n_splits):
        rng = np.random.default_rng([0, split])
        halves, columns = _edge_halves(adjacency, rng), _column_halves(graph.features, rng)
        smooth, (first, second) = columns[0], columns
        for k in range(max(HOPS) + 1):
            if k in HOPS:
                held_out[k].append(agreement(smooth, columns[1]))
                disjoint[k].append(agreement(first, second) if k else held_out[0][-1])
            smooth, first, second = whole @ smooth, halves[0] @ first, halves[1] @ second
    means = ({k: float(np.nan_to_num(np.mean(found[k]))) for k in HOPS} for found in (held_out, disjoint))
    return Signals(*means)


def agreement(a: Any, b: Any) -> float:
    """Return the centred kernel alignment of two descriptions (n, p) and (n, q) of the same nodes, over pairs of different nodes.

    About 0 for independent ones whatever their width, 1 for equal ones up to rotation, shift and scale.
    """
    a, b = (np.asarray(x, dtype=np.float64) for x in (a, b))
    a, b = a - a.mean(0), b - b.mean(0)
    scale = _dependence(a, a) * _dependence(b, b)
    return float(_dependence(a, b) / np.sqrt(scale)) if scale > 0 else 0.0


def safe_unit(features: Any) -> np.float32:
    """Return what to multiply features by so that squares of extreme ones do not overflow."""
    largest = float(abs(features).max())
    return np.float32(1 / largest if 0 < largest < np.inf and np.isfinite(1 / largest) else 1)


def _dependence(a: Array, b: Array) -> float:
    """Unbiased Hilbert-Schmidt independence criterion of linear kernels without their diagonals, up to a factor of n alone.

    sum K_ij L_ij + (sum K)(sum L) / ((n-1)(n-2)) - 2 / (n-2) sum_i K_i. L_i., from p x q products, never n x n ones.
    """
    n = len(a)
    own = [(x * x).sum(1) for x in (a, b)]
    rows = [x @ x.sum(0) - lengths for x, lengths in zip((a, b), own, strict=True)]
    total = float(np.square(a.T @ b).sum() - own[0] @ own[1])
    return total + rows[0].sum() * rows[1].sum() / ((n - 1) * (n - 2)) - 2 / (n - 2) * float(rows[0] @ rows[1])


def _column_halves(features: Any, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return two halves of the columns, narrow and with rows of length 1, so that long rows do not outweigh the others."""
    order = rng.permutation(features.shape[1])
    unit = safe_unit(features)
    made = []
    for columns in np.array_split(order, 2):
        part = features[:, columns] * unit
        if not sp.issparse(part):
            part = np.asarray(part, dtype=np.float32)
            part = part - part.mean(0)
        if part.shape[1] > N_DIRECTIONS:
            part = part @ rng.standard_normal((part.shape[1], N_DIRECTIONS), dtype=np.float32)
        part = part.toarray() if sp.issparse(part) else part
        lengths = np.linalg.norm(part, axis=1, keepdims=True)
        made.append(np.divide(part, lengths, out=np.zeros_like(part), where=lengths > 0))
    return made[0], made[1]


def _edge_halves(adjacency: sp.csr_array, rng: np.random.Generator) -> tuple[sp.csr_array, sp.csr_array]:
    """Return two graphs that share no edge; both directions of an edge go the same way."""
    edges = adjacency.tocoo()
    low, high = np.minimum(edges.row, edges.col).astype(np.uint64), np.maximum(edges.row, edges.col).astype(np.uint64)
    key = (low * np.uint64(adjacency.shape[0]) + high) ^ rng.integers(2**63, dtype=np.uint64)
    for _ in range(2):
        key = (key ^ (key >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    is_first = (key >> np.uint64(63)).astype(bool)
    first, second = (
        sp.csr_array((edges.data[kept], (edges.row[kept], edges.col[kept])), shape=adjacency.shape)
        for kept in (is_first, ~is_first)
    )
    return _normalized(first), _normalized(second)


def _normalized(adjacency: sp.csr_array) -> sp.csr_array:
    return sparse.normalize(sparse.add_self_loops(sparse.from_scipy(adjacency))).to_scipy()
