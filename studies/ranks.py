"""One training run on 1, 2, 4, ... processes of this machine, memory and traffic of each: `python -m studies.ranks`.

The graph is synthetic, with communities that Metis finds, and lies in a store, of which every process reads its part.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ccassg import provenance
from ccassg.bench.page import origin
from ccassg.cli.app import JsonFile, say
from ccassg.datasets import stochastic_block_graph
from ccassg.graph.partition import partition
from ccassg.io.storewriter import write_store
from ccassg.report.tables import to_markdown
from studies.command import Docs, DrawOnly, run_benchmark
from studies.one_rank import WIDTH

PROJECT = Path(__file__).parents[1]


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


def draw(result: dict[str, Any]) -> str:
    """A row per number of processes."""
    alone = result["rows"][0]["loss"]
    rows = [
        {
            "processes": row["processes"],
            "peak memory of a process, GB": f"{max(rank['peak_memory'] for rank in row['ranks']) / 1e9:.2f}",
            "sent or added up per step and process, MB": f"{max(rank['bytes_per_step'] for rank in row['ranks']) / 1e6:.1f}",
            "largest relative difference of the loss": _difference(row["loss"], alone),
        }
        for row in result["rows"]
    ]
    text = (
        f"{result['nodes']:,} nodes, {result['stored_edges']:,} stored edges, {result['width']} features and width "
        f"{result['width']}; {result['steps']} steps, one thread per process, parts by Metis in a store."
    )
    return "\n\n".join([to_markdown(rows).rstrip(), text, origin(result)]) + "\n"


def _difference(losses: list[float], alone: list[float]) -> str:
    if losses is alone:
        return "-"
    return f"{max(abs(a - b) / abs(b) for a, b in zip(losses, alone, strict=True)):.1e}"


def _run(folder: Path, size: int, n_steps: int) -> dict[str, Any]:
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(size)]
    command = [sys.executable, *launcher, "-m", "studies.one_rank", str(folder), str(n_steps)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, cwd=PROJECT, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"training on {size} processes failed: {done.stderr.strip()[-500:]}")
    ranks = [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(size)]
    losses = [rank.pop("loss") for rank in ranks]
    return {"processes": size, "loss": losses[0], "ranks": ranks}


def main(
    sizes: Annotated[str, typer.Option(help="Numbers of processes, separated by commas.")] = "1,2,4",
    nodes: Annotated[int, typer.Option(min=100, help="So many nodes, with edges in proportion.")] = 500_000,
    docs: Docs = None,
    draw_only: DrawOnly = False,
    json_file: JsonFile = None,
) -> None:
    """Train on several processes; memory and traffic of each."""
    try:
        numbers = [int(size) for size in sizes.split(",")]
    except ValueError:
        numbers = [0]
    if min(numbers) < 1:
        raise typer.BadParameter(
            f"--sizes takes numbers of processes separated by commas, such as 1,2,4; got {sizes!r}"
        )

    def measure() -> dict[str, Any]:
        result = compare_ranks(numbers, n_nodes=nodes, say=say)
        return result | {"provenance": provenance.of_run(0, 0.0) | {"threads": 1}}

    run_benchmark(measure, draw, "bench-ranks", json_file=json_file, docs=docs, draw_only=draw_only)


if __name__ == "__main__":
    typer.run(main)
