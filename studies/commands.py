"""Whole commands as a user types them, each in a process of its own: `python -m studies.commands`.

A small table made up here, and WordNet (117,659 synsets, two columns of text) where the data folder has it. Nothing is named: reading,
choosing, solving, embedding and writing are all in the time of ``fit``.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import typer

from ccassg import provenance
from ccassg.bench.page import origin
from ccassg.cli.app import JsonFile, say
from ccassg.report.tables import to_markdown
from studies.command import Docs, DrawOnly, run_benchmark

N_NODES, N_EDGES, N_COLUMNS = 1000, 4000, 16


def walk(data_dir: Path | None, *, say: Callable[[str], object] = lambda line: None) -> list[dict[str, Any]]:
    """Run every command once, in a fresh folder; what each took in seconds of the clock, of the processors, and in bytes."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for graph, command in commands(Path(name), data_dir):
            row: dict[str, Any] = {"graph": graph, "command": f"ccassg {command[0]}"}
            row |= measured(command, Path(name))
            rows.append(row)
            say(f"{row['command']} {graph}: {row['seconds']:.1f} s, {row['peak_memory'] / 1e9:.2f} GB")
    return rows


def commands(folder: Path, data_dir: Path | None) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of a graph and the arguments of a command, in the order in which a user types them."""
    yield "-", ["--help"]
    write_table(folder)
    small = [str(folder / "edges.csv"), "--features", str(folder / "nodes.csv")]
    yield f"a table of {N_NODES:,} rows", ["fit", *small, "-o", "small"]
    wordnet = None if data_dir is None else data_dir / "own" / "wordnet"
    if wordnet is not None and wordnet.is_dir():
        for command in (
            ["fit", str(wordnet), "-o", "large"],
            ["evaluate", "large"],
            ["similar", "large", "n02084071"],
            ["links", "large"],
            ["report", "large", "-o", "large.html"],
        ):
            yield "WordNet", command


def write_table(folder: Path) -> None:
    """Write ``edges.csv`` and ``nodes.csv``, numbers without a meaning."""
    rng = np.random.default_rng(0)
    ends = rng.integers(N_NODES, size=(2, N_EDGES))
    pa.csv.write_csv(pa.table({"source": ends[0], "target": ends[1]}), folder / "edges.csv")
    columns = {f"x{k}": rng.standard_normal(N_NODES) for k in range(N_COLUMNS)}
    pa.csv.write_csv(pa.table({"id": np.arange(N_NODES)} | columns), folder / "nodes.csv")


def measured(command: Sequence[str], folder: Path) -> dict[str, float]:
    """Run a command of the program and return what it took; RuntimeError if it fails."""
    with (folder / "output.txt").open("w+") as output:
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "ccassg", *command], cwd=folder, stdout=output, stderr=subprocess.STDOUT
        )
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            raise RuntimeError(f"ccassg {' '.join(command)} failed: {output.read().strip()[-500:]}")
    return {
        "seconds": seconds,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_memory": used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    }


def draw(result: dict[str, Any]) -> str:
    """A row per command."""
    rows = [
        {
            "command": f"`{row['command']}`",
            "graph": row["graph"],
            "seconds": f"{row['seconds']:.1f}",
            "of processors": f"{row['cpu_seconds']:.1f}",
            "peak memory, GB": f"{row['peak_memory'] / 1e9:.2f}",
        }
        for row in result["rows"]
    ]
    return "\n\n".join([to_markdown(rows).rstrip(), origin(result)]) + "\n"


def main(docs: Docs = None, draw_only: DrawOnly = False, json_file: JsonFile = None) -> None:
    """Time whole commands, start to end."""
    folder = os.environ.get("CCASSG_DATA")

    def measure() -> dict[str, Any]:
        rows = walk(Path(folder).absolute() if folder else None, say=say)
        return {"rows": rows, "provenance": provenance.of_run(0, sum(row["seconds"] for row in rows))}

    run_benchmark(measure, draw, "bench-commands", json_file=json_file, docs=docs, draw_only=draw_only)


if __name__ == "__main__":
    typer.run(main)
