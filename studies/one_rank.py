"""One process of `studies.ranks`, started by torchrun: `python -m studies.one_rank FOLDER N_STEPS`."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ccassg.estimator import CCASSG
from ccassg.io.store import open_store
from ccassg.model.presets import PRESETS
from ccassg.provenance import peak_memory
from ccassg.training import distributed
from ccassg.training.shards import ShardViews
from ccassg.training.step import ExactStep
from ccassg.training.views import Views

WIDTH = 128


def main(folder: Path, n_steps: int) -> None:
    """Train on the store's part that is ours, and write down what it took."""
    with distributed.session():
        ranks = distributed.active()
        graph = open_store(folder / "store").graph
        settings = PRESETS["cora"] | {"hidden_dim": WIDTH, "embedding_dim": WIDTH}
        run, encoder = CCASSG(**settings, random_state=0).prepare(graph)
        if ranks is None:
            views: Callable[[int], Any] = Views(graph, encoder, run)
            compute = ExactStep(encoder, run.objective)
        else:
            views = shard = ShardViews(graph, encoder, run, ranks)
            compute = ExactStep(encoder, run.objective, total=ranks.total, exchange=shard.exchange)
        optimizer = torch.optim.Adam(encoder.parameters(), lr=run.learning_rate, fused=True)
        before, started = 0 if ranks is None else ranks.n_bytes, time.perf_counter()
        losses = []
        for step in range(n_steps):
            losses.append(float(compute(*views(step)).loss))
            optimizer.step()
        sent = 0 if ranks is None else ranks.n_bytes - before
        result = {
            "peak_memory": peak_memory(),
            "bytes_per_step": sent / n_steps,
            "step_seconds": (time.perf_counter() - started) / n_steps,
            "loss": losses,
        }
        (folder / f"rank{0 if ranks is None else ranks.rank}.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
