"""DeepWalk: nodes that random walks meet together lie together (Perozzi, Al-Rfou, Skiena, DeepWalk, KDD 2014)."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ccassg.graph import Graph
from ccassg.graph.feature_space import edge_fingerprint
from ccassg.systems.base import Embedder, dense
from ccassg.training.settings import OnStep


@dataclass(kw_only=True, eq=False, repr=False)
class DeepWalk(Embedder):
    """Skip-gram with hierarchical softmax (gensim) on uniform random walks.

    It embeds only the graph it was fitted on. A node without edges is on no walk: its embedding is 0.
    """

    package: ClassVar[str | None] = "gensim"
    needs_edges: ClassVar[bool] = True

    embedding_dim: Annotated[int, "Width of the embedding."] = 128
    n_walks: Annotated[int, "Walks from every node."] = 80
    walk_length: Annotated[int, "Nodes on a walk."] = 40
    window_length: Annotated[int, "Largest distance on a walk between two nodes that count as neighbours."] = 10
    add_features: Annotated[bool, 'Append the node features ("DeepWalk + features" of the paper).'] = False

    @property
    def needs_features(self) -> bool:
        """Only to append them."""
        return self.add_features

    def _fit(self, graph: Graph, on_step: OnStep | None) -> list[float]:
        try:
            from gensim.models import Word2Vec
        except RuntimeError as error:  # a user without any home folder
            raise ImportError(f"gensim cannot be loaded: {error} Set HOME to a folder") from None

        rng = np.random.default_rng(self.seed_)
        starts = np.flatnonzero(np.diff(graph.indptr))
        walks = np.concatenate(
            [random_walks(graph, rng.permutation(starts), self.walk_length, rng) for _ in range(self.n_walks)]
        )
        # gensim takes a whole number that is no word for a position: without gaps in the numbers there is none.
        met, words = np.unique(walks, return_inverse=True)
        model = Word2Vec(
            words.reshape(walks.shape).tolist(),
            vector_size=self.embedding_dim,
            window=self.window_length,
            min_count=0,
            sg=1,
            hs=1,
            negative=0,
            epochs=1,
            workers=1,  # with more, the order of updates is left to chance
            seed=self.seed_ % 2**32,
        )
        vectors = np.zeros((graph.n_nodes, self.embedding_dim), np.float32)
        vectors[met[model.wv.index_to_key]] = model.wv.vectors
        self.vectors_ = torch.from_numpy(vectors)
        self.fingerprint_ = edge_fingerprint(graph)
        return []

    def _least_bytes(self, graph: Graph) -> int:
        """The walks, as an array and as lists of numbers, besides the vectors."""
        return super()._least_bytes(graph) + 16 * graph.n_nodes * self.n_walks * self.walk_length

    def _embed(self, graph: Graph) -> Any:
        if edge_fingerprint(graph) != self.fingerprint_:
            raise ValueError("DeepWalk embeds only the graph it was fitted on, and these edges differ; fit it again")
        return np.hstack([self.vectors_.numpy(), *([dense(graph.features)] if self.add_features else [])])

    def _state(self) -> dict[str, Any]:
        return {"fingerprint": self.fingerprint_}

    def _tensors(self) -> dict[str, Tensor]:
        return {"vectors": self.vectors_}

    def _restore(self, state: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        self.fingerprint_, self.vectors_ = str(state["fingerprint"]), tensors["vectors"]

    @property
    def n_parameters_(self) -> int:
        """The vectors of the nodes and, as many, of the inner nodes of the softmax's tree."""
        return 2 * int(self.vectors_.numel())


def random_walks(graph: Graph, starts: npt.NDArray[Any], length: int, rng: np.random.Generator) -> npt.NDArray[Any]:
    """Draw one walk from each start, (n_starts, length), all a step at a time; edges are taken in proportion to their weight.

    A walk that can go no further (directed graphs) stays where it is.
    """
    degrees = np.diff(graph.indptr)
    sums = None if graph.weights is None else np.concatenate([[0.0], np.cumsum(graph.weights, dtype=np.float64)])
    walks = np.empty((len(starts), length), np.int64)
    walks[:, 0] = at = starts
    for step in range(1, length):
        first, last = graph.indptr[at], graph.indptr[at] + degrees[at] - 1
        if sums is None:
            chosen = first + (rng.random(len(at)) * degrees[at]).astype(np.int64)
        else:
            level = sums[first] + rng.random(len(at)) * (sums[last + 1] - sums[first])
            chosen = np.searchsorted(sums, level, side="right") - 1
        stuck = degrees[at] == 0
        chosen = np.clip(chosen, np.where(stuck, 0, first), np.where(stuck, 0, last))
        at = np.where(stuck, at, graph.indices[chosen])
        walks[:, step] = at
    return walks
