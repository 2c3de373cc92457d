"""Two processes follow the loss of one; checkpoints fit any number of them; a lost one is noticed."""

import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ccassg import CCASSG, as_graph
from ccassg.defaults import canonical
from ccassg.graph.partition import partition
from ccassg.io.embeddings import read_embeddings
from ccassg.io.store import open_store
from ccassg.io.storewriter import write_store
from ccassg.model.encoder import gcn, mlp
from ccassg.model.loss import Objective
from ccassg.training import distributed
from ccassg.training.embedding import embed, embed_blocks
from ccassg.training.loop import train
from ccassg.training.settings import Settings

N, F = 150, 20
ENCODERS = {
    "one layer": lambda: gcn((F, 8)),
    "two layers": lambda: gcn((F, 16, 8)),
    "three layers": lambda: gcn((F, 24, 16, 8)),
    "mlp": lambda: mlp((F, 16, 8)),
}


def graph_of(kind):
    pattern = sp.random(N, N, density=0.05, random_state=0)
    features = sp.random(N, F, density=0.3, random_state=1, format="csr")
    if kind == "weighted directed":
        return as_graph(pattern, features.toarray(), directed=True)
    return as_graph(pattern.astype(bool), features)


def settings(**changes):
    base = {
        "n_steps": 6,
        "learning_rate": 1e-2,
        "weight_decay": 0.0,
        "objective": Objective(1e-2),
        "edge_drop_rate": (0.3, 0.5),
        "feature_mask_rate": (0.2, 0.1),
    }
    return Settings(**(base | changes))


# Name: encoder, graph, changed settings.
RUNS = {
    "one layer": ("one layer", "undirected", {}),
    "two layers": ("two layers", "undirected", {}),
    "both directions": ("two layers", "undirected", {"drop_both_directions": True}),
    "weighted directed": ("three layers", "weighted directed", {}),
    "mlp": ("mlp", "undirected", {}),
    "batches": ("two layers", "undirected", {"batch_nodes": 60}),
    "batches of an mlp": ("mlp", "undirected", {"batch_nodes": 60}),
    "pairs": ("mlp", "undirected", {"neighbour_view": True}),
    "pairs with directions": ("mlp", "weighted directed", {"neighbour_view": True}),
    "batches of pairs": ("mlp", "undirected", {"neighbour_view": True, "batch_nodes": 60}),
}


def trace_of(name, graph=None, **options):
    encoder, kind, changes = RUNS[name]
    model = ENCODERS[encoder]()
    history = train(model, graph or graph_of(kind), settings(**changes), **options)
    # Batch norm takes the bias before it off again: its gradient is rounding, which Adam blows up.
    digest = [float(p.detach().double().abs().sum()) for p in model.weights]
    return {"loss": history["loss"], "weights": digest}


def work(rank, size, port, folder):
    """What each process does; results go to a file per rank."""
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    results = {}
    with distributed.session() as speaks:
        assert speaks == (rank == 0)
        for name in RUNS:
            results[name] = trace_of(name)
        results["store"] = trace_of("two layers", open_store(folder / "store").graph)
        results["resumed"] = trace_of("two layers", checkpoint_path=folder / f"one{rank}.safetensors")
        three = settings(n_steps=3)
        train(ENCODERS["two layers"](), graph_of(""), three, checkpoint_path=folder / f"two{rank}.safetensors")
        # Every process drew its own seed, as it does without random_state; the first one's counts.
        seeded = ENCODERS["two layers"]()
        results["own seeds"] = {"loss": train(seeded, graph_of(""), settings(seed=rank))["loss"]}
        for changes in ({"loss_nodes": 10}, {"augmentations": (lambda g, *_: g,)}):
            with pytest.raises(ValueError, match="single process only"):
                train(ENCODERS["two layers"](), graph_of(""), settings(**changes))
        os.environ["LOCAL_WORLD_SIZE"] = str(size)
        for name, (encoder, graph) in embedded(folder).items():
            z = embed_blocks(encoder, graph, folder / f"{name}.npy", block=20)
            np.save(folder / f"{name} {rank}.npy", z)
    (folder / f"rank{rank}.json").write_text(json.dumps(results))


