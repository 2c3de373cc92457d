"""What can be said about a trained encoder without labels: each criterion with the direction that is meant to be better.

`CRITERIA` are those whose worth `studies.label_free` measures; `BEST` is the one that loses least by its first choice.
"""

from typing import Any

import numpy as np
import torch

from ccassg.evaluate.diagnostics import diagnose, uniformity
from ccassg.evaluate.neighbours import unit_rows
from ccassg.graph import Array, Graph
from ccassg.model import augment
from ccassg.model.encoder import Encoder
from ccassg.training.embedding import embed
from ccassg.training.rows import feature_tensor
from studies.agreement import agreement

# Name: 1 if higher is meant to be better, -1 if lower.
CRITERIA: dict[str, int] = {
    "agreement": 1,
    "alignment": -1,
    "uniformity": -1,
    "effective rank": 1,
    "off-diagonal correlation": -1,
    "smoothness": 1,
    "loss": -1,
    "invariance": -1,
    "decorrelation": -1,
}
BEST = "off-diagonal correlation"


def criteria_of(encoder: Encoder, graph: Graph, *, seed: int = 0) -> dict[str, float]:
    """All criteria that need the encoder alone, not the course of its training.

    ``agreement`` and ``alignment`` compare two views that share no feature column and, in part, no edge; ``smoothness`` is
    the correlation of the embeddings of neighbours, 0 for strangers.
    """
    z = embed(encoder, graph).cpu().numpy()
    first, second = apart(encoder, graph, seed=seed)
    found = diagnose(z)
    return {
        "agreement": agreement(first, second),
        "alignment": alignment(first, second),
        "uniformity": uniformity(z, n_sample=1024, seed=seed),
        "effective rank": found["effective_rank"],
        "off-diagonal correlation": found["off_diagonal_correlation"],
        "smoothness": smoothness(z, graph),
    }


@torch.no_grad()
def apart(encoder: Encoder, graph: Graph, *, seed: int = 0) -> tuple[Array, Array]:
    """Embeddings of two views: each half of the columns in one of them, each edge in either with probability one half."""
    device = next(encoder.parameters()).device
    encoder.eval()
    features = feature_tensor(graph, device)
    edges = augment.edge_structure(graph, device=device) if encoder.n_hops else None
    kept = torch.zeros(graph.n_features, dtype=torch.bool, device=device)
    kept[torch.randperm(graph.n_features, generator=torch.Generator().manual_seed(seed))[::2].to(device)] = True
    made = []
    for view, columns in enumerate((kept, ~kept)):
        a = None if edges is None else augment.drop_edges(edges, 0.5, seed=seed, step=0, view=view)
        made.append(encoder(features, a, keep_columns=columns).cpu().numpy())
    return made[0], made[1]


def alignment(z1: Array, z2: Array) -> float:
    """Mean squared distance of two views of a node on the unit sphere, E ||z1_i - z2_i||^2, 0 at best (Wang and Isola, 2020)."""
    first, second = (unit_rows(z.astype(np.float64)) for z in (z1, z2))
    return float(((first - second) ** 2).sum() / len(first))


def smoothness(z: Any, graph: Graph) -> float:
    """Mean over edges of the product of the ends' standardised embeddings, per dimension; 0 without edges."""
    adjacency = graph.adjacency()
    if adjacency.nnz == 0:
        return 0.0
    z = np.asarray(z, dtype=np.float64)
    spread = z.std(0)
    z = np.divide(z - z.mean(0), spread, out=np.zeros_like(z), where=spread > 0)
    pattern = adjacency.astype(bool).astype(np.float64)
    return float((z * (pattern @ z)).sum() / (pattern.nnz * z.shape[1]))
