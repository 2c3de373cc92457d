"""Train on four machines that are network namespaces, break them, and record what happens: `make cluster`, as root.

    python -m tests.cluster.run [same wires delays faults reads embed default]

What it measures goes to results/cluster.json and from there to docs/large-graphs.md. Nothing outside the namespaces is changed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from ccassg import CCASSG, open_store, provenance, read_embeddings, write_store
from ccassg.datasets import stochastic_block_graph
from ccassg.graph.partition import partition
from ccassg.training.shards import parts_for_ranks
from tests.cluster.network import Machines, why_not
from tests.cluster.page import PROJECT, RESULTS, renew_document

PLAIN = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(PROJECT / "src")}
MEMBER = str(Path(__file__).with_name("member.py"))
N, STEPS = 4, 10
FIT = ["-m", "ccassg", "fit"]


def together(machines: Machines, work: list[str], folder: Path, *, names: list[str] | None = None) -> dict:
    """Start torchrun with some work on each machine, whose name stands for HOST in it; what it prints goes to a file by its name."""
    names = names or machines.names
    meet = [f"--nnodes={len(names)}", "--nproc-per-node=1", "--rdzv-backend=c10d"]
    meet += [f"--rdzv-endpoint={names[0]}:29500"]
    command = [sys.executable, "-m", "torch.distributed.run", *meet, *work]
    own = {name: [word.replace("HOST", name) for word in command] for name in names}
    return {name: machines.start(name, own[name], folder / f"{name}.log", **PLAIN) for name in names}


def finish(running: dict, folder: Path, seconds: float = 400) -> None:
    """Wait for all of them to succeed."""
    until = time.monotonic() + seconds
    for name, process in running.items():
        if process.wait(max(1.0, until - time.monotonic())):
            raise RuntimeError(f"{name}: {(folder / f'{name}.log').read_text()[-3000:]}")


def members(graph: str, folder: Path, n_steps: int = STEPS, **network) -> tuple[list[dict], float]:
    """What `member.main` says on each machine, by their ranks, and the round trip of the network in seconds."""
    with Machines(N, **network) as machines:
        trip = machines.round_trip()
        finish(together(machines, [MEMBER, graph, str(folder), str(n_steps)], folder), folder)
        seen = [json.loads((folder / name / "found.json").read_text()) for name in machines.names]
        return sorted(seen, key=lambda member: member["rank"]), trip


def same(folder: Path) -> dict:
    """The loss and the embedding on four machines against one process, of a data set and of a store."""
    figures = {}
    with Machines(N) as machines:
        for graph in ("cora", "pubmed", store_of("pubmed", folder)):
            options = ["-s", "encoder=gcn", "-s", f"n_steps={STEPS}"]
            name = "a store of pubmed" if "/" in graph else graph
            finish(together(machines, [*FIT, graph, "-o", str(folder / "four"), *options], folder), folder)
            alone([*FIT, graph, "-o", str(folder / "one"), *options])
            (loss_four, z_four), (loss_one, z_one) = (learned(folder / run) for run in ("four", "one"))
            figures[name] = {
                "loss": float(np.max(np.abs(loss_four / loss_one - 1))),
                "embedding": float(np.linalg.norm(z_four - z_one) / np.linalg.norm(z_one)),
            }
    assert all(each["loss"] < 1e-4 and each["embedding"] < 1e-3 for each in figures.values()), figures
    return figures


def wires(folder: Path) -> dict:
    """Bytes that each machine sends per step, on the wire and by the formula of the guide."""
    seen, _ = members(store := store_of("pubmed", folder), folder)
    graph = open_store(store).graph
    exchanged = rows_exchanged(graph, parts_for_ranks(graph, N))
    rows = []
    for each in seen:
        formula = bytes_per_step(exchanged[each["rank"]], graph.n_features)
        rows.append({"measured": each["sent_per_step"], "formula": formula})
    assert all(abs(row["measured"] / row["formula"] - 1) < 0.03 for row in rows), rows
    return {"rows": rows}


def rows_exchanged(graph, parts) -> list[tuple[int, int]]:
    """Of each part: how many rows it sends to others, and how many it receives."""
    edges = graph.adjacency().tocoo()
    cross = parts[edges.row] != parts[edges.col]
    out = np.unique(np.stack([edges.row[cross], parts[edges.col[cross]]]), axis=1)
    into = np.unique(np.stack([edges.col[cross], parts[edges.row[cross]]]), axis=1)
    return [(int(np.sum(parts[out[0]] == r)), int(np.sum(into[1] == r))) for r in range(parts.max() + 1)]


def bytes_per_step(rows: tuple[int, int], n_features: int, width: int = 512, n: int = N) -> float:
    """What a machine of ``n`` sends: Grams and the first weight's gradient in a ring, rows of two views, and their gradients."""
    added_up = 4 * (3 * width**2 + n_features * width)
    return 2 * (n - 1) / n * added_up + sum(rows) * (2 * 4 * width + 8)