def embedded(folder):
    """What is embedded: an encoder and a graph, by name."""
    graph = graph_of("")
    return {
        "gcn": (ENCODERS["three layers"](), graph_of("weighted directed")),
        "mlp": (ENCODERS["mlp"](), graph),
        "canonical": (canonical.fit(graph, (5, 6, 4))[0], graph),
        "stored": (ENCODERS["two layers"](), open_store(folder / "store").graph),
    }


def die(rank, size, port, folder):
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))

    def on_step(step, terms, n_steps):
        if rank == 1 and step == 2:
            (folder / "died").write_text(str(time.time()))
            os._exit(9)

    try:
        with distributed.session():
            train(ENCODERS["two layers"](), graph_of(""), settings(n_steps=1000), on_step=on_step)
    except distributed.LostRankError as error:
        died = float((folder / "died").read_text())
        (folder / "noticed.json").write_text(json.dumps({"message": str(error), "after": time.time() - died}))


def spawn(target, size, folder):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=target, args=(rank, size, port, folder)) for rank in range(size)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(180)
        assert process.exitcode is not None, "a process hangs"
    return [process.exitcode for process in processes]


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """Results of two processes, and the folder they worked in."""
    folder = tmp_path_factory.mktemp("ranks")
    graph = graph_of("")
    write_store(folder / "store", graph, parts=partition(graph, 2))
    # A checkpoint written by one process, and seen by the first of two only.
    train(ENCODERS["two layers"](), graph, settings(n_steps=3), checkpoint_path=folder / "one0.safetensors")
    assert spawn(work, 2, folder) == [0, 0]
    return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in (0, 1)], folder


@pytest.mark.parametrize("name", RUNS)
def test_two_processes_follow_the_loss_of_one(together, name):
    (first, second), _ = together
    alone = trace_of(name)
    np.testing.assert_allclose(first[name]["loss"], alone["loss"], rtol=1e-4)
    np.testing.assert_allclose(first[name]["weights"], alone["weights"], rtol=1e-3)
    assert first[name] == second[name]  # bit for bit


def test_ranks_may_read_a_partitioned_store(together):
    (first, _), folder = together
    alone = trace_of("two layers", open_store(folder / "store").graph)
    np.testing.assert_allclose(first["store"]["loss"], alone["loss"], rtol=1e-4)


@pytest.mark.parametrize("name", ["gcn", "mlp", "canonical", "stored"])
def test_two_processes_embed_into_one_file(together, name):
    _, folder = together
    encoder, graph = embedded(folder)[name]
    z = np.load(folder / f"{name}.npy")
    np.testing.assert_allclose(z, embed(encoder, graph).numpy(), rtol=1e-4, atol=1e-5)
    for rank in (0, 1):
        assert np.array_equal(np.load(folder / f"{name} {rank}.npy"), z)
    assert not [*folder.glob(".ccassg*"), *folder.glob("tmp*")]


def test_checkpoints_continue_on_another_number_of_processes(together):
    (first, second), folder = together
    alone = trace_of("two layers")["loss"]
    np.testing.assert_allclose(first["resumed"]["loss"], alone, rtol=1e-4)
    assert first["resumed"] == second["resumed"]
    assert not (folder / "two1.safetensors").exists()
    resumed = trace_of("two layers", checkpoint_path=folder / "two0.safetensors")
    np.testing.assert_allclose(resumed["loss"], alone, rtol=1e-4)


def test_the_first_process_seed_counts(together):
    (first, second), _ = together
    assert first["own seeds"] == second["own seeds"]
    assert first["own seeds"]["loss"] == first["two layers"]["loss"]


def test_a_process_that_dies_is_noticed(tmp_path):
    assert spawn(die, 2, tmp_path) == [0, 9]
    noticed = json.loads((tmp_path / "noticed.json").read_text())
    assert "ended or stopped answering (noticed by rank 0 of 2" in noticed["message"]
    assert "--max-restarts" in noticed["message"]
    assert noticed["after"] < 60


