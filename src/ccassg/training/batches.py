"""Training on batches of nodes, for graphs whose activations do not fit into memory.

A batch is a set of random nodes (every node once per epoch) and, layer by layer, the in-neighbours they receive from. Views are
those of the whole graph: an edge is kept or dropped by the same draw, and degrees count all that was kept. What a batch gets
wrong is the second moments of the embedding, which a few hundred nodes cannot give in hundreds of dimensions; so the loss is
taken at running means over batches (`RunningMoments`), with gradients through the batch at hand. A batch that is well above the
width needs no memory, and none is better than some: past batches were embedded with past weights.
"""

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from ccassg.graph import Graph, draws, sparse
from ccassg.graph.sparse import CSR
from ccassg.model.encoder import Encoder
from ccassg.training.products import FirstProduct, SeparateProducts, first_product
from ccassg.training.rows import feature_tensor, neighbours, take_rows
from ccassg.training.settings import Settings
from ccassg.training.step import Layers, StepInputs
from ccassg.training.views import has_pairs, onto, pair_layers, partners, step_views

# As many as PyTorch gives to one thread: small enough for the cache, and the second thread (`drawn_ahead`) stays one.
EDGES_AT_ONCE = 2**15
# Running means reach back to as many batches as it takes to have this many nodes per dimension, and to no more than so many.
NODES_PER_DIMENSION = 2.0
LONGEST_MEMORY = 8.0
# Of how moments are estimated, for records of runs.
VERSION = 2


class RunningMoments:
    """Running means of the second moments of batches, an estimate of the whole graph's.

    The gradient of f(C) at C = E[m m'] is f'(C) E[d(m m')]: the batch gives the second factor without bias, but f' must be
    taken at the mean over all nodes, which is what is kept here (stochastic compositional gradient descent). The mean reaches
    back to about ``memory`` batches; 1 keeps only the batch itself.
    """

    def __init__(self, memory: float) -> None:
        self.decay = 1 - 1 / memory
        self.mean: Tensor | None = None
        self.weight = 0.0

    def __call__(self, moments: Tensor) -> Tensor:
        """Take in the moments of a batch and replace them, in place, by the mean."""
        self.weight = self.decay * self.weight + 1
        self.mean = moments.clone() if self.mean is None else self.mean.lerp_(moments, 1 / self.weight)
        return moments.copy_(self.mean)

    def state(self) -> dict[str, Tensor]:
        """Return what a checkpoint must hold; empty before the first batch."""
        if self.mean is None:
            return {}
        return {"mean": self.mean.clone(), "weight": torch.tensor(self.weight, dtype=torch.float64)}

    def restore(self, state: dict[str, Tensor], device: torch.device) -> None:
        """Continue from a `state`."""
        if state:
            self.mean, self.weight = state["mean"].to(device), float(state["weight"])


def memory_for(batch_nodes: int, width: int) -> float:
    """Return how many batches running means should reach back to: 1, the batch alone, where it has nodes enough for its width."""
    return min(LONGEST_MEMORY, max(1.0, NODES_PER_DIMENSION * width / batch_nodes))


