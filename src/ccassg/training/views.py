"""The two random views of a whole graph at a step, each adjacency together with its transpose.

The views are those of `ccassg.model.augment`, made in fewer passes: the gradient of a product needs the transpose, whose
order is found once, and in a graph without weights a degree is a count.

paper: the second view of a node is the node itself. With the neighbour view (an MLP's) it is a random neighbour j(i) instead,
another at every step:

    Z1 = f(x_i, mask 1),    Z2 = f(x_j(i), mask 2),    L(Z1, Z2) as in the paper

So the encoder learns what a node's features say of its neighbours', and needs no edges afterwards (`partners`, `pair_layers`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ccassg.graph import Graph, draws, sparse
from ccassg.graph.sparse import CSR
from ccassg.model import augment
from ccassg.model.augment import EdgeStructure
from ccassg.model.encoder import Encoder
from ccassg.training.products import FirstProduct, SeparateProducts, first_product
from ccassg.training.rows import feature_tensor, neighbours
from ccassg.training.settings import Settings
from ccassg.training.step import Layers, StepInputs, StepView

# Taking rows out of the features costs a pass over them: not worth it where nearly all are needed.
WORTH_CUTTING = 0.75


class Views:
    """The two random views of a graph at a given step, ready for `ExactStep`."""

    def __init__(self, graph: Graph, encoder: Encoder, settings: Settings) -> None:
        self.graph, self.settings, self.device = graph, settings, encoder.weights[0].device
        self.n_layers = len(encoder.weights)
        self.propagate = encoder.propagate
        self.features = first_product(feature_tensor(graph, self.device))
        self.edges = self._edges(graph) if encoder.propagate else None
        self.received = neighbours(graph)[0].to(self.device) if has_pairs(graph, encoder, settings) else None

    def __call__(self, step: int) -> StepInputs:
        """Return features, views and number of nodes in the loss at ``step``."""
        settings, n = self.settings, self.graph.n_nodes
        features: FirstProduct | SeparateProducts = self.features
        edges = (self.edges, self.edges)
        if settings.augmentations:
            graphs = [self._augmented(step, v) for v in (0, 1)]
            features = SeparateProducts([first_product(feature_tensor(g, self.device)) for g in graphs])
            edges = (self._edges(graphs[0]), self._edges(graphs[1])) if self.propagate else edges
        nodes = None
        if 0 < settings.loss_nodes < n:
            n = settings.loss_nodes
            nodes = draws.sample_nodes(self.graph.n_nodes, n, seed=settings.seed, step=step, device=self.device)
        if self.received is not None:
            whose = torch.arange(n, device=self.device) if nodes is None else nodes
            drawn = partners(self.received, whose, seed=settings.seed, step=step)
            needed, layers = pair_layers(whose, drawn, self.n_layers, self.device)
            features = features if nodes is None else features.rows(needed)
        elif nodes is not None:
            features, layers = self._cut(features, nodes, step, edges)
        else:
            layers = [self._layers(step, v, each) for v, each in enumerate(edges)]
        return features, step_views(settings, self.graph.n_features, step, layers, self.device), n

    def _layers(self, step: int, v: int, edges: TwoWayEdges | None) -> Layers:
        """Return each layer's aggregation in a view, with its transpose."""
        if edges is None:
            return [None] * self.n_layers
        rate = self.settings.edge_drop_rate[v]
        return [edges.drop(rate, seed=self.settings.seed, step=step, view=v)] * self.n_layers

    def _cut(
        self, features: FirstProduct | SeparateProducts, nodes: Tensor, step: int, edges: Sequence[TwoWayEdges | None]
    ) -> tuple[FirstProduct | SeparateProducts, list[Layers]]:
        """Leave out the rows that ``nodes`` do not need, of the features and of both views' layers."""
        fields = [
            needed_rows(each.thin(rate, seed=self.settings.seed, step=step, view=v)[0], nodes, self.n_layers)
            for v, (each, rate) in enumerate(zip(edges, self.settings.edge_drop_rate, strict=True))
            if each is not None
        ]
        if not fields:
            return features.rows(nodes), [[None] * self.n_layers] * 2
        needed = torch.cat([outer for _, outer in fields]).unique()
        if len(needed) > WORTH_CUTTING * self.graph.n_nodes:
            needed = torch.arange(self.graph.n_nodes, device=self.device)
        else:
            features = features.rows(needed)
        return features, [[(a, sparse.transpose(a)) for a in onto(needed, *field)] for field in fields]

    def _augmented(self, step: int, v: int) -> Graph:
        graph = self.graph
        for augmentation in self.settings.augmentations:
            graph = augmentation(graph, self.settings.seed, step, v)
            if graph.n_nodes != self.graph.n_nodes or graph.n_features != self.graph.n_features:
                raise ValueError(f"augmentation {augmentation!r} must keep the nodes and the features' width")
        return graph

    def _edges(self, graph: Graph) -> TwoWayEdges:
        both = self.settings.drop_both_directions
        structure = augment.edge_structure(graph, both_directions=both, device=self.device)
        return TwoWayEdges(structure, weighted=graph.weights is not None)


