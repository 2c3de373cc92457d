"""The one training loop.

Read from top to bottom: make two views, compute loss and gradients, take an Adam step, record, save now and then.
Everything that determines a run is in `Settings`; the same settings on the same graph give the same bits, whether the run
was interrupted or not.
"""

from __future__ import annotations

import hashlib
import json
import math
import signal
import threading
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from ccassg.graph import Graph, sparse
from ccassg.graph.sparse import CSR
from ccassg.io.store import release
from ccassg.model import augment
from ccassg.model.augment import Edges
from ccassg.model.encoder import Encoder, Joined, parts_of
from ccassg.model.loss import Objective, Terms
from ccassg.training import checkpoint, distributed, stopping
from ccassg.training.batches import BatchViews, RunningMoments, memory_for
from ccassg.training.products import FirstProduct, SeparateProducts, first_product
from ccassg.training.step import ExactStep, View, no_sharing

CHECKSUM_BYTES = 2**24

Augmentation = Callable[[Graph, int, int, int], Graph]
Inputs = tuple[FirstProduct | SeparateProducts, tuple[View, View], int]


@dataclass(frozen=True)
class Settings:
    """What determines a run, apart from the graph and the initial weights.

    Rates are pairs, one per view. ``loss_nodes`` is the number of nodes drawn for the loss each step, 0 for all;
    ``batch_nodes`` and ``max_neighbors`` are described in `ccassg.training.batches`.
    ``stop_when_flat`` ends training before ``n_steps`` when the loss says so (`ccassg.training.stopping`).
    ``augmentations`` are functions (graph, seed, step, view) -> graph, applied before edges are dropped and columns masked.
    """

    n_steps: int
    learning_rate: float
    weight_decay: float
    objective: Objective
    edge_drop_rate: tuple[float, float]
    feature_mask_rate: tuple[float, float]
    drop_both_directions: bool = False
    loss_nodes: int = 0
    batch_nodes: int = 0
    max_neighbors: int = 0
    seed: int = 0
    augmentations: tuple[Augmentation, ...] = ()
    stop_when_flat: bool = False

    def fingerprint(self, graph: Graph, encoder: Encoder) -> str:
        """A hash of all that the course of a run depends on; a checkpoint of another run is not resumed."""
        known = asdict(self) | {
            "augmentations": [getattr(f, "__qualname__", repr(f)) for f in self.augmentations],
            "n_steps": None,  # a longer run continues a shorter one
            "graph": [graph.n_nodes, graph.n_edges, graph.n_features, checksum(graph)],
            "dims": encoder.dims,
            "propagate": encoder.propagate,
        }
        del known["stop_when_flat"]  # where a run ends, not how it goes
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


@dataclass
class History:
    """Loss, invariance and decorrelation of every step."""

    loss: list[float] = field(default_factory=list)
    invariance: list[float] = field(default_factory=list)
    decorrelation: list[float] = field(default_factory=list)

    def append(self, terms: Terms) -> None:
        """Record one step."""
        self.loss.append(float(terms.loss))
        self.invariance.append(float(terms.invariance))
        self.decorrelation.append(float(terms.decorrelation))


class NonFiniteLossError(ArithmeticError):
    """Training met a loss that is not a number."""


