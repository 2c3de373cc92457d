"""Canonical directions: the linear encoder of the neighbour view, whose best weights need no training.

paper: two views of the whole graph through a trained encoder. Here the second view of a node is one of its neighbours, or the
node itself, and columns are dropped at random in either view. For a linear encoder Z = X W the same loss asks for directions w
along which the two views are most correlated, all uncorrelated with each other:

    X' P X w = lambda (X' X + rho diag(X' X)) w,        rho = rate / (1 - rate)

where row i of P is the distribution of the second node of a pair, its neighbours or itself, and rho is what dropping columns
at ``rate`` adds to the variance. That is canonical correlation analysis; `ccassg.defaults.canonical` solves it.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ccassg.graph import sparse
from ccassg.graph.sparse import CSR

# How far the parts that are averaged look. 1, 2 and 4 hops are worse with few labels, 16 in addition no better (docs/studies.md,
# "Automatic settings").
HOPS = (0, 1, 3, 8)
# What a hop leaves of the softening: averages of noise are shorter than the noise. The same after every hop is up to eight points worse.
FADING = 0.5


class Canonical(nn.Module):
    """Parts side by side, the rows of each at length 1: a linear probe, cosines and distances can use any of them.

    There are three sets of directions of the features: those of the node itself as the second view (``own``), the principal ones
    and those of the neighbour view. The first is used as it is, the others are also averaged over 1, 3 and 8 hops, A^k X W.
    ``weight`` multiplies the parts that look at neighbours.

    Parameters
    ----------
    n_features : int
    widths : three ints
        Columns of each set: own, principal, neighbours.
    hops : sequence of int
        Increasing, from 0; (0,) where there are no edges.
    rooted : bool
        Whether features enter by their square roots.
    """

    centre: Tensor
    directions: Tensor
    shift: Tensor
    softening: Tensor
    weight: Tensor

    def __init__(
        self, n_features: int, widths: Sequence[int], hops: Sequence[int] = HOPS, *, rooted: bool = False
    ) -> None:
        super().__init__()
        self.widths, self.hops, self.rooted = tuple(widths), tuple(hops), rooted
        total = sum(self.widths)
        self.register_buffer("centre", torch.zeros(n_features))  # of the features; 0 where they are sparse
        self.register_buffer("directions", torch.zeros(n_features, total))
        self.register_buffer("shift", torch.zeros(total))  # what centres the columns of X W
        # Of the features' rows, and of each set's; see `unit_rows`. In float64, where the square of any float32 is finite.
        self.register_buffer("softening", torch.ones(4, dtype=torch.float64))
        self.register_buffer("weight", torch.ones(()))

    @property
    def dims(self) -> tuple[int, int]:
        """Widths of the features and of the whole embedding."""
        return self.centre.shape[0], self.widths[0] + len(self.hops) * sum(self.widths[1:])

    @property
    def n_hops(self) -> int:
        """How far a node looks."""
        return self.hops[-1]

    def forward(self, features: Tensor | CSR, a: CSR | None = None) -> Tensor:
        """Embed the nodes, (n, n_features) -> (n, d); ``a`` is the normalised adjacency with self-loops."""
        described = self.describe(features)
        made = [self.own(described)]
        moving = self.moving(described)
        for hop in range(self.n_hops + 1):
            if hop > 0:
                assert a is not None
                moving = sparse.multiply(a, moving)
            if hop in self.hops:
                made.append(self.averaged(moving, hop))
        return torch.cat(made, 1)

    def describe(self, features: Tensor | CSR) -> Tensor:
        """Return X W less its mean, (n, sum of the widths), with the rows of X at length 1."""
        x = self.prepare(features)
        return (sparse.multiply(x, self.directions) if isinstance(x, CSR) else x @ self.directions) - self.shift

    def prepare(self, features: Tensor | CSR) -> Tensor | CSR:
        """Take square roots where the encoder does, centre dense features, and bring rows to length 1."""
        if self.rooted:
            features = roots(features)
        if isinstance(features, CSR):
            if not bool(self.centre.any()):
                lengths = row_lengths(features, float(self.softening[0])).to(features.values.dtype)
                return features.with_values(features.values / lengths[sparse.row_ids(features)])
            features = features.to_dense()  # a model of dense features, given the same ones in sparse form
        # Halved, so that no difference of two float32 overflows.
        return unit_rows(features / 2 - self.centre / 2, float(self.softening[0]) / 4)

    def own(self, described: Tensor) -> Tensor:
        """Return the part of the own view, of what `describe` gives."""
        return unit_rows(described[:, : self.widths[0]], float(self.softening[1]))

    def moving(self, described: Tensor) -> Tensor:
        """Return the columns that are averaged over hops, of what `describe` gives."""
        return described[:, self.widths[0] :]

    def averaged(self, moving: Tensor, hop: int) -> Tensor:
        """Return the parts of the two other sets after so many hops."""
        principal, neighbours = moving.split(self.widths[1:], dim=1)
        softening = self.softening[2:] * FADING**hop
        averaged = unit_rows(principal, float(softening[0])) * (self.weight if hop else 1.0)
        return torch.cat([averaged, unit_rows(neighbours, float(softening[1])) * self.weight], 1)


def roots(features: Tensor | CSR) -> Tensor | CSR:
    """Return the square roots of features; with their sign, should a new node have a negative one."""
    values = features.values if isinstance(features, CSR) else features
    values = values.abs().sqrt_().copysign_(values)
    return features.with_values(values) if isinstance(features, CSR) else values


def unit_rows(rows: Tensor, softening: float) -> Tensor:
    """Bring rows to length 1, or just below: z / sqrt(|z|^2 + softening).

    The softening is the mean square of an entry, as if every row had one more column. So rows of a single column keep their
    order, wide rows hardly notice, and rows near zero stay there instead of becoming noise of length 1.
    """
    return rows / row_lengths(rows, softening).unsqueeze(1).to(rows.dtype)


def row_lengths(rows: Tensor | CSR, softening: float) -> Tensor:
    """Return sqrt(|z|^2 + softening) of every row in float64, where squares of any float32 are finite."""
    if isinstance(rows, CSR):
        squares = sparse.row_sums(rows.with_values(rows.values.double().square()))
    else:
        squares = torch.linalg.vector_norm(rows, dim=1, dtype=torch.float64).square()
    return (squares + softening).sqrt_()
