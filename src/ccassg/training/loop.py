"""The one training loop.

Read from top to bottom: make two views, compute loss and gradients, take an Adam step, record, save now and then.
Everything that determines a run is in `Settings`; the same settings on the same graph give the same bits, whether the run
was interrupted or not.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from ccassg import waiting
from ccassg.graph import Graph
from ccassg.model.encoder import Encoder
from ccassg.model.loss import Terms
from ccassg.training import checkpoint, distributed
from ccassg.training.batches import BatchViews, RunningMoments, drawn_ahead, memory_for
from ccassg.training.interrupt import held_interrupt
from ccassg.training.settings import History, NonFiniteLossError, OnStep, Settings
from ccassg.training.shards import ShardViews
from ccassg.training.step import ExactStep, StepInputs
from ccassg.training.views import Views

# The last steps that `is_flat` looks at, and the part of the whole fall that they must still bring.
WINDOW, LEAST = 10, 0.05


def train(
    encoder: Encoder,
    graph: Graph,
    settings: Settings,
    *,
    checkpoint_path: Path | None = None,
    checkpoint_every: int = 50,
    on_step: OnStep | None = None,
) -> History:
    """Train ``encoder`` in place, on its device; inside a `distributed.session`, together with the other processes.

    The state is saved every ``checkpoint_every`` steps and at Ctrl-C. If ``checkpoint_path`` holds a checkpoint of this same
    run, training continues from there, on however many processes; of several only the first reads and writes it. The history
    is of all steps, including those before a resume.
    """
    waiting.warn_if_late()
    ranks = distributed.active()
    if ranks is not None:
        # Without a given seed every process has drawn its own.
        settings = replace(settings, seed=ranks.broadcast(settings.seed))
    views, compute, moments = _prepare(encoder, graph, settings, ranks)
    optimizer = torch.optim.Adam(
        encoder.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True
    )
    state = checkpoint.State(encoder, optimizer, {name: [] for name in Terms._fields}, moments)
    saved = checkpoint_path if ranks is None or ranks.rank == 0 else None
    fingerprint = "" if saved is None else checkpoint.fingerprint_of(settings, graph, encoder)
    if saved is not None:
        checkpoint.resume(saved, fingerprint, state, settings.n_steps)
    if ranks is not None:
        # What the first process has may come from a checkpoint that only that one can read.
        state.restore(ranks.broadcast(state.tensors()))
    history, curve = state.history, state.history["loss"]

    def is_over() -> bool:
        return len(curve) >= settings.n_steps or (settings.stop_when_flat and is_flat(curve))

    encoder.train()
    steps = range(len(curve), settings.n_steps)
    # A user of one thread is given no second.
    ahead = bool(settings.batch_nodes and steps) and torch.get_num_threads() > 1
    drawn = drawn_ahead(views, steps) if ahead else map(views, steps)
    with held_interrupt(hold=saved is not None) as pressed:
        while not is_over():
            step = len(curve)
            terms = {name: float(value) for name, value in compute(*next(drawn))._asdict().items()}
            if not math.isfinite(terms["loss"]):
                raise NonFiniteLossError(_explain(step, settings, checkpoint_path))
            optimizer.step()
            for name, value in terms.items():
                history[name].append(value)
            is_due = (step + 1) % checkpoint_every == 0 or is_over() or bool(pressed)
            if is_due and not all(bool(torch.isfinite(part).all()) for part in encoder.state_dict().values()):
                # The loss would tell a step later (of batch norm's running variance never), but this state must be
                # neither saved nor returned.
                raise NonFiniteLossError(_explain(step, settings, checkpoint_path, weights=True))
            if saved is not None and is_due:
                checkpoint.save(saved, fingerprint, state)
            if on_step is not None:
                on_step(step, terms, settings.n_steps)
            if is_due and pressed:
                raise KeyboardInterrupt
    encoder.eval()
    return history


def is_flat(loss: Sequence[float]) -> bool:
    """Tell whether the last 10 steps brought less than a twentieth of the fall since the start; fewer than 20 are never flat.

    Too many steps whiten noise, and no label says when to stop. At first the loss falls steeply, as directions that both views
    share are found; then slowly, as what is left is decorrelated.
    """
    if len(loss) < 2 * WINDOW:
        return False
    # Each end is a mean, so that the noise of the views does not decide.
    half = WINDOW // 2
    start, before, now = (sum(loss[i : i + half]) / half for i in (0, len(loss) - WINDOW, len(loss) - half))
    return before - now < LEAST * (start - before)


def _prepare(
    encoder: Encoder, graph: Graph, settings: Settings, ranks: distributed.Ranks | None
) -> tuple[Callable[[int], StepInputs], ExactStep, RunningMoments | None]:
    """Return what makes a step's views and what computes it: for the whole graph, batches, or this process' part."""
    objective, total = settings.objective, distributed.no_sharing if ranks is None else ranks.total
    if settings.batch_nodes:
        shard, n_shards = (0, 1) if ranks is None else (ranks.rank, ranks.size)
        batches = BatchViews(graph, encoder, settings, shard=shard, n_shards=n_shards)
        moments = RunningMoments(memory_for(settings.batch_nodes, max(encoder.dims[1:])))
        return batches, ExactStep(encoder, objective, total=total, smooth=moments), moments
    if ranks is None:
        return Views(graph, encoder, settings), ExactStep(encoder, objective), None
    views = ShardViews(graph, encoder, settings, ranks)
    return views, ExactStep(encoder, objective, total=total, exchange=views.exchange), None


def _explain(step: int, settings: Settings, path: Path | None, *, weights: bool = False) -> str:
    scale, rate = "the features' scale is extreme", f"learning_rate {settings.learning_rate:g} is too high"
    cause = f"{scale} or {rate}" if weights else scale if step == 0 else rate
    saved = f"; the last good state is in {path}" if path is not None and path.exists() else ""
    what = f"the weights are not finite after step {step}" if weights else f"the loss is not finite at step {step}"
    return f"{what}; most likely {cause}{saved}"