def train(
    encoder: Encoder,
    graph: Graph,
    settings: Settings,
    *,
    checkpoint_path: Path | None = None,
    checkpoint_every: int = 50,
    on_step: Callable[[int, Terms, int], None] | None = None,
) -> History:
    """Train ``encoder`` in place on ``graph``; inside a `distributed.session`, together with the other processes.

    Parameters
    ----------
    encoder : Encoder
        On the device to train on.
    graph : Graph
        With features.
    settings : Settings
    checkpoint_path : path, optional
        Where to save now and then, and at Ctrl-C; if it holds a checkpoint of this same run, training continues from there, on
        however many processes. Of several only the first reads and writes it.
    checkpoint_every : int
        Steps between two checkpoints.
    on_step : function of (step, terms, n_steps), optional
        Called after every step, for progress.

    Returns
    -------
    History
        Of all steps, including those before a resume.
    """
    ranks = distributed.active()
    if ranks is not None:
        # Without a given seed every process has drawn its own.
        settings = replace(settings, seed=ranks.broadcast(settings.seed))
    views, compute, moments = _prepare(encoder, graph, settings, ranks)
    optimizer = torch.optim.Adam(
        encoder.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True
    )
    history = History()
    saved = checkpoint_path if ranks is None or ranks.rank == 0 else None
    fingerprint = "" if saved is None else settings.fingerprint(graph, encoder)  # reads the whole graph
    if saved is not None:
        checkpoint.resume(saved, fingerprint, encoder, optimizer, history, moments)
    if ranks is not None:
        history = _same_state(ranks, encoder, optimizer, history, moments)

    encoder.train()
    with _CtrlC(hold=saved is not None) as ctrl_c:
        for step in range(len(history.loss), settings.n_steps):
            if settings.stop_when_flat and stopping.is_flat(history.loss):
                break
            features, pair, n = views(step)
            terms = compute(features, pair, n)
            if not math.isfinite(float(terms.loss)):
                raise NonFiniteLossError(_explain(step, settings, checkpoint_path))
            optimizer.step()
            history.append(terms)
            is_last = step + 1 == settings.n_steps or (settings.stop_when_flat and stopping.is_flat(history.loss))
            is_due = (step + 1) % checkpoint_every == 0 or is_last or ctrl_c.pressed
            if is_due and not all(bool(torch.isfinite(part).all()) for part in encoder.state_dict().values()):
                # The loss would tell a step later (of batch norm's running variance never), but this state must be
                # neither saved nor returned.
                raise NonFiniteLossError(_explain(step, settings, checkpoint_path, weights=True))
            if saved is not None and is_due:
                checkpoint.save(saved, fingerprint, encoder, optimizer, history, moments)
            if on_step is not None:
                on_step(step, terms, settings.n_steps)
            if is_due and ctrl_c.pressed:
                raise KeyboardInterrupt
    encoder.eval()
    return history


def _prepare(
    encoder: Encoder, graph: Graph, settings: Settings, ranks: distributed.Ranks | None
) -> tuple[Callable[[int], Inputs], ExactStep, RunningMoments | None]:
    """Where a step's views come from, and what computes it: the whole graph, batches of it, or this process' part."""
    objective, total = settings.objective, no_sharing if ranks is None else ranks.total
    if settings.batch_nodes:
        shard, n_shards = (0, 1) if ranks is None else (ranks.rank, ranks.size)
        batches = BatchViews(graph, encoder, settings, shard=shard, n_shards=n_shards)
        moments = RunningMoments(memory_for(settings.batch_nodes, max(encoder.dims[1:])))
        return batches, ExactStep(encoder, objective, total=total, smooth=moments), moments
    if ranks is None:
        return Views(graph, encoder, settings, encoder.weights[0].device), ExactStep(encoder, objective), None
    views = distributed.ShardViews(graph, encoder, settings, ranks)
    return views, ExactStep(encoder, objective, total=total, exchange=views.exchange), None


def _same_state(
    ranks: distributed.Ranks,
    encoder: Encoder,
    optimizer: torch.optim.Optimizer,
    history: History,
    moments: RunningMoments | None,
) -> History:
    """Give every process the state of the first, which may come from a checkpoint that only that one can read."""
    running = None if moments is None else moments.state()
    weights, adam, history, running = ranks.broadcast((encoder.state_dict(), optimizer.state_dict(), history, running))
    encoder.load_state_dict(weights)
    optimizer.load_state_dict(adam)
    if moments is not None:
        moments.restore(running, encoder.weights[0].device)
    return history