def delays(folder: Path) -> dict:
    """Seconds per step on networks of several kinds, with the round trip that was measured on each."""
    figures = {}
    store = store_of("pubmed", folder)
    kinds = {"1 Gbit/s": {}, "100 Mbit/s": {"rate": "100mbit"}}
    kinds |= {f"1 Gbit/s, {ms:g} ms": {"delay": ms / 1000} for ms in (0.1, 1, 10)}
    for kind, network in kinds.items():
        seen, trip = members(store, folder, **network)
        step = statistics.median(seen[0]["step_seconds"])
        figures[kind] = {"seconds_per_step": step, "round_trip_ms": trip * 1000}
    return figures


def faults(folder: Path) -> dict:
    """A machine is unplugged, killed or stopped: how soon the others end, what they say, and whether three go on."""
    figures = {}
    for fault in ("unplugged", "killed", "stopped"):
        for victim in ("m3", "m1"):  # m1 keeps torchrun's store
            with Machines(N) as machines:
                figures[f"{fault} {victim}"] = _break_and_resume(machines, fault, victim, folder)
    for each in figures.values():
        assert each["seconds"] is not None, figures
        assert each["seconds"] < 60, figures
        assert all(each["named"].values()), figures
        assert each["resumed"], figures
    return figures


def _break_and_resume(machines: Machines, fault: str, victim: str, folder: Path) -> dict:
    run = folder / f"{fault}-{victim}"
    fit = [*FIT, "cora", "-o", str(run), "-s", "encoder=gcn", "--checkpoint-every=5", "-s"]
    running = together(machines, [*fit, "n_steps=100000"], folder)
    checkpoint, left = run / "checkpoint.safetensors", [name for name in machines.names if name != victim]
    until = time.monotonic() + 120
    while not checkpoint.exists():
        if time.monotonic() > until:
            raise RuntimeError((folder / "m1.log").read_text()[-3000:])
        time.sleep(0.1)
    if fault == "unplugged":
        machines.plug(victim, "down")
    else:
        machines.signal(victim, signal.SIGKILL if fault == "killed" else signal.SIGSTOP)
    begun, seconds = time.monotonic(), {}
    while len(seconds) < len(left) and time.monotonic() < begun + 200:
        seconds |= {
            name: time.monotonic() - begun for name in left if name not in seconds and running[name].poll() is not None
        }
        time.sleep(0.1)
    said = {name: re.findall("^Error: (.*)", (folder / f"{name}.log").read_text(), re.MULTILINE) for name in left}
    for name in machines.names:
        machines.signal(name, signal.SIGKILL)
    saved = losses(checkpoint)
    finish(together(machines, [*fit, f"n_steps={len(saved) + 5}"], folder, names=left), folder)
    after = learned(run)[0]
    return {
        "seconds": max(seconds.values()) if len(seconds) == len(left) else None,
        "named": {name: any(f"on {victim} ended" in line for line in said[name]) for name in left},
        "said": sorted({line.partition(" (noticed")[0] for lines in said.values() for line in lines}),
        "resumed": len(after) == len(saved) + 5 and np.array_equal(after[: len(saved)], saved),
    }


def embed(folder: Path) -> dict:
    """What each machine does and sends to embed its share, of which the first one makes one file; without a common disk."""
    store = store_of("pubmed", folder)
    graph = open_store(store).graph
    parts = parts_for_ranks(graph, N)
    exchanged, own = rows_exchanged(graph, parts), np.bincount(parts).tolist()
    figures = {}
    for name, n_steps in (("trained", 3), ("default", 0)):
        made = folder / name
        made.mkdir()
        seen, _ = members(store, made, n_steps)
        (made_file,) = made.glob("*/z.npy")  # on a single machine
        z_four, model = np.load(made_file), CCASSG.load(made_file.with_name("model"))
        z_one, layers = model.transform(graph), widths_moved(model.encoder_)
        rows = [
            {
                "own": own[rank],
                "measured": each["embedding"]["sent"],
                "formula": 4 * (exchanged[rank][0] * (1 + sum(layers)) + (rank > 0) * own[rank] * z_one.shape[1]),
                "processor_seconds": each["embedding"]["processor_seconds"],
            }
            for rank, each in enumerate(seen)
        ]
        difference = float(np.linalg.norm(z_four - z_one) / np.linalg.norm(z_one))
        figures[name] = {"difference": difference, "rows": rows}
        assert difference < 1e-5, figures
        # Beside the rows, a little to keep pace and to acknowledge what comes: the first machine gets most.
        spare = 0.05 * max(row["formula"] for row in rows)
        assert all(abs(row["measured"] - row["formula"]) < spare for row in rows), figures
    return figures


