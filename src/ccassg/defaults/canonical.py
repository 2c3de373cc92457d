"""Find the canonical directions of a graph (`ccassg.model.canonical`): no training, no labels, seconds.

1. Where no feature is negative, as with counts and frequencies, their square roots: what is there ten times is not ten times as
   telling. Of the features, 512 principal directions; all that follows happens in the space that they span.
2. Own directions: the second view is the node itself. Along w the two views correlate by lambda, so directions of noise have a
   low one; each is multiplied by lambda^2.
3. Directions of the neighbour view: the second view is a random neighbour. Each is multiplied by its correlation on edges that
   had no part in finding it: half of the edges find, the other half measure, and the other way round.
4. The strongest of these correlations tells what neighbours are worth: from 0.1 on, parts that look at them weigh as much as the
   node's own; below, less, down to a fifth where neighbours are nothing but noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ccassg.graph import Graph, sparse
from ccassg.graph.sparse import CSR
from ccassg.model.canonical import HOPS, Canonical, roots, row_lengths
from ccassg.training.products import in_faster_form
from ccassg.training.rows import feature_tensor, neighbours, take_rows

# Raised when the same graph gets another embedding: recorded runs of the default name it.
VERSION = 6
# All below was chosen on graphs of docs/studies.md, "Automatic settings". It lists the alternatives that lost; (*) has none there.
# The space in which directions are sought: others lose up to 0.9 points where nodes are few. And what its random search adds (*).
SPACE, OVERSAMPLING, N_ITERATIONS = 512, 16, 2
# Own directions and those of neighbours, of which twice as many are no better; of principal ones, which shrink nothing, 256.
WIDTH = 128
# Rates at which columns are dropped in the own view, where nothing else tells the copies apart, and in that of neighbours (*).
OWN_RATE, NEIGHBOUR_RATE = 0.8, 0.5
# The correlation from which neighbours weigh as much as the node itself, which is far from 0 on all real graphs tried, and the least
# weight: equal ones end far below the raw features where edges are noise.
FULL_WEIGHT_FROM, LEAST_WEIGHT = 0.1, 0.2
# The first directions, whose correlations are evidence; and the neighbouring ones that noisy correlations are averaged over (*).
N_LEADING, WINDOW = 4, 9
# Moments of more nodes than this are those of so many random ones, each with a few of its neighbours: what bounds memory (*).
MAX_NODES, MAX_NEIGHBOURS = 131_072, 4
LEAST_CORRELATION = 1e-3  # no direction is lost altogether (*)


@torch.no_grad()
def fit(
    graph: Graph, widths: Sequence[int], *, seed: int = 0, device: torch.device | str = "cpu"
) -> tuple[Canonical, float]:
    """Return the encoder with sets of these widths (`widths_of`), and how far neighbours correlate, which decided what they weigh.

    Nothing but the graph's features and edges is read; of more than ``MAX_NODES`` nodes, only the rows of a sample.
    """
    rng = np.random.default_rng(seed)
    pairs = _pairs(graph, rng)
    features = take_rows(feature_tensor(graph, "cpu"), pairs.nodes).to(device)
    encoder = _prepared(features, device)
    x = in_faster_form(encoder.prepare(features))
    _require_differences(x)
    space = principal_directions(x, SPACE, rng)
    y = _multiply(x, space)
    sets, correlation = [_own(y, x, space), space], 0.0
    if graph.n_edges:
        found, correlation = _neighbour(pairs, y, x, space)
        sets.append(found)
    sets = [_turned(directions, width, rng) for directions, width in zip(sets, widths, strict=False)]
    return _assembled(encoder, x, sets, correlation), correlation


def widths_of(graph: Graph, embedding_dim: int | None = None) -> tuple[int, int, int]:
    """Return the widths of the sets of directions: own, principal, neighbours; what a given width leaves goes to the first.

    By default 128, 256 and 128, and never more than the data can fill. Without edges there are no neighbours.
    """
    has_edges = graph.n_edges > 0
    if embedding_dim is None:
        most = max(1, min(graph.n_features, graph.n_nodes // 2))
        return min(WIDTH, most), min(2 * WIDTH, most), min(WIDTH, most) if has_edges else 0
    if not has_edges:
        return embedding_dim - 2 * (embedding_dim // 3), 2 * (embedding_dim // 3), 0
    unit = embedding_dim // (1 + 3 * len(HOPS))
    return embedding_dim - 3 * len(HOPS) * unit, 2 * unit, unit


def neighbour_weight(correlation: float) -> float:
    """Return what multiplies the parts that look at neighbours, which correlate so far."""
    return min(1.0, max(LEAST_WEIGHT, (correlation / FULL_WEIGHT_FROM) ** (1 / 3)))


@dataclass(frozen=True)
class Pairs:
    """Nodes and the neighbours they receive from: pair k joins ``nodes[first[k]]`` and ``nodes[second[k]]``."""

    nodes: Tensor
    first: Tensor
    second: Tensor
    strengths: Tensor  # how often the second is drawn for the first, relative to its other neighbours
    halves: Tensor  # bool; both directions of an edge are in the same half

    def distribution(self, which: Tensor | None = None) -> CSR:
        """Return P, (m, m): row i is the distribution over the neighbours of node i, of all pairs or some."""
        first, second, strengths = self.first, self.second, self.strengths
        if which is not None:
            first, second, strengths = first[which], second[which], strengths[which]
        m = len(self.nodes)
        indptr = torch.zeros(m + 1, dtype=torch.int64)
        indptr[1:] = torch.bincount(first, minlength=m).cumsum(0)
        sums = torch.zeros(m).index_add_(0, first, strengths)
        return CSR(indptr, second, strengths / sums[first], (m, m))


def principal_directions(x: Tensor | CSR, width: int, rng: np.random.Generator) -> Tensor:
    """Find the directions (n_features, width or fewer) along which rows vary most, the most telling first."""
    x_t = sparse.transpose(x) if isinstance(x, CSR) else x.T
    n, n_features = x.shape
    mean = (sparse.column_sums(x) if isinstance(x, CSR) else x.sum(0)).unsqueeze(1) / n

    def apply(directions: Tensor) -> Tensor:
        return _multiply(x, directions) - mean.T @ directions

    def transposed(columns: Tensor) -> Tensor:
        return _multiply(x_t, columns) - mean * columns.sum(0)

    sought = min(width + OVERSAMPLING, n_features, n)
    draws = torch.from_numpy(rng.standard_normal((n_features, sought), dtype=np.float32)).to(mean.device)
    basis = _orthonormal(apply(draws))
    for _ in range(N_ITERATIONS):
        basis = _orthonormal(apply(_orthonormal(transposed(basis))))
    return _orthonormal(transposed(basis))[:, :width]


def _pairs(graph: Graph, rng: np.random.Generator) -> Pairs:
    """Return all pairs of neighbours; of a large graph, those of some nodes with some of their neighbours."""
    received, _ = neighbours(graph)
    chosen, is_large = torch.arange(graph.n_nodes), graph.n_nodes > MAX_NODES
    if is_large:
        chosen = torch.from_numpy(np.sort(rng.choice(graph.n_nodes, MAX_NODES, replace=False)))
    rows = sparse.select_rows(received, chosen)
    first, second, strengths = chosen[sparse.row_ids(rows)], rows.indices.long(), rows.values
    if is_large:
        # The least of random numbers within a row: a random few of its neighbours.
        order = torch.from_numpy(np.lexsort((rng.random(len(first)), first.numpy())))
        rank = torch.arange(len(first)) - rows.indptr[:-1].long().repeat_interleave(rows.indptr.diff().long())
        few = order[rank < MAX_NEIGHBOURS].sort().values
        first, second, strengths = first[few], second[few], strengths[few]
    nodes = torch.cat([chosen, second]).unique() if is_large else chosen
    first, second = torch.searchsorted(nodes, first), torch.searchsorted(nodes, second)
    low, high = torch.minimum(first, second), torch.maximum(first, second)
    edges, edge = (low * len(nodes) + high).unique(return_inverse=True)
    halves = torch.from_numpy(rng.random(len(edges)) < 0.5)[edge]
    return Pairs(nodes, first, second, strengths.float(), halves)


def _prepared(features: Tensor | CSR, device: torch.device | str) -> Canonical:
    """Return an encoder that knows how to bring features to the form in which directions are sought."""
    rooted = not bool(((features.values if isinstance(features, CSR) else features) < 0).any())
    encoder = Canonical(features.shape[1], (0, 0, 0), rooted=rooted).to(device)
    if rooted:
        features = roots(features)
    if isinstance(features, Tensor):
        encoder.centre = features.mean(0, dtype=torch.float64).float()
        features = features / 2 - encoder.centre / 2
    squares = float(row_lengths(features, 0.0).square().mean()) * (4 if isinstance(features, Tensor) else 1)
    encoder.softening[0] = max(squares / features.shape[1], float(torch.finfo(torch.float32).tiny))
    return encoder


def _require_differences(x: Tensor | CSR) -> None:
    """Refuse features that are the same for all nodes, as placeholders are: they span no direction."""
    alike = not isinstance(x, CSR) or bool((x.indptr.diff() == x.indptr[1]).all())
    parts = [x.indices, x.values] if isinstance(x, CSR) else [x]
    if alike and all(bool((rows == rows[0]).all()) for rows in (part.reshape(x.shape[0], -1) for part in parts)):
        said = "all nodes have the same features, from which nothing can be learned"
        raise ValueError(f"{said}: give features in which nodes differ, or none, to have them made from the edges")


def _own(y: Tensor, x: Tensor | CSR, space: Tensor) -> Tensor:
    """Return the directions of the own view, each multiplied by its correlation squared."""
    weights = torch.ones(len(y), device=y.device)
    covariance = _within(y - y.mean(0), weights)
    correlations, inner = _solve(covariance, covariance + _noise(space, _column_variances(x, weights), OWN_RATE))
    return space @ (inner * correlations.clamp(min=0).square()).float()


def _neighbour(pairs: Pairs, y: Tensor, x: Tensor | CSR, space: Tensor) -> tuple[Tensor, float]:
    """Return the directions of the neighbour view, each by its correlation on held-out edges, and the strongest of these."""
    moments = [_moments(pairs.distribution(which), y, x, space) for which in (None, pairs.halves, ~pairs.halves)]
    correlations, inner = _solve(*moments[0])
    if pairs.halves.any() and not pairs.halves.all():
        correlations = _smoothed(_held_out(moments[1:]))
    strongest = max([0.0, *correlations[:N_LEADING].tolist()])
    return space @ (inner * correlations.clamp(min=LEAST_CORRELATION)).float(), strongest


def _held_out(halves: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """Return the correlation along each direction that one half found, measured on the other half; the mean of both ways."""
    found = []
    for (a, b), (other_a, other_b) in (halves, halves[::-1]):
        w = _solve(a, b)[1]
        measured = (w * (other_a @ w)).sum(0) / (w * (other_b @ w)).sum(0)
        found.append(measured.nan_to_num(0.0))  # all nodes of the other half are alike
    return torch.stack(found).mean(0)


def _moments(p: CSR, y: Tensor, x: Tensor | CSR, space: Tensor) -> tuple[Tensor, Tensor]:
    """Return both sides of the eigenproblem in the space: the covariance of pairs, and that of a view with dropped columns."""
    p = p.to(y.device)
    weights = (sparse.row_sums(p) + sparse.column_sums(p)) / 2
    total = weights.sum().clamp(min=1)
    centred = y - (weights @ y) / total
    across = centred.T @ sparse.multiply(p, centred)
    covariance = _within(centred, weights) + _noise(space, _column_variances(x, weights), NEIGHBOUR_RATE)
    return ((across + across.T) / (2 * total)).double(), covariance


def _within(centred: Tensor, weights: Tensor) -> Tensor:
    """Return the covariance of centred columns, over nodes with the given weights."""
    return ((centred * weights.unsqueeze(1)).T @ centred / weights.sum().clamp(min=1)).double()


def _noise(space: Tensor, variances: Tensor, rate: float) -> Tensor:
    """Return what dropping columns at ``rate`` adds to the covariance, in the space."""
    return rate / (1 - rate) * ((space * variances.unsqueeze(1)).T @ space).double()


def _solve(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Solve a w = lambda b w for symmetric a and b; the largest lambda first, w' b w = 1."""
    lower = torch.linalg.cholesky(b + torch.diag_embed(1e-7 * b.diagonal().mean().clamp(min=1e-30).expand(len(b))))
    half = torch.linalg.solve_triangular(lower, a, upper=False)
    values, vectors = torch.linalg.eigh(torch.linalg.solve_triangular(lower, half.T, upper=False))
    inner = torch.linalg.solve_triangular(lower.T, vectors.flip(1), upper=True)
    return values.flip(0), inner


