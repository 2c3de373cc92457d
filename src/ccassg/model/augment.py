"""Random views of a graph: each edge is dropped, and each feature column masked, with some probability.

Draws are hashes (`ccassg.graph.draws`): a view depends on (seed, step, view) and on nothing else.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ccassg.graph import Graph, draws, sparse
from ccassg.graph.sparse import CSR


@dataclass(frozen=True)
class EdgeStructure:
    """The fixed structure that edge dropping thins out: A + I with rows as receivers.

    ``keys`` names each entry independently of its position (hash of sender and receiver); ``loops`` are the positions of the
    self-loops.
    """

    a: CSR
    keys: Tensor
    loops: Tensor


def edge_structure(graph: Graph, *, both_directions: bool = False, device: torch.device | str = "cpu") -> EdgeStructure:
    """Prepare a graph for `drop_edges`, once; ``both_directions`` of an edge get the same key and are dropped together.

    paper: does not say; the released code drops them independently, which is the default here.
    """
    a = with_self_loops(graph)
    keys = draws.edge_keys(sparse.row_ids(a), a.indices.long(), graph.n_nodes, both_directions)
    return EdgeStructure(a.to(device), keys.to(device), (a.indptr[1:].long() - 1).to(device))


def drop_edges(edges: EdgeStructure, rate: float, *, seed: int, step: int, view: int) -> CSR:
    """Drop each edge with probability ``rate`` and normalise what remains: the adjacency of a view.

    Dropped edges do not count in degrees. Training makes the same view together with its transpose (`ccassg.training.views`).
    """
    return sparse.normalize(sparse.select_entries(edges.a, kept_edges(edges, rate, seed=seed, step=step, view=view)))


def kept_edges(edges: EdgeStructure, rate: float, *, seed: int, step: int, view: int) -> Tensor:
    """Draw which entries of the structure stay, bool (nnz,)."""
    kept = draws.keep(edges.keys, rate, seed=seed, step=step, view=view, purpose=draws.EDGES)
    kept[edges.loops] = True  # no node loses itself
    return kept


def mask_features(
    n_features: int, rate: float, *, seed: int, step: int, view: int, device: torch.device | str = "cpu"
) -> Tensor | None:
    """Draw which feature columns stay, bool (n_features,); None if ``rate`` is 0 and all do."""
    if rate == 0:
        return None
    keys = draws.numbered_keys(n_features, device)
    return draws.keep(keys, rate, seed=seed, step=step, view=view, purpose=draws.COLUMNS)


def normalized(graph: Graph, *, device: torch.device | str = "cpu") -> CSR:
    """Normalise the whole graph, as the encoder sees it at inference: every edge, and no draw."""
    return sparse.normalize(with_self_loops(graph).to(device))


def with_self_loops(graph: Graph) -> CSR:
    """Return A + I, whose rows are the receiving nodes."""
    adjacency = graph.adjacency()
    return sparse.add_self_loops(sparse.from_scipy(adjacency.T.tocsr() if graph.directed else adjacency))
