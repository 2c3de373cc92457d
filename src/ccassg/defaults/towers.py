"""Build the towers of an encoder, train one after the other, and weigh them.

A plain encoder is one tower. A joined one has several, of the neighbourhood, of the own features, and of both as they are, so
that a linear probe can use whichever says more. The trained towers are CCA-SSG each on its own; the linear ones are A^k X and,
beside an MLP, X itself, in their principal directions, which nothing can overfit. Weights and shifts go into the last layers.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ccassg.defaults.agreement import safe_unit
from ccassg.graph import Array, Graph
from ccassg.model import augment
from ccassg.model.encoder import Encoder, Tower
from ccassg.training.embedding import embed
from ccassg.training.loop import train
from ccassg.training.settings import History, OnStep, Settings

# The share of the own features below which they are left out, and above which the neighbourhood is.
LEFT_OUT, ALONE = 0.2, 0.58
TRAINED = ("gcn", "mlp")
# Of the randomised decomposition.
OVERSAMPLING, N_ITERATIONS = 8, 2


def tower_weights(own_share: float, n_hops: int) -> dict[str, float]:
    """Weigh the towers of a joined encoder by the own features' share of the evidence; one that is missing says too little.

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


def build(n_features: int, hidden: list[int], width: int, weights: Iterable[str], *, n_hops: int, seed: int) -> Encoder:
    """Build the untrained encoder: towers that share the width equally; the first gets what does not divide.

    ``hidden`` are the widths of the hidden layers of trained towers, ``weights`` (`tower_weights`) names the towers.
    """
    names = list(weights)
    if width < len(names):
        raise ValueError(
            f"embedding_dim {width} is too narrow for {len(names)} parts; widen it or take a plain encoder"
        )
    widths = [width // len(names)] * len(names)
    widths[0] += width - sum(widths)
    towers = []
    for name, own in zip(names, widths, strict=True):
        dims = [n_features, *(hidden if name in TRAINED else []), own]
        extra = {"gcn": max(0, n_hops - len(hidden) - 1), "linear": n_hops}.get(name, 0)
        towers.append(Tower(dims, propagate=name == "gcn", batch_norm=name == "mlp", seed=seed, extra_hops=extra))
    return Encoder(towers)


def train_towers(
    encoder: Encoder,
    graph: Graph,
    settings: Settings,
    weights: dict[str, float],
    *,
    checkpoint_path: Path | None = None,
    checkpoint_every: int = 50,
    on_step: OnStep | None = None,
) -> History:
    """Train an encoder from `build` in place, tower after tower; the history is their sum, step by step.

    Arguments are those of `train`; the second tower's checkpoint lies beside the first's. ``weights`` says what every tower
    weighs beside the others (`tower_weights`).
    """
    by_name = dict(zip(weights, encoder, strict=True))
    trained = [tower for name, tower in by_name.items() if name in TRAINED]
    histories = []
    for i, tower in enumerate(trained):
        path = checkpoint_path
        if checkpoint_path is not None and i > 0:
            path = checkpoint_path.with_name(checkpoint_path.name + ".own")
        report = None if on_step is None else _shifted(on_step, i, len(trained))
        histories.append(
            train(tower, graph, settings, checkpoint_path=path, checkpoint_every=checkpoint_every, on_step=report)
        )
    for name, tower in by_name.items():
        if name not in TRAINED:
            with torch.no_grad():
                tower.weights[0].copy_(torch.from_numpy(directions(graph, tower.n_hops, tower.dims[-1])))
                tower.biases[0].zero_()
    if len(encoder) > 1:
        _weigh(encoder, graph, weights)
    return {name: _sum([history[name] for history in histories]) for name in histories[0]}


def directions(graph: Graph, n_hops: int, width: int) -> Array:
    """Find the principal directions of A^k X, turned at random within the space that they span, (n_features, width).

    Principal directions put what matters into a few columns. A probe that moves every weight by about the same step, as Adam
    does, then takes in as much noise from each of the others; turned, every column has its share of both.
    """
    draws = np.random.default_rng([0, 1]).standard_normal((width, width), dtype=np.float32)
    return np.asarray(principal_directions(graph, n_hops, width) @ np.linalg.qr(draws)[0])


def principal_directions(graph: Graph, n_hops: int, width: int) -> Array:
    """Find the directions (n_features, width) along which A^k X varies most, by a randomised decomposition."""
    x: Any = graph.features
    unit = safe_unit(x)
    a: Any = augment.normalized(graph).to_scipy() if n_hops else None

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
    draws = np.random.default_rng(0).standard_normal((graph.n_features, width_found), dtype=np.float32)
    basis = np.linalg.qr(apply(draws))[0]
    for _ in range(N_ITERATIONS):
        basis = np.linalg.qr(apply(np.linalg.qr(transposed(basis))[0]))[0]
    # The basis is centred, so the mean of A^k X does not show in this product.
    directions = np.linalg.svd(transposed(basis), full_matrices=False)[0][:, :width]
    result = np.zeros((graph.n_features, width), np.float32)
    result[:, : directions.shape[1]] = directions
    return result


@torch.no_grad()
def _weigh(encoder: Encoder, graph: Graph, weights: dict[str, float]) -> None:
    """Centre every tower and bring it to its weight times the scale that the heaviest trained one has by itself."""
    found = [embed(Encoder([tower]), graph) for tower in encoder]
    shifts = [z.mean(0) for z in found]
    scales = [float((z - shift).square().mean().sqrt()) for z, shift in zip(found, shifts, strict=True)]
    # paper: the encoder's output as it is. A probe with a fixed number of steps depends on that scale, so it stays.
    lead = list(weights).index(max(TRAINED, key=lambda name: weights.get(name, 0.0)))
    for tower, weight, shift, scale in zip(encoder, weights.values(), shifts, scales, strict=True):
        factor = weight * scales[lead] / scale if scale > 0 else 1.0
        tower.weights[-1].mul_(factor)
        tower.biases[-1].sub_(shift).mul_(factor)


def _sum(curves: list[list[float]]) -> list[float]:
    """Step by step; a tower that stopped earlier stays at its last value."""
    n_steps = max(map(len, curves))
    padded = [curve + curve[-1:] * (n_steps - len(curve)) for curve in curves]
    return [float(sum(values)) for values in zip(*padded, strict=True)]


def _shifted(on_step: OnStep, i: int, n: int) -> OnStep:
    return lambda step, terms, n_steps: on_step(i * n_steps + step, terms, n * n_steps)