def widths_moved(encoder) -> list[int]:
    """Columns that a row of the halo has in each exchange of `embed_blocks`, where features are dense or wider than the weights."""
    if hasattr(encoder, "hops"):
        return [sum(encoder.widths[1:])] * encoder.n_hops
    return [min(weight.shape) for weight in encoder.weights]


def reads(folder: Path) -> dict:
    """Bytes that each machine reads of its own copy of a store while it trains and embeds, against the size of the store."""
    store = Path(store_of("big", folder))
    with Machines(N) as machines:
        for name in machines.names:
            shutil.copytree(store, folder / "disks" / name)
        for file in filter(Path.is_file, (folder / "disks").rglob("*")):
            with file.open("rb") as opened:  # what is in memory would not be read
                os.fsync(opened.fileno())
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        finish(together(machines, [MEMBER, str(folder / "disks" / "HOST"), str(folder), "3"], folder), folder)
        seen = [json.loads((folder / name / "found.json").read_text()) for name in machines.names]
    graph = open_store(store, verify=False).graph
    own = np.bincount(parts_for_ranks(graph, N)).tolist()
    needed = [4 * graph.n_features * rows + 8 * graph.n_nodes for rows in own]
    rows = [
        {"own": needed[each["rank"]], "fit": each["bytes_read"], "embedding": each["embedding"]["bytes_read"]}
        for each in sorted(seen, key=lambda member: member["rank"])
    ]
    return {"store": sum(file.stat().st_size for file in store.iterdir()), "rows": rows}


def default(folder: Path) -> dict:
    """The automatic encoder, on four machines and on one."""
    with Machines(N) as machines:
        finish(together(machines, [*FIT, "cora", "-o", str(folder / "four")], folder), folder)
        printed = "".join((folder / f"{name}.log").read_text() for name in machines.names)
    alone([*FIT, "cora", "-o", str(folder / "one")])
    z_four, z_one = (read_embeddings(folder / run / "embedding.parquet")[0] for run in ("four", "one"))
    difference = float(np.abs(z_four - z_one).max())
    assert difference < 1e-5
    return {"difference": difference, "said": re.findall("note: (one process .*)", printed)}


def alone(command: list[str]) -> None:
    """Run a command of ours in one process, outside the namespaces."""
    subprocess.run([sys.executable, *command], env=os.environ | PLAIN, check=True, capture_output=True)


def learned(run: Path) -> tuple[np.ndarray, np.ndarray]:
    """The loss of every step and the embedding of a run."""
    model = CCASSG.load(run)
    return np.array(model.history_["loss"]), np.asarray(read_embeddings(run / "embedding.parquet")[0])


def losses(checkpoint: Path) -> np.ndarray:
    """The loss of every step until a checkpoint."""
    return load_file(checkpoint)["history.loss"]


def store_of(graph: str, folder: Path) -> str:
    """A store of four parts; the big one is synthetic, of 300 MB."""
    store = folder / f"{graph}-store"
    if store.exists():
        return str(store)
    if graph == "big":
        data = stochastic_block_graph(
            100_000, n_classes=64, mean_degree=10.0, homophily=0.95, n_features=700, seed=0, sparse_features=False
        )
        write_store(store, data, parts=partition(data.graph, N))
    else:
        alone(["-m", "ccassg", "convert", graph, "--parts", str(N), "-o", str(store)])
    return str(store)


CHECKS = {check.__name__: check for check in (same, wires, delays, faults, reads, embed, default)}


def main() -> None:
    """Run the checks that are named, by default all, and record their figures beside those of the others."""
    reason = why_not()
    if reason:
        print(reason)
        return
    for name in sys.argv[1:] or CHECKS:
        print(f"{name} ...", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            figures = CHECKS[name](Path(folder))
        made = {"commit": provenance.commit(), "machine": provenance.machine(1), "busy": os.getloadavg()[2] > 0.5}
        record = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        record[name] = {"figures": figures, "made": made}
        print(json.dumps(figures, indent=1), flush=True)
        RESULTS.write_text(json.dumps(record, indent=1) + "\n")
    renew_document()


if __name__ == "__main__":
    main()
