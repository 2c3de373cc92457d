"""GCA: GRACE with views that spare what is central (Zhu et al., Graph Contrastive Learning with Adaptive Augmentation, 2021)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from ccassg.graph import Array, Graph, draws, sparse
from ccassg.model import augment
from ccassg.parameters import rates
from ccassg.systems.encoder import View
from ccassg.systems.grace import GRACE
from ccassg.training.products import first_product
from ccassg.training.rows import feature_tensor

# No edge or column is dropped more often than this (p_tau of the paper).
CEILING = 0.7


@dataclass(kw_only=True, eq=False, repr=False)
class GCA(GRACE):
    """GRACE, where edges into central nodes and columns frequent among central nodes are dropped less often.

        p = min( rate (s_max - s) / (s_max - s_mean), 0.7 ),   s = log(1 + centrality)

    An edge has the centrality of the node it points to; a column the sum over the nodes where it is not zero.
    """

    revision: ClassVar[int] = 1  # its own, whatever becomes of GRACE's

    centrality: Annotated[str, "Of nodes: degree, pagerank or eigenvector."] = "degree"

    def _views(self, graph: Graph) -> Callable[[int, int], View]:
        nodes = node_centrality(graph, self.centrality)
        edges, features = augment.edge_structure(graph), first_product(feature_tensor(graph, "cpu"))
        edge_weights = drop_weights(np.log1p(nodes)[sparse.row_ids(edges.a).numpy()], without=edges.loops.numpy())
        present = abs(sp.csr_array(graph.features)).sign()
        column_weights = drop_weights(np.log1p(present.T @ nodes))
        column_keys = draws.numbered_keys(graph.n_features)
        edge_rates = rates("edge_drop_rate", self.edge_drop_rate)
        column_rates = rates("feature_mask_rate", self.feature_mask_rate)

        def view(step: int, v: int) -> View:
            def kept(keys: Tensor, weights: Tensor, rate: float, purpose: int) -> Tensor:
                numbers = draws.draw(keys, seed=self.seed_, step=step, view=v, purpose=purpose)
                return numbers.double() >= ((rate * weights).clamp(max=CEILING) - 0.5) * 2.0**64

            stays = kept(edges.keys, edge_weights, edge_rates[v], draws.EDGES)
            stays[edges.loops] = True
            a = sparse.normalize(sparse.select_entries(edges.a, stays))
            return features, a, kept(column_keys, column_weights, column_rates[v], draws.COLUMNS)

        return view


def node_centrality(graph: Graph, kind: str) -> Array:
    """Return the centrality of every node, (n,), not negative."""
    a = graph.adjacency().astype(np.float64)
    degrees = np.asarray(a.sum(0))  # what a node receives
    if kind == "degree":
        return degrees
    if kind == "pagerank":
        received = a.T @ sp.diags_array(1 / np.maximum(np.asarray(a.sum(1)), 1e-12))
        return _iterate(lambda x: 0.15 + 0.85 * (received @ x), np.ones(graph.n_nodes))
    if kind == "eigenvector":
        # The shift by the identity keeps a bipartite graph from oscillating and does not change the eigenvector.
        return _iterate(lambda x: (y := a.T @ x + x) / np.linalg.norm(y), np.full(graph.n_nodes, graph.n_nodes**-0.5))
    raise ValueError(f"centrality must be 'degree', 'pagerank' or 'eigenvector', got {kind!r}")


def drop_weights(s: Array, without: Array | None = None) -> Tensor:
    """Return (s_max - s) / (s_max - s_mean), mean 1; ones where all are equal. ``without`` are positions that do not count."""
    counted = s if without is None else np.delete(s, without)
    top, mean = (counted.max(), counted.mean()) if counted.size else (0.0, 0.0)
    if top - mean < 1e-12:
        return torch.ones(len(s), dtype=torch.float64)
    return torch.from_numpy((top - s) / (top - mean)).clamp(min=0)


def _iterate(update: Callable[[Array], Array], x: Array, n_steps: int = 200, tolerance: float = 1e-9) -> Array:
    for _ in range(n_steps):
        previous, x = x, update(x)
        if np.abs(x - previous).max() < tolerance:
            break
    return x
