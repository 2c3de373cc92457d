"""The features as they are: what every embedding has to beat."""

from __future__ import annotations

from typing import Any

from ccassg.graph import Graph
from ccassg.systems.base import Embedder, OnStep, dense


class RawFeatures(Embedder):
    """The node features, dense; nothing is learned."""

    def _fit(self, graph: Graph, on_step: OnStep | None) -> list[float]:
        return []

    def _embed(self, graph: Graph) -> Any:
        return dense(graph.features)
