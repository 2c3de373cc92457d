"""The one training loop.

Read from top to bottom: make two views, compute loss and gradients, take an Adam step, record, save now and then.
Everything that determines a run is in `Settings`; the same settings on the same graph give the same bits, whether the run
was interrupted or not.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from ccassg.graph import Graph
from ccassg.model.encoder import Tower
from ccassg.training import checkpoint, distributed, stopping
from ccassg.training.batches import BatchViews, RunningMoments, memory_for
from ccassg.training.interrupt import HeldInterrupt
from ccassg.training.settings import History, NonFiniteLossError, OnStep, Settings
from ccassg.training.shards import ShardViews
from ccassg.training.sharing import no_sharing
from ccassg.training.step import ExactStep, StepInputs
from ccassg.training.views import Views


def train(
    tower: Tower,
    graph: Graph,
    settings: Settings,
    *,
    checkpoint_path: Path | None = None,
    checkpoint_every: int = 50,
    on_step: OnStep | None = None,
) -> History:
    """Train ``tower`` in place on ``graph``; inside a `distributed.session`, together with the other processes.

    Parameters
    ----------
    tower : Tower
        On the device to train on.
    graph : Graph
        With features.
    settings : Settings
    checkpoint_path : path, optional
        Where to save now and then, and at Ctrl-C; if it holds a checkpoint of this same run, training continues from there, on
        however many processes. Of several only the first reads and writes it.
    checkpoint_every : int
        Steps between two checkpoints.
    on_step : function of (step, losses, n_steps), optional
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
    views, compute, moments = _prepare(tower, graph, settings, ranks)
    optimizer = torch.optim.Adam(
        tower.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True
    )
    state = checkpoint.State(tower, optimizer, History(), moments)
    saved = checkpoint_path if ranks is None or ranks.rank == 0 else None
    fingerprint = "" if saved is None else checkpoint.fingerprint_of(settings, graph, tower)  # reads the whole graph
    if saved is not None:
        checkpoint.resume(saved, fingerprint, state)
    if ranks is not None:
        # What the first process has may come from a checkpoint that only that one can read.
        state.restore(ranks.broadcast(state.tensors()))
    history = state.history

    tower.train()
    with HeldInterrupt(hold=saved is not None) as ctrl_c:
        for step in range(len(history.loss), settings.n_steps):
            if settings.stop_when_flat and stopping.is_flat(history.loss):
                break
            terms = compute(*views(step))
            if not math.isfinite(float(terms.loss)):
                raise NonFiniteLossError(_explain(step, settings, checkpoint_path))
            optimizer.step()
            history.append(terms)
            is_last = step + 1 == settings.n_steps or (settings.stop_when_flat and stopping.is_flat(history.loss))
            is_due = (step + 1) % checkpoint_every == 0 or is_last or ctrl_c.pressed
            if is_due and not all(bool(torch.isfinite(part).all()) for part in tower.state_dict().values()):
                # The loss would tell a step later (of batch norm's running variance never), but this state must be
                # neither saved nor returned.
                raise NonFiniteLossError(_explain(step, settings, checkpoint_path, weights=True))
            if saved is not None and is_due:
                checkpoint.save(saved, fingerprint, state)
            if on_step is not None:
                on_step(step, {name: float(value) for name, value in terms._asdict().items()}, settings.n_steps)
            if is_due and ctrl_c.pressed:
                raise KeyboardInterrupt
    tower.eval()
    return history


def _prepare(
    tower: Tower, graph: Graph, settings: Settings, ranks: distributed.Ranks | None
) -> tuple[Callable[[int], StepInputs], ExactStep, RunningMoments | None]:
    """Where a step's views come from, and what computes it: the whole graph, batches of it, or this process' part."""
    objective, total = settings.objective, no_sharing if ranks is None else ranks.total
    if settings.batch_nodes:
        shard, n_shards = (0, 1) if ranks is None else (ranks.rank, ranks.size)
        batches = BatchViews(graph, tower, settings, shard=shard, n_shards=n_shards)
        moments = RunningMoments(memory_for(settings.batch_nodes, max(tower.dims[1:])))
        return batches, ExactStep(tower, objective, total=total, smooth=moments), moments
    if ranks is None:
        return Views(graph, tower, settings), ExactStep(tower, objective), None
    views = ShardViews(graph, tower, settings, ranks)
    return views, ExactStep(tower, objective, total=total, exchange=views.exchange), None


def _explain(step: int, settings: Settings, path: Path | None, *, weights: bool = False) -> str:
    scale, rate = "the features' scale is extreme", f"learning_rate {settings.learning_rate:g} is too high"
    cause = f"{scale} or {rate}" if weights else scale if step == 0 else rate
    saved = f"; the last good state is in {path}" if path is not None and path.exists() else ""
    what = f"the weights are not finite after step {step}" if weights else f"the loss is not finite at step {step}"
    return f"{what}; most likely {cause}{saved}"
