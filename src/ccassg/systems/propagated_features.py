"""Features averaged over the neighbourhood: graph convolution without weights (Wu et al., Simplifying Graph Convolutional
Networks, ICML 2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ccassg.graph import Graph
from ccassg.model import augment
from ccassg.systems.base import Embedder, OnStep, dense


@dataclass(kw_only=True, eq=False, repr=False)
class PropagatedFeatures(Embedder):
    """A^k X with the normalised adjacency with self-loops; nothing is learned.

    Parameters
    ----------
    n_hops : int
        The power k.
    """

    n_hops: int = 2

    def _fit(self, graph: Graph, on_step: OnStep | None) -> list[float]:
        return []

    def _embed(self, graph: Graph) -> Any:
        a = augment.normalized(augment.edge_structure(graph)).to_scipy()
        x = graph.features
        for _ in range(self.n_hops):
            x = a @ x
        return dense(x)