def batch_of(n_nodes: int, size: int, *, seed: int, step: int) -> Tensor:
    """Return the nodes of a step's batch, in increasing order: each epoch deals out the nodes anew, each at most once."""
    epoch, k = divmod(step, n_nodes // size)
    return draws.shuffled(torch.arange(k * size, (k + 1) * size), n_nodes, seed=seed, epoch=epoch).sort().values


def drawn_ahead(views: Callable[[int], StepInputs], steps: range) -> Iterator[StepInputs]:
    """Yield the views of one step after the other; a second thread draws the next one's while those at hand are multiplied."""
    with ThreadPoolExecutor(1) as second:
        drawn = second.submit(views, steps[0])
        for step in steps[1:]:
            ready = drawn.result()
            drawn = second.submit(views, step)
            yield ready
        yield drawn.result()


class BatchViews:
    """The two random views of a step's batch, ready for `ccassg.training.step.ExactStep`.

    The graph may lie on disk; a step reads the rows it needs. ``batch_nodes`` nodes are in the loss of a step, over all shards:
    the processes that share every batch. With ``max_neighbors``, a node aggregates over about so many random ones of its
    neighbours in a view, scaled up to stand for all. Edges are read and drawn about ``edges_at_once`` at a time.
    """

    def __init__(
        self,
        graph: Graph,
        encoder: Encoder,
        settings: Settings,
        *,
        shard: int = 0,
        n_shards: int = 1,
        edges_at_once: int = EDGES_AT_ONCE,
    ) -> None:
        self.graph, self.settings, self.edges_at_once = graph, settings, edges_at_once
        self.propagate, self.dims, self.device = encoder.propagate, encoder.dims, encoder.weights[0].device
        self.shard, self.n_shards = shard, n_shards
        self.received, self.sent = neighbours(graph)
        self.places = np.empty(graph.n_nodes, np.int32)  # of the nodes at hand; no other page of it is ever touched
        self.has_pairs = has_pairs(graph, encoder, settings)
        self.features = feature_tensor(graph, "cpu")
        self.expects_degrees = settings.max_neighbors > 0 and graph.weights is None
        # Features narrower than the first layer are aggregated before they are multiplied: fewer numbers to add up.
        self.aggregate_first = isinstance(self.features, Tensor) and self.dims[0] <= self.dims[1]

    def __call__(self, step: int) -> StepInputs:
        """Return features, views and number of nodes in the loss at ``step``."""
        settings = self.settings
        size = min(settings.batch_nodes, self.graph.n_nodes)
        nodes = batch_of(self.graph.n_nodes, size, seed=settings.seed, step=step)[self.shard :: self.n_shards]
        features, layers = self._layers(nodes, step)
        return features, step_views(settings, self.dims[0], step, layers, self.device), size

    def _layers(self, nodes: Tensor, step: int) -> tuple[FirstProduct | SeparateProducts, list[Layers]]:
        """Return what the first layer takes in, and every layer's aggregation in each view."""
        n_layers = len(self.dims) - 1
        if self.has_pairs:
            drawn = partners(self.received, nodes, seed=self.settings.seed, step=step)
            needed, pairs = pair_layers(nodes, drawn, n_layers, self.device)
            return self._product(needed), pairs
        if not self.propagate:
            return self._product(nodes), [[None] * n_layers] * 2
        fields = [self._field(nodes, step, v) for v in (0, 1)]
        if self.aggregate_first:
            sums = [self._aggregated(layers[0], outer) for layers, outer in fields]
            features = SeparateProducts([FirstProduct(x, x.T) for x in sums])
            return features, [[None, *map(self._with_transpose, layers[1:])] for layers, _ in fields]
        union = torch.cat([outer for _, outer in fields]).unique()
        return self._product(union), [[*map(self._with_transpose, onto(union, *field))] for field in fields]

    def _field(self, nodes: Tensor, step: int, v: int) -> tuple[list[CSR], Tensor]:
        """Return every layer's aggregation, the last into ``nodes``, and the nodes whose features the first takes."""
        layers: list[CSR] = []
        for _ in self.dims[1:]:
            a, nodes = self._aggregation(nodes, step, v)
            layers.append(a)
        return layers[::-1], nodes

    def _aggregation(self, nodes: Tensor, step: int, v: int) -> tuple[CSR, Tensor]:
        """Return one layer's aggregation into ``nodes``, and the nodes of its columns, in increasing order."""
        parts = [self._kept(nodes[some], step, v) for some in self._blocks(self.received, nodes)]
        senders, values, counts, received = map(torch.cat, zip(*parts, strict=True))
        columns, place = self._numbered(senders)
        indptr = torch.zeros(len(nodes) + 1, dtype=torch.int32)
        indptr[1:] = counts.cumsum(0)
        sent = self._sent(columns, step, v)[place]
        if self.expects_degrees:
            # A sender whose edge to here was kept sends that one for certain.
            sent += self.settings.edge_drop_rate[v]
            sent[indptr[1:] - 1] -= self.settings.edge_drop_rate[v]
        a = CSR(indptr, place, values, (len(nodes), len(columns)))
        return a.with_values(sparse.scale_by_degrees(values, received[sparse.row_ids(a)], sent)), columns

    def _numbered(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Return different nodes in increasing order, and everyone's place among them; faster than ``unique``."""
        ordered = np.sort(nodes.numpy())
        ordered = ordered[np.diff(ordered, prepend=-1) > 0]
        self.places[ordered] = np.arange(len(ordered))
        return torch.from_numpy(ordered), torch.from_numpy(self.places[nodes.numpy()])

    def _kept(self, nodes: Tensor, step: int, v: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return what some nodes aggregate over: senders and weights, a node's own loop last, how many, and all that it receives."""
        rows = sparse.select_rows(self.received, nodes)
        owner = sparse.row_ids(rows)
        senders = rows.indices.long()
        numbers = self._draws(nodes[owner], senders, step, v)
        kept = numbers >= draws.threshold(self.settings.edge_drop_rate[v])
        strength = self._sums(rows, owner, kept)
        scale = torch.ones(len(nodes))
        if self.settings.max_neighbors:
            kept = numbers >= self._bars(_counts(rows, kept), v)[owner]
            scale = strength / self._sums(rows, owner, kept)  # NaN of a node without any is multiplied with none
        thin = sparse.select_entries(CSR(rows.indptr, senders, rows.values * scale[owner], rows.shape), kept)
        a = sparse.add_self_loops(thin)
        a.indices[a.indptr[1:].long() - 1] = nodes
        return a.indices, a.values, a.indptr.diff(), strength + 1

    def _bars(self, counts: Tensor, v: int) -> Tensor:
        """Return the number from which a draw keeps an edge of each node, such that of so many kept ones about ``max_neighbors`` stay."""
        most, share = self.settings.max_neighbors, 1 - self.settings.edge_drop_rate[v]
        # Uniform on 64-bit integers: the top share of them is at or above this.
        return (2.0**63 - (most / counts.double()).clamp_(max=1) * share * 2.0**64).long()

    def _sent(self, nodes: Tensor, step: int, v: int) -> Tensor:
        """Return what each node sends in a view, its self-loop included, (len(nodes),).

        To count it, the edges of the outermost nodes are read, far more than the batch aggregates over. Where
        ``max_neighbors`` asks for an estimate anyway, the expected number takes its place.
        """
        rate = self.settings.edge_drop_rate[v]
        if self.expects_degrees or (rate == 0 and self.graph.weights is None):
            counts = self.sent.indptr[nodes + 1] - self.sent.indptr[nodes]
            return (1 - rate) * counts.float() + 1
        sums = []
        for some in self._blocks(self.sent, nodes):
            rows = sparse.select_rows(self.sent, nodes[some])
            owner = sparse.row_ids(rows)
            kept = self._draws(rows.indices.long(), nodes[some][owner], step, v) >= draws.threshold(rate)
            sums.append(self._sums(rows, owner, kept) + 1)
        return torch.cat(sums)

    def _blocks(self, edges: CSR, nodes: Tensor) -> Iterator[slice]:
        """Divide nodes so that each part has about ``edges_at_once`` edges: what is made of these stays in the cache."""
        ends = (edges.indptr[nodes + 1] - edges.indptr[nodes]).cumsum(0)
        targets = torch.arange(self.edges_at_once, int(ends[-1]) + self.edges_at_once, self.edges_at_once)
        stops = (torch.searchsorted(ends, targets) + 1).clamp_(max=len(nodes)).unique().tolist()
        yield from itertools.starmap(slice, itertools.pairwise(dict.fromkeys([0, *stops, len(nodes)])))

    def _sums(self, rows: CSR, owner: Tensor, kept: Tensor) -> Tensor:
        """Sum up the kept entries of each row; ``owner`` is the row of every entry."""
        n = rows.shape[0]
        if self.graph.weights is None:
            return _counts(rows, kept).float()
        return torch.zeros(n).index_add_(0, owner[kept], rows.values[kept])

    def _draws(self, receivers: Tensor, senders: Tensor, step: int, v: int) -> Tensor:
        keys = draws.edge_keys(receivers, senders, self.graph.n_nodes, self.settings.drop_both_directions)
        return draws.draw(keys, seed=self.settings.seed, step=step, view=v, purpose=draws.EDGES)

    def _aggregated(self, a: CSR, nodes: Tensor) -> Tensor:
        assert isinstance(self.features, Tensor)
        return sparse.multiply(CSR(a.indptr.long(), nodes[a.indices], a.values, a.shape), self.features).to(self.device)

    def _product(self, nodes: Tensor) -> FirstProduct:
        return first_product(take_rows(self.features, nodes).to(self.device))

    def _with_transpose(self, a: CSR) -> tuple[CSR, CSR]:
        return a.to(self.device), sparse.transpose(a).to(self.device)


def _counts(rows: CSR, kept: Tensor) -> Tensor:
    """Count the kept entries of each row."""
    running = torch.zeros(len(kept) + 1, dtype=torch.int32)
    torch.cumsum(kept, 0, out=running[1:])
    return running[rows.indptr].diff()