class Views:
    """The two random views of a graph at a given step, ready for `ExactStep`."""

    def __init__(self, graph: Graph, encoder: Encoder, settings: Settings, device: torch.device) -> None:
        self.graph, self.settings, self.device = graph, settings, device
        self.n_layers = len(encoder.weights)
        self.propagate = encoder.propagate
        self.features = first_product(feature_tensor(graph, device))
        self.edges = self._edges(graph) if encoder.propagate else None

    def __call__(self, step: int) -> tuple[FirstProduct | SeparateProducts, tuple[View, View], int]:
        """Features, views and number of nodes in the loss at ``step``."""
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
            nodes = augment.sample_nodes(self.graph.n_nodes, n, seed=settings.seed, step=step, device=self.device)
            if not self.propagate:
                features = features.rows(nodes)
        return features, (self._view(step, 0, edges[0], nodes), self._view(step, 1, edges[1], nodes)), n

    def _view(self, step: int, v: int, edges: Edges | None, nodes: Tensor | None) -> View:
        settings = self.settings
        columns = augment.mask_features(
            self.graph.n_features,
            settings.feature_mask_rate[v],
            seed=settings.seed,
            step=step,
            view=v,
            device=self.device,
        )
        if edges is None:
            return View(columns, None)
        a, a_t = augment.drop_edges(edges, settings.edge_drop_rate[v], seed=settings.seed, step=step, view=v)
        layers = [(a, a_t)] * self.n_layers if nodes is None else needed_rows(a, nodes, self.n_layers)
        return View(columns, layers)

    def _augmented(self, step: int, v: int) -> Graph:
        graph = self.graph
        for augmentation in self.settings.augmentations:
            graph = augmentation(graph, self.settings.seed, step, v)
            if graph.n_nodes != self.graph.n_nodes or graph.n_features != self.graph.n_features:
                raise ValueError(f"augmentation {augmentation!r} must keep the nodes and the features' width")
        return graph

    def _edges(self, graph: Graph) -> Edges:
        both = self.settings.drop_both_directions
        return augment.edge_structure(graph, both_directions=both, device=self.device)


def needed_rows(a: CSR, nodes: Tensor, n_layers: int) -> list[tuple[CSR, CSR]]:
    """Each layer's aggregation cut to the rows that ``nodes`` need in the last one, with its transpose."""
    layers = []
    for layer in range(n_layers - 1, -1, -1):
        part = sparse.select_rows(a, nodes)
        if layer > 0:
            part, nodes = sparse.compact_columns(part)
        layers.append((part, sparse.transpose(part)))
    return layers[::-1]


def feature_tensor(graph: Graph, device: torch.device | str) -> Tensor | CSR:
    """A graph's features on a device, sparse ones sparse."""
    if graph.features is None:
        raise ValueError("the graph has no features; pass features=, or make structural ones")
    if isinstance(graph.features, torch.Tensor) or hasattr(graph.features, "__array__"):
        return torch.as_tensor(graph.features).to(device)
    return sparse.from_scipy(graph.features).to(device)


@torch.no_grad()
def embed(encoder: Encoder | Joined, graph: Graph) -> Tensor:
    """Embeddings (n, d) of the graph as it is: no dropping, no masking, batch norm in evaluation mode."""
    parts = parts_of(encoder)
    device = parts[0].weights[0].device
    encoder.eval()
    needs_edges = any(part.n_hops for part in parts)
    a = augment.normalized(augment.edge_structure(graph, device=device)) if needs_edges else None
    features = feature_tensor(graph, device)
    made: list[Tensor] = [part(features, a) for part in parts]
    return made[0] if len(made) == 1 else torch.cat(made, 1)


def checksum(graph: Graph) -> int:
    """Of structure, weights and features, so that nothing is continued on a graph that was edited."""
    parts: list[Any] = [graph.indptr, graph.indices, graph.weights]
    features: Any = graph.features
    parts += [features.data, features.indices] if hasattr(features, "indices") else [features]
    total = 0
    for part in parts:
        if part is None:
            continue
        content = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
        for start in range(0, len(content), CHECKSUM_BYTES):
            total = zlib.crc32(content[start : start + CHECKSUM_BYTES].data, total)
            release(part)
    return total


class _CtrlC:
    """Hold Ctrl-C back until a step is whole, so that what is saved is a state of the run; a second one is not held."""

    def __init__(self, *, hold: bool) -> None:
        self.pressed = False
        # Somebody else's handler stays, and only the main thread may set one.
        self._is_ours = (
            hold
            and threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )

    def __enter__(self) -> Self:
        if self._is_ours:
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.pressed and kind is None:  # it came too late for the last step to see
            raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True


def _explain(step: int, settings: Settings, path: Path | None, *, weights: bool = False) -> str:
    scale, rate = "the features' scale is extreme", f"learning_rate {settings.learning_rate:g} is too high"
    cause = f"{scale} or {rate}" if weights else scale if step == 0 else rate
    saved = f"; the last good state is in {path}" if path is not None and path.exists() else ""
    what = f"the weights are not finite after step {step}" if weights else f"the loss is not finite at step {step}"
    return f"{what}; most likely {cause}{saved}"