def _smoothed(correlations: Tensor) -> Tensor:
    """Average noisy correlations over neighbouring directions, the leading ones excepted; none is above those before it."""
    if not len(correlations):
        return correlations
    padded = torch.cat([correlations[:1].repeat(WINDOW // 2), correlations, correlations[-1:].repeat(WINDOW // 2)])
    smooth = padded.unfold(0, WINDOW, 1).mean(1)
    smooth[:N_LEADING] = correlations[:N_LEADING]
    return smooth.cummin(0).values


def _turned(directions: Tensor, width: int, rng: np.random.Generator) -> Tensor:
    """Take the first directions, or all and zeros, and turn them at random within their space: lengths and cosines stay.

    Ordered ones put what matters into a few columns. A probe that moves every weight by about the same step, as Adam does, then
    takes in as much noise from each of the others; turned, every column has its share of both.
    """
    first = directions[:, :width]
    first = torch.nn.functional.pad(first, (0, width - first.shape[1]))
    draws = rng.standard_normal((width, width))
    return first @ torch.from_numpy(np.linalg.qr(draws)[0].astype(np.float32)).to(first.device)


def _assembled(encoder: Canonical, x: Tensor | CSR, sets: list[Tensor], correlation: float) -> Canonical:
    """Put the sets of directions into the encoder, centre them and measure their sizes."""
    has_edges = len(sets) == 3
    widths = [directions.shape[1] for directions in sets] + [0] * (not has_edges)
    made = Canonical(encoder.dims[0], widths, HOPS if has_edges else HOPS[:1], rooted=encoder.rooted)
    made = made.to(encoder.centre.device)
    made.centre, made.directions = encoder.centre, torch.cat(sets, 1)
    y = _multiply(x, made.directions)
    made.shift = y.mean(0)
    tiny = float(torch.finfo(torch.float32).tiny)
    sizes = [float(part.square().mean()) if part.numel() else 1.0 for part in (y - made.shift).split(widths, dim=1)]
    made.softening[0] = encoder.softening[0]
    made.softening[1:] = torch.tensor(sizes).clamp(min=tiny)
    made.weight.fill_(neighbour_weight(correlation))
    return made.eval()


def _orthonormal(columns: Tensor) -> Tensor:
    """Return an orthonormal basis of the columns' span, (n, r), the longest direction first; by their Gram matrix, in one product.

    Directions that are nothing but rounding are left out.
    """
    squares, vectors = torch.linalg.eigh((columns.T @ columns).double())
    kept = squares > (1e-12 * squares[-1:]).clamp(min=1e-30)
    scaled = vectors[:, kept] * squares[kept].rsqrt()
    return columns @ scaled.flip(1).to(columns.dtype)


def _column_variances(x: Tensor | CSR, weights: Tensor) -> Tensor:
    """Return the variance of every column, over nodes with the given weights (n,)."""
    if isinstance(x, CSR):
        of_entries = weights[sparse.row_ids(x)]
        sums = [sparse.column_sums(x.with_values(power * of_entries)) for power in (x.values, x.values.square())]
    else:
        sums = [weights @ x, weights @ x.square()]
    mean, square = (each / weights.sum().clamp(min=1) for each in sums)
    return (square - mean.square()).clamp(min=0)


def _multiply(x: Tensor | CSR, b: Tensor) -> Tensor:
    return sparse.multiply(x, b) if isinstance(x, CSR) else x @ b