def test_a_plain_process_is_no_session(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with distributed.session() as speaks:
        assert speaks
        assert distributed.active() is None


SCRIPT = """
import os, sys
from pathlib import Path
import torch
torch.set_num_threads(1)
sys.path.insert(0, {tests!r})
from test_distributed import ENCODERS, graph_of, settings
from ccassg.training import distributed
from ccassg.training.loop import train
folder = Path({folder!r})
with distributed.session() as speaks:
    def on_step(step, terms, n_steps):
        if os.environ["RANK"] == "1" and step == 4 and not (folder / "died").exists():
            (folder / "died").write_text("once")
            os._exit(9)
    history = train(ENCODERS["two layers"](), graph_of(""), settings(n_steps=8), checkpoint_path=folder / "c.safetensors",
                    checkpoint_every=2, on_step=on_step)
    if speaks:
        (folder / "loss.txt").write_text(" ".join(map(str, history["loss"])))
"""


@pytest.mark.slow
def test_torchrun_restarts_from_the_checkpoint(tmp_path):
    script = tmp_path / "run.py"
    script.write_text(SCRIPT.format(tests=str(Path(__file__).parent), folder=str(tmp_path)))
    command = [
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "2",
        "--standalone",
        "--max-restarts",
        "1",
        str(script),
    ]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "died").exists()
    losses = [float(x) for x in (tmp_path / "loss.txt").read_text().split()]
    alone = train(ENCODERS["two layers"](), graph_of(""), settings(n_steps=8))["loss"]
    np.testing.assert_allclose(losses, alone, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ["gcn", "canonical"])
def test_a_store_is_fitted_and_embedded_by_two_processes(encoder, tmp_path):
    write_store(tmp_path / "store", graph_of(""))
    together = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", "-m", "ccassg"]
    for command in (
        ["fit", "store", "-o", "m", "-s", f"encoder={encoder}", *(["-s", "n_steps=3"] if encoder == "gcn" else [])],
        ["embed", "m", "store", "-o", "z.npy"],
    ):
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            together + command, capture_output=True, text=True, timeout=200, env=environment, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr[-2000:]
        assert (done.stdout + done.stderr).count("wrote ") == 1  # the first process speaks for both
    expected = CCASSG.load(tmp_path / "m").transform(graph_of(""))
    np.testing.assert_allclose(np.load(tmp_path / "z.npy"), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(read_embeddings(tmp_path / "m" / "embedding.parquet")[0], expected, rtol=1e-4, atol=1e-5)
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith((".ccassg", "tmp"))]


# Kills a rank of four once training has a checkpoint; the rank is the first argument, the signal the second.
FIT = """
import os, signal, sys, threading, time
from pathlib import Path
folder = Path(sys.argv[3])
def watch():
    while not (folder / "m" / "checkpoint.safetensors").exists():
        time.sleep(0.05)
    time.sleep(0.3)
    os.kill(os.getpid(), int(sys.argv[2]))
if os.environ["RANK"] == sys.argv[1]:
    threading.Thread(target=watch, daemon=True).start()
from ccassg.cli import main
main(["fit", "cora", "-o", str(folder / "m"), "--checkpoint-every", "1",
      *(f"--set={x}" for x in ("n_steps=100000", "encoder=gcn", "hidden_dim=8", "embedding_dim=4"))])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "rank", "number", "said"),
    [
        (3, 2, signal.SIGKILL, "rank 2 of 3 ended or stopped answering"),
        (2, 0, signal.SIGKILL, "rank 0 of 2 ended or stopped answering"),
        (2, 1, signal.SIGTERM, "rank 1 of 2 was told to end"),
    ],
)
def test_the_last_words_name_the_rank_that_died_and_the_checkpoint(size, rank, number, said, tmp_path):
    (tmp_path / "run.py").write_text(FIT)
    command = ["-m", "torch.distributed.run", "--nproc-per-node", str(size), "--standalone", "--redirects", "3"]
    command += [
        "--log-dir",
        str(tmp_path / "logs"),
        str(tmp_path / "run.py"),
        str(rank),
        str(int(number)),
        str(tmp_path),
    ]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=200, env=environment)
    assert done.returncode != 0
    errors = {path.parent.name: path.read_text() for path in (tmp_path / "logs").rglob("stderr.log")}
    assert sorted(errors) == [str(each) for each in range(size)]
    for speaker, error in errors.items():
        if speaker != str(rank) or number == signal.SIGTERM:
            last = error.strip().splitlines()[-1]
            assert last.startswith(f"Error: {said} (noticed by rank {speaker} of {size}: "), errors
            assert f"the same command continues from {tmp_path}/m/checkpoint.safetensors, and torchrun" in last
            assert "Traceback" not in error
