"""Train encoders side by side and weigh them: the neighbourhood's, the own features', and both as they are.

A linear probe on the result can use whichever says more. The trained parts are CCA-SSG each on its own; the linear parts are
A^k X and, beside an MLP, X itself, in their principal directions, which nothing can overfit. Weights and shifts go into the
last layers, so that what is left is plain encoders.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ccassg.graph import Array, Graph
from ccassg.model import augment
from ccassg.model.encoder import Encoder, Joined
from ccassg.model.loss import Terms
from ccassg.training.loop import History, Settings, embed, train

# The share of the own features below which they are left out, and above which the neighbourhood is.
LEFT_OUT, ALONE = 0.2, 0.58
TRAINED = ("gcn", "mlp")
# Of the randomised decomposition.
OVERSAMPLING, N_ITERATIONS = 8, 2


def part_weights(own_share: float, n_hops: int) -> dict[str, float]:
    """What the parts weigh by the share of the own features in the evidence; a part that is not there says too little.

    "gcn" and "mlp" are trained, "linear" is A^k X and "own" is X, which A^0 X would only repeat.
    """
    own, neighbours = own_share, 1 - own_share
    weights = {}
    if own_share <= ALONE:
        # Squared, since averages contain the node itself: where edges say nothing, what agrees with them is its own part.
        weights["gcn"] = min(1.0, neighbours / max(own, 1e-12)) ** 2
    if own_share >= LEFT_OUT:
        weights["mlp"] = min(1.0, own / max(neighbours, 1e-12))
    weights["linear"] = 1.0
    if "mlp" in weights and n_hops > 0:
        weights["own"] = weights["mlp"]
    return weights


def build(n_features: int, hidden: list[int], width: int, *, own_share: float, n_hops: int, seed: int) -> Joined:
    """Untrained parts that share the width of the embedding equally; the first gets what does not divide."""
    names = list(part_weights(own_share, n_hops))
    widths = [width // len(names)] * len(names)
    widths[0] += width - sum(widths)
    parts = []
    for name, own in zip(names, widths, strict=True):
        is_gcn, is_mlp = name == "gcn", name == "mlp"
        dims = [n_features, *(hidden if is_gcn or is_mlp else []), own]
        extra = {"gcn": max(0, n_hops - len(hidden) - 1), "linear": n_hops}.get(name, 0)
        parts.append(Encoder(dims, propagate=is_gcn, batch_norm=is_mlp, seed=seed, extra_hops=extra))
    return Joined(parts)


def train_parts(
    encoder: Joined,
    graph: Graph,
    settings: Settings,
    own_share: float,
    n_hops: int,
    *,
    checkpoint_path: Path | None = None,
    checkpoint_every: int = 50,
    on_step: Callable[[int, Terms, int], None] | None = None,
) -> History:
    """Train a joined encoder in place, part after part; the history is their sum, step by step.

    Parameters
    ----------
    encoder : Joined
        From `build` with the same share and hops.
    graph, settings, checkpoint_path, checkpoint_every, on_step
        As for `train`; the second part's checkpoint lies beside the first's.
    own_share, n_hops : float, int
        See `part_weights`.
    """
    weights = part_weights(own_share, n_hops)
    by_name = dict(zip(weights, encoder.parts, strict=True))
    trained = [part for name, part in by_name.items() if name in TRAINED]
    histories = []
    for i, part in enumerate(trained):
        path = checkpoint_path if checkpoint_path is None or i == 0 else _beside(checkpoint_path)
        own = settings if part.propagate else replace(settings, edge_drop_rate=(0.0, 0.0))
        report = None if on_step is None else _shifted(on_step, i, len(trained))
        histories.append(
            train(part, graph, own, checkpoint_path=path, checkpoint_every=checkpoint_every, on_step=report)
        )
    for name, part in by_name.items():
        if name not in TRAINED:
            with torch.no_grad():
                part.weights[0].copy_(torch.from_numpy(directions(graph, part.n_hops, part.dims[-1])))
                part.biases[0].zero_()
    _weigh(encoder, graph, weights)
    return _sum(histories)


def directions(graph: Graph, n_hops: int, width: int, *, seed: int = 0) -> Array:
    """The principal directions of A^k X, turned at random within the space that they span, (n_features, width).

    Principal directions put what matters into a few columns. A probe that moves every weight by about the same step, as Adam
    does, then takes in as much noise from each of the others; turned, every column has its share of both.
    """
    found = principal_directions(graph, n_hops, width, seed=seed)
    draws = np.random.default_rng([seed, 1]).standard_normal((width, width), dtype=np.float32)
    turned: Array = found @ np.linalg.qr(draws)[0]
    return turned


def principal_directions(graph: Graph, n_hops: int, width: int, *, seed: int = 0) -> Array:
    """The directions (n_features, width) along which A^k X varies most, by a randomised decomposition."""
    x: Any = graph.features
    largest = float(abs(x).max())
    unit = np.float32(1 / largest if 0 < largest < np.inf and np.isfinite(1 / largest) else 1)  # or squares overflow
    a: Any = augment.normalized(augment.edge_structure(graph)).to_scipy() if n_hops else None

    def apply(columns: Array) -> Array:
        result = np.asarray(x @ (columns * unit))
        for _ in range(n_hops):
            result = a @ result
        return result - result.mean(0)

    def transposed(columns: Array) -> Array:
        for _ in range(n_hops):
            columns = a.T @ columns
        return np.asarray(x.T @ (columns * unit))

    width_found = min(width + OVERSAMPLING, graph.n_features, graph.n_nodes)
    draws = np.random.default_rng(seed).standard_normal((graph.n_features, width_found), dtype=np.float32)
    basis = np.linalg.qr(apply(draws))[0]
    for _ in range(N_ITERATIONS):
        basis = np.linalg.qr(apply(np.linalg.qr(transposed(basis))[0]))[0]
    # The basis is centred, so the mean of A^k X does not show in this product.
    directions = np.linalg.svd(transposed(basis), full_matrices=False)[0][:, :width]
    result = np.zeros((graph.n_features, width), np.float32)
    result[:, : directions.shape[1]] = directions
    return result


@torch.no_grad()
def _weigh(encoder: Joined, graph: Graph, weights: dict[str, float]) -> None:
    """Centre every part and bring it to its weight times the scale that the heaviest trained part has by itself."""
    found = [embed(part, graph) for part in encoder.parts]
    shifts = [z.mean(0) for z in found]
    scales = [float((z - shift).square().mean().sqrt()) for z, shift in zip(found, shifts, strict=True)]
    # paper: the encoder's output as it is. A probe with a fixed number of steps depends on that scale, so it stays.
    names = list(weights)
    lead = names.index(max(TRAINED, key=lambda name: weights.get(name, 0.0)))
    for part, weight, shift, scale in zip(encoder.parts, weights.values(), shifts, scales, strict=True):
        factor = weight * scales[lead] / scale if scale > 0 else 1.0
        part.weights[-1].mul_(factor)
        part.biases[-1].sub_(shift).mul_(factor)


def _sum(histories: list[History]) -> History:
    """Step by step; a part that stopped earlier stays at its last value."""
    n_steps = max(len(history.loss) for history in histories)
    total = History()
    for name in ("loss", "invariance", "decorrelation"):
        curves = [getattr(history, name) for history in histories]
        padded = [curve + curve[-1:] * (n_steps - len(curve)) for curve in curves]
        setattr(total, name, [float(sum(values)) for values in zip(*padded, strict=True)])
    return total


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ".own")


def _shifted(on_step: Callable[[int, Terms, int], None], i: int, n: int) -> Callable[[int, Terms, int], None]:
    return lambda step, terms, n_steps: on_step(i * n_steps + step, terms, n * n_steps)
