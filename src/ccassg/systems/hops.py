"""Features and their averages side by side: what there is to read off a graph before anything is trained."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from ccassg.evaluate.neighbours import unit_rows
from ccassg.graph import Graph
from ccassg.model import augment
from ccassg.systems.base import Embedder, dense

# Sparse rows are made dense, and divided by their length, so many at a time.
BLOCK_ROWS = 4096


@dataclass(kw_only=True, eq=False, repr=False)
class Hops(Embedder):
    """X, A X, ..., A^k X side by side, each row of each at length 1, with the normalised adjacency with self-loops."""

    n_hops: Annotated[int, "The highest power k."] = 2

    def _embed(self, graph: Graph) -> Any:
        a = augment.normalized(graph).to_scipy()
        x: Any = graph.features
        d = graph.n_features
        z = np.empty((graph.n_nodes, (self.n_hops + 1) * d), np.float32)
        for hop in range(self.n_hops + 1):
            for start in range(0, len(z), BLOCK_ROWS):
                rows = slice(start, start + BLOCK_ROWS)
                z[rows, hop * d : (hop + 1) * d] = unit_rows(dense(x[rows]))
            x = a @ x
        return z