def has_pairs(graph: Graph, encoder: Encoder, settings: Settings) -> bool:
    """Tell whether second views are neighbours; without edges every node is its own partner, and every step the paper's."""
    if settings.neighbour_view and encoder.propagate:
        raise ValueError("neighbour_view is for an MLP; graph convolutions see neighbours in either view")
    return settings.neighbour_view and graph.n_edges > 0


def partners(received: CSR, nodes: Tensor, *, seed: int, step: int) -> Tensor:
    """Draw for each node one of those it receives from, uniformly whatever their weights, (len(nodes),).

    A node that receives from none is its own partner: for that one the step is the paper's.
    """
    starts = received.indptr[nodes].long()
    counts = received.indptr[nodes + 1].long() - starts
    # By the node's number in the whole graph, so that it has the same partner in any batch and any process.
    numbers = draws.draw(draws.mix(nodes + 1), seed=seed, step=step, view=1, purpose=draws.PARTNERS)
    places = starts + numbers % counts.clamp(min=1)
    drawn, some = nodes.clone(), counts > 0
    drawn[some] = received.indices[places[some]].long()
    return drawn


def pair_layers(nodes: Tensor, drawn: Tensor, n_layers: int, device: torch.device) -> tuple[Tensor, list[Layers]]:
    """Return the nodes whose features a step on pairs needs, in increasing order, and the layers of both views.

    ``nodes`` are in increasing order, ``drawn`` their partners. The first layer of a view picks its rows out of the product X W
    of all that are needed: a node that is in both views, or the partner of many, is multiplied once.
    """
    needed, places = torch.cat([nodes, drawn]).unique(return_inverse=True)
    layers: list[Layers] = []
    for rows in places.to(torch.int32).tensor_split((len(nodes),)):
        indptr = torch.arange(len(rows) + 1, dtype=torch.int32, device=rows.device)
        pick = CSR(indptr, rows, torch.ones(len(rows), device=rows.device), (len(rows), len(needed)))
        layers.append([(pick.to(device), sparse.transpose(pick).to(device)), *[None] * (n_layers - 1)])
    if len(needed) == len(nodes):
        layers[0] = [None] * n_layers  # it would pick all rows, in order
    return needed, layers


def step_views(
    settings: Settings, n_features: int, step: int, layers: Sequence[Layers], device: torch.device
) -> tuple[StepView, StepView]:
    """Put both views together: each one's layers, and the feature columns that stay, which are drawn here."""
    first, second = (
        StepView(
            augment.mask_features(n_features, rate, seed=settings.seed, step=step, view=v, device=device), layers[v]
        )
        for v, rate in enumerate(settings.feature_mask_rate)
    )
    return first, second


def needed_rows(a: CSR, nodes: Tensor, n_layers: int) -> tuple[list[CSR], Tensor]:
    """Cut each layer's aggregation to the rows that ``nodes`` need in the last one; and return the nodes that the first takes in."""
    layers = []
    for _ in range(n_layers):
        part, nodes = sparse.compact_columns(sparse.select_rows(a, nodes))
        layers.append(part)
    return layers[::-1], nodes


