"""Training on batches of nodes, for graphs whose activations do not fit into memory.

A batch is a set of random nodes (every node once per epoch) and, layer by layer, the in-neighbours they receive from. Views are
those of the whole graph: an edge is kept or dropped by the same draw, and degrees count all that was kept. What a batch gets
wrong is the second moments of the embedding, which a few hundred nodes cannot give in hundreds of dimensions; so the loss is
taken at running means over batches (`RunningMoments`), with gradients through the batch at hand. A batch that is well above the
width needs no memory, and none is better than some: past batches were embedded with past weights.
"""

import itertools

import torch
from torch import Tensor

from ccassg.graph import Graph, draws, sparse
from ccassg.graph.sparse import CSR
from ccassg.model.encoder import Encoder
from ccassg.training.products import FirstProduct, SeparateProducts, first_product
from ccassg.training.rows import feature_tensor, neighbours, take_rows
from ccassg.training.settings import Settings
from ccassg.training.step import Layers, StepInputs
from ccassg.training.views import has_pairs, pair_layers, partners, step_views

EDGES_AT_ONCE = 2**22
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
    epoch, k = divmod(step, max(1, n_nodes // size))
    return draws.shuffled(torch.arange(k * size, (k + 1) * size), n_nodes, seed=seed, epoch=epoch).sort().values


class BatchViews:
    """The two random views of a step's batch, ready for `ccassg.training.step.ExactStep`.

    The graph may lie on disk; a step reads the rows it needs. ``batch_nodes`` nodes are in the loss of a step, over all shards:
    the processes that share every batch. With ``max_neighbors``, a node aggregates over about so many random ones of its
    neighbours in a view, scaled up to stand for all. ``edges_at_once`` are in memory where only their sums are needed.
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
        # One product serves both views: its rows are all nodes that either of them needs.
        union = torch.cat([outer for _, outer in fields]).unique()
        for layers, outer in fields:
            a, place = layers[0], torch.searchsorted(union, outer).to(torch.int32)
            layers[0] = CSR(a.indptr, place[a.indices], a.values, (a.shape[0], len(union)))
        return self._product(union), [[*map(self._with_transpose, layers)] for layers, _ in fields]

    def _field(self, nodes: Tensor, step: int, v: int) -> tuple[list[CSR], Tensor]:
        """Return every layer's aggregation, the last into ``nodes``, and the nodes whose features the first takes."""
        layers: list[CSR] = []
        for _ in self.dims[1:]:
            a, nodes = self._aggregation(nodes, step, v)
            layers.append(a)
        return layers[::-1], nodes

    def _aggregation(self, nodes: Tensor, step: int, v: int) -> tuple[CSR, Tensor]:
        """Return one layer's aggregation into ``nodes``, and the nodes of its columns, in increasing order."""
        rows = sparse.select_rows(self.received, nodes)
        owner = sparse.row_ids(rows)
        senders = rows.indices.long()
        numbers = self._draws(nodes[owner], senders, step, v)
        kept = numbers >= draws.threshold(self.settings.edge_drop_rate[v])
        strength = self._sums(rows, owner, kept)
        received = strength + 1
        scale = torch.ones(len(nodes))
        if self.settings.max_neighbors:
            kept = self._thin_out(kept, numbers, owner, len(nodes), v)
            sampled = self._sums(rows, owner, kept)
            scale = torch.where(sampled > 0, strength / sampled, scale)
        thin = sparse.select_entries(rows, kept)
        columns, place = torch.cat([nodes, senders[kept]]).unique(return_inverse=True)
        own, place = place[: len(nodes)], place[len(nodes) :]
        a = sparse.add_self_loops(CSR(thin.indptr, place, thin.values * scale[owner[kept]], (len(nodes), len(columns))))
        loops = a.indptr[1:] - 1
        a.indices[loops] = own
        sent = self._sent(columns, step, v)[a.indices]
        if self.expects_degrees:
            # A sender whose edge to here was kept sends that one for certain.
            sent += self.settings.edge_drop_rate[v]
            sent[loops] -= self.settings.edge_drop_rate[v]
        values = sparse.scale_by_degrees(a.values, received[sparse.row_ids(a)], sent)
        return CSR(a.indptr.to(torch.int32), a.indices.to(torch.int32), values, a.shape), columns

    def _thin_out(self, kept: Tensor, numbers: Tensor, owner: Tensor, n: int, v: int) -> Tensor:
        """Keep about ``max_neighbors`` edges of each node, by the draw that kept them: the higher, the sooner."""
        counts = torch.bincount(owner[kept], minlength=n).double()
        share = (self.settings.max_neighbors / counts).clamp_(max=1) * (1 - self.settings.edge_drop_rate[v])
        # Uniform on 64-bit integers: the top `share` of them is at or above this.
        bar = (2.0**63 - share * 2.0**64).clamp_(-(2.0**63), 2.0**63 - 1024).long()
        return kept & ((numbers >= bar[owner]) | (counts <= self.settings.max_neighbors)[owner])

    def _sent(self, nodes: Tensor, step: int, v: int) -> Tensor:
        """Return what each node sends in a view, its self-loop included, (len(nodes),); in pieces, to save memory.

        To count it, the edges of the outermost nodes are read, far more than the batch aggregates over. Where
        ``max_neighbors`` asks for an estimate anyway, the expected number takes its place.
        """
        rate = self.settings.edge_drop_rate[v]
        counts = self.sent.indptr[nodes + 1] - self.sent.indptr[nodes]
        if self.expects_degrees or (rate == 0 and self.graph.weights is None):
            return (1 - rate) * counts.float() + 1
        sums = torch.ones(len(nodes))
        ends = counts.cumsum(0)
        targets = torch.arange(self.edges_at_once, int(ends[-1]) + self.edges_at_once, self.edges_at_once)
        stops = [*(torch.searchsorted(ends, targets) + 1).clamp_(max=len(nodes)).unique().tolist(), len(nodes)]
        for start, stop in itertools.pairwise([0, *dict.fromkeys(stops)]):
            some = nodes[start:stop]
            rows = sparse.select_rows(self.sent, some)
            owner = sparse.row_ids(rows)
            kept = self._draws(rows.indices.long(), some[owner], step, v) >= draws.threshold(rate)
            sums[start:stop] += self._sums(rows, owner, kept)
        return sums

    def _sums(self, rows: CSR, owner: Tensor, kept: Tensor) -> Tensor:
        """Sum up the kept entries of each row; ``owner`` is the row of every entry."""
        n = rows.shape[0]
        if self.graph.weights is None:
            return torch.bincount(owner[kept], minlength=n).float()
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
