"""Training one model on many processes: each holds a shard of the graph.

Every process (rank) holds a part of the nodes: their features and in-edges, and copies of the features of the *halo*, the other
parts' nodes it receives from. Aggregations after the first exchange the halo's activations (`HaloExchange`); column sums and
Grams are added up over all ranks. Edges and columns are drawn by hashes of their global numbers, so the views, and the
loss to float32 rounding, are those of a single process, whatever the number of ranks and the partition.
"""

import numpy as np
import torch
from torch import Tensor

from ccassg.graph import Array, Graph, draws, partition, sparse
from ccassg.graph.sparse import CSR
from ccassg.io import manifest, store
from ccassg.model.augment import EdgeStructure
from ccassg.model.encoder import Encoder
from ccassg.training.distributed import Ranks
from ccassg.training.halo import HaloExchange, find_halo
from ccassg.training.products import FirstProduct, first_product
from ccassg.training.rows import feature_tensor, neighbours, take_rows
from ccassg.training.settings import Settings
from ccassg.training.step import Layers, StepInputs
from ccassg.training.views import TwoWayEdges, has_pairs, pair_layers, partners, step_views


class ShardViews:
    """The two random views of the whole graph at a step, as far as this rank computes them."""

    def __init__(self, graph: Graph, encoder: Encoder, settings: Settings, ranks: Ranks) -> None:
        if settings.loss_nodes or settings.augmentations:
            which = "loss_nodes" if settings.loss_nodes else "augmentations"
            raise ValueError(f"{which} works in a single process only; leave it out or start without torchrun")
        self.n_nodes, self.settings, self.device = graph.n_nodes, settings, encoder.weights[0].device
        self.n_features, self.n_layers = graph.n_features, len(encoder.weights)
        parts = ranks.broadcast(parts_for_ranks(graph, ranks.size) if ranks.rank == 0 else None)
        nodes = torch.from_numpy(np.flatnonzero(parts == ranks.rank))
        self.edges: TwoWayEdges | None = None
        self.exchange: HaloExchange | None = None
        if encoder.propagate:
            both_directions = settings.drop_both_directions
            nodes, self.edges, self.exchange = make_shard(graph, parts, ranks, both_directions, self.device)
        self.nodes, self.all_features = nodes, feature_tensor(graph, "cpu")
        self.received = neighbours(graph)[0] if has_pairs(graph, encoder, settings) else None
        # The partners' rows are others at every step.
        self.features = self._own_product(ranks) if self.received is None else None

    def __call__(self, step: int) -> StepInputs:
        """Return features, views and number of nodes in the loss, over all ranks, at ``step``."""
        features, layers = self.features, [self._layers(step, v) for v in (0, 1)]
        if features is None:
            assert self.received is not None
            drawn = partners(self.received, self.nodes, seed=self.settings.seed, step=step)
            needed, layers = pair_layers(self.nodes, drawn, self.n_layers, self.device)
            features = self._product(needed)
        return features, step_views(self.settings, self.n_features, step, layers, self.device), self.n_nodes

    def _own_product(self, ranks: Ranks) -> FirstProduct:
        """Return the product of the own features and those of the halo, which come from their owners: nobody reads another part."""
        n_halo = 0 if self.exchange is None else self.exchange.n_halo
        own = take_rows(self.all_features, self.nodes[: len(self.nodes) - n_halo]).to(self.device)
        ranks.wait()  # for those that are still reading
        return first_product(own if self.exchange is None else self.exchange.with_halo(own))

    def _product(self, nodes: Tensor) -> FirstProduct:
        return first_product(take_rows(self.all_features, nodes).to(self.device))

    def _layers(self, step: int, v: int) -> Layers:
        """Return each layer's aggregation in a view, with its transpose."""
        if self.edges is None or self.exchange is None:
            return [None] * self.n_layers
        rate, everywhere = self.settings.edge_drop_rate[v], self.exchange.everywhere
        pair = self.edges.drop(rate, seed=self.settings.seed, step=step, view=v, total_sent=everywhere)
        return [pair] * self.n_layers


def parts_for_ranks(graph: Graph, n_ranks: int) -> Array:
    """Assign every node to one of so many processes: ranges of a store (`bounds_for_ranks`), any other graph is partitioned anew."""
    if store.location(graph) is None:
        return partition.partition(graph, n_ranks)
    return partition.ranges_to_parts(bounds_for_ranks(graph, n_ranks))


def bounds_for_ranks(graph: Graph, n_ranks: int) -> list[int]:
    """Return where the range of nodes of each process begins and ends: n_ranks + 1 numbers.

    The parts of a store are dealt out in order where there are enough of them; else the nodes are cut evenly.
    """
    folder = store.location(graph)
    stored = (0, graph.n_nodes) if folder is None else manifest.part_bounds(folder)
    n_parts = len(stored) - 1
    if n_parts >= n_ranks and n_parts > 1:
        return [stored[n_parts * k // n_ranks] for k in range(n_ranks + 1)]
    return partition.even_bounds(graph.n_nodes, n_ranks)


def make_shard(
    graph: Graph, parts: Array, ranks: Ranks, both_directions: bool, device: torch.device | str = "cpu"
) -> tuple[Tensor, TwoWayEdges, HaloExchange]:
    """Cut this rank's part out of a graph, given every node's rank (n,); of a store it reads only the rows it needs.

    Returns the global numbers of its nodes, own ones first and then the halo, and what is in the order of these.
    """
    received, sent = neighbours(graph)
    own = torch.from_numpy(np.flatnonzero(parts == ranks.rank))
    halo = find_halo(received, sent, parts, own, ranks)
    rows = sparse.select_rows(received, own)
    nodes = torch.cat([own, halo.nodes])
    place = torch.empty(graph.n_nodes, dtype=torch.int32)
    place[nodes] = torch.arange(len(nodes), dtype=torch.int32)
    # Entries stay in the order of their global numbers, so that sums come out as in a single process, bit for bit.
    a = sparse.add_self_loops(CSR(rows.indptr.int(), place[rows.indices.long()], rows.values, (len(own), len(nodes))))
    keys = draws.edge_keys(own[sparse.row_ids(a)], nodes[a.indices], graph.n_nodes, both_directions)
    structure = EdgeStructure(a.to(device), keys.to(device), (a.indptr[1:].long() - 1).to(device))
    edges = TwoWayEdges(structure, weighted=graph.weights is not None)
    return nodes, edges, HaloExchange(ranks, halo.sent_rows.to(device), halo.send_counts, halo.receive_counts)