def onto(nodes: Tensor, layers: list[CSR], outer: Tensor) -> list[CSR]:
    """Let the first layer, whose columns are ``outer``, take in ``nodes``, which are more; all in increasing order.

    So one product X W serves both views: its rows are all nodes that either of them needs.
    """
    a, place = layers[0], torch.searchsorted(nodes, outer).to(torch.int32)
    return [CSR(a.indptr, place[a.indices], a.values, (a.shape[0], len(nodes))), *layers[1:]]


class TwoWayEdges:
    """An edge structure ready to be thinned out together with its transpose, whose order is found once.

    ``weighted`` is False where every value is 1, which makes degrees mere counts.
    """

    def __init__(self, structure: EdgeStructure, *, weighted: bool) -> None:
        self.structure, self.weighted = structure, weighted
        self.rows = sparse.row_ids(structure.a).to(structure.a.indices.dtype)

    @functools.cached_property
    def transposed(self) -> tuple[Tensor, Tensor, Tensor]:
        """What `sparse.transpose_order` says of the structure."""
        return sparse.transpose_order(self.structure.a)

    def drop(
        self, rate: float, *, seed: int, step: int, view: int, total_sent: Callable[[Tensor], Tensor] | None = None
    ) -> tuple[CSR, CSR]:
        """Make what `ccassg.model.augment.drop_edges` makes, and its transpose.

        Where the receivers are only some of the nodes, ``total_sent`` adds to what the senders (m,) send to these what they
        send to all others.
        """
        thin, kept = self.thin(rate, seed=seed, step=step, view=view, total_sent=total_sent)
        return thin, self._transposed(kept, thin.values)

    def thin(
        self, rate: float, *, seed: int, step: int, view: int, total_sent: Callable[[Tensor], Tensor] | None = None
    ) -> tuple[CSR, Tensor | None]:
        """Make it without its transpose; also return which entries were kept, None for all."""
        a = self.structure.a
        if rate == 0:
            kept = None
            thin, rows, values = a, self.rows, a.values
        else:
            kept = augment.kept_edges(self.structure, rate, seed=seed, step=step, view=view)
            positions = kept.nonzero().squeeze(1)
            thin = CSR(_running_count(kept)[a.indptr], a.indices[positions], a.values[:0], a.shape)
            rows = self.rows[positions]
            values = a.values[positions] if self.weighted else a.values[: len(positions)]
        if self.weighted:
            received = a.values.new_zeros(a.shape[0]).index_add_(0, rows, values)
            sent = a.values.new_zeros(a.shape[1]).index_add_(0, thin.indices, values)
        else:
            received = thin.indptr.diff().to(values.dtype)
            sent = torch.bincount(thin.indices, minlength=a.shape[1]).to(values.dtype)
        if total_sent is not None:
            sent = total_sent(sent)
        scaled = sparse.scale_by_degrees(values, received[rows], sent[thin.indices])
        return thin.with_values(scaled), kept

    def _transposed(self, kept: Tensor | None, values: Tensor) -> CSR:
        indptr, indices, order = self.transposed
        shape = (self.structure.a.shape[1], self.structure.a.shape[0])
        if kept is None:
            return CSR(indptr, indices, values[order], shape)
        kept_t = kept[order]
        positions = kept_t.nonzero().squeeze(1)
        # Where each kept entry went in the thinned arrays.
        place = _running_count(kept)[order[positions]]
        return CSR(_running_count(kept_t)[indptr], indices[positions], values[place], shape)


def _running_count(flags: Tensor) -> Tensor:
    """counts[i] = number of true flags before position i, shape (len + 1,), 32 bit where that suffices."""
    counts = torch.zeros(len(flags) + 1, dtype=torch.int32 if len(flags) < 2**31 else torch.int64, device=flags.device)
    torch.cumsum(flags, 0, out=counts[1:])
    return counts
