"""`ccassg bench --ranks`: one training run on 1, 2, 4, ... processes of this machine; memory and traffic of each process.

The graph is synthetic, with communities that Metis finds, and lies in a store, of which every process reads its part.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from ccassg.datasets import stochastic_block_graph
from ccassg.estimator import CCASSG
from ccassg.graph.partition import partition
from ccassg.io.store import open_store
from ccassg.io.storewriter import write_store
from ccassg.model.presets import PRESETS
from ccassg.provenance import peak_memory
from ccassg.training import distributed
from ccassg.training.loop import Views
from ccassg.training.step import ExactStep

WIDTH = 128


def compare_ranks(
    sizes: Sequence[int] = (1, 2, 4),
    *,
    n_nodes: int = 500_000,
    n_steps: int = 3,
    say: Callable[[str], object] = lambda line: None,
) -> dict[str, Any]:
    """Train for a few steps on each number of processes, one thread each, and collect what every process says.

    Returns
    -------
    dict
        ``rows``, one per number of processes: the loss of every step, and per process peak memory and bytes sent or added up per
        step.
    """
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = stochastic_block_graph(
            n_nodes, n_classes=64, mean_degree=10.0, homophily=0.95, n_features=WIDTH, seed=0, sparse_features=False
        )
        write_store(folder / "store", data, parts=partition(data.graph, max(sizes)))
        n_edges = data.graph.n_edges
        del data
        for size in sizes:
            rows.append(_run(folder, size, n_steps))
            memory = max(rank["peak_memory"] for rank in rows[-1]["ranks"])
            sent = max(rank["bytes_per_step"] for rank in rows[-1]["ranks"])
            say(f"{size} processes: at most {memory / 1e6:.0f} MB and {sent / 1e6:.1f} MB sent per step and process")
    return {"nodes": n_nodes, "stored_edges": n_edges, "width": WIDTH, "steps": n_steps, "rows": rows}


def _run(folder: Path, size: int, n_steps: int) -> dict[str, Any]:
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(size)]
    command = [sys.executable, *launcher, "-m", "ccassg.bench.ranks", str(folder), str(n_steps)]
    done = subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"training on {size} processes failed: {done.stderr.strip()[-500:]}")
    ranks = [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(size)]
    losses = [rank.pop("loss") for rank in ranks]
    return {"processes": size, "loss": losses[0], "ranks": ranks}


def main() -> None:
    """One process: train on the store's part that is ours, and write down what it took."""
    folder, n_steps = Path(sys.argv[1]), int(sys.argv[2])
    with distributed.session():
        ranks = distributed.active()
        graph = open_store(folder / "store").graph
        settings = PRESETS["cora"] | {"hidden_dim": WIDTH, "embedding_dim": WIDTH}
        run, encoder = CCASSG(**settings, random_state=0).prepare(graph)
        if ranks is None:
            views: Callable[[int], Any] = Views(graph, encoder, run, torch.device("cpu"))
            compute = ExactStep(encoder, run.objective)
        else:
            views = shard = distributed.ShardViews(graph, encoder, run, ranks)
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
    main()
