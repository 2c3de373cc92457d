"""What the harnesses do in processes of their own; see `nursery`."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import scipy.sparse as sp

from ccassg import CCASSG, as_graph, worker, write_embeddings, write_store
from ccassg.cli import main
from ccassg.datasets import cards
from ccassg.datasets.download import fetch_dataset
from ccassg.experiments import runner
from ccassg.experiments.records import Records, key_of
from ccassg.graph import Dataset
from ccassg.run import save_run

SOAK = os.environ.get("CCASSG_SOAK") == "1"
SEED = int(os.environ.get("CCASSG_FUZZ_SEED", "0"))


def planned_runs(n):
    """Runs as an experiment plans them; their results follow from their keys."""
    return [{"task": "toy", "method": "none", "dataset": f"set{i % 3}", "seed": i} for i in range(n)]


def record_runs(folder, n, seconds):
    """`ccassg reproduce` without its training: the runner, with workers that answer after ``seconds``."""

    def do(self, run):
        time.sleep(seconds)
        # Long lines, so that a kill can fall into the middle of one.
        result = {"accuracy": int(key_of(run)[:8], 16), "points": list(range(3000))}
        return {"run": run, "result": result, "seconds": {"total": seconds}}

    runner._Crew.do = do
    return runner.carry_out(planned_runs(n), Records(folder), jobs=2)


class ForkedWorker:
    """Stands in for `subprocess.Popen` where a worker is started: the same worker, in a process that need not import.

    Otherwise nearly all kills would fall into the seconds in which a worker imports torch.
    """

    def __init__(self, command, *, stderr, env, **_):
        assert command[1:-1] == ["-m", "ccassg.worker"]
        order, to_worker = os.pipe()
        from_worker, answer = os.pipe()
        self.returncode = None
        self.pid = os.fork()
        if self.pid == 0:
            for number, end in enumerate((order, answer, stderr.fileno())):
                os.dup2(end, number)
            for end in (order, to_worker, from_worker, answer):
                os.close(end)
            os.environ.update(env)
            worker.main(command[-1])
            os._exit(0)
        os.close(order)
        os.close(answer)
        self.stdin, self.stdout = os.fdopen(to_worker, "w"), os.fdopen(from_worker)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stdin.close()
        self.stdout.close()
        self.wait()

    def wait(self):
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)


def reproduce(*arguments):
    """`ccassg reproduce ARGUMENTS` with workers that start at once."""
    worker.subprocess = SimpleNamespace(Popen=ForkedWorker, PIPE=subprocess.PIPE)
    sys.argv = ["ccassg", "reproduce", *arguments]
    main()


def fit_varied(n, seed):
    """Fit ``n`` graphs of all kinds in this process; resident bytes and open files after each."""
    rng = np.random.default_rng(seed)
    process = psutil.Process()
    memory, files = [], []
    for i in range(n):
        nodes, width = int(rng.integers(20, 400)), int(rng.integers(4, 60))
        adjacency = sp.random(nodes, nodes, density=rng.uniform(0, 0.05), random_state=i)
        features = sp.random(nodes, width, density=0.2, random_state=i, format="csr")
        graph = as_graph(adjacency, features if i % 2 else features.toarray())
        choices = {"encoder": ("gcn", "mlp")[i % 3 == 0], "n_layers": 1 + i % 3, "loss_nodes": (None, 10)[i % 5 == 0]}
        checkpoint = Path(f"soak-{os.getpid()}.safetensors")
        model = CCASSG(hidden_dim=32, embedding_dim=16, n_steps=6, random_state=i, **choices)
        model.fit(graph, checkpoint=checkpoint, checkpoint_every=2)
        assert np.isfinite(model.transform(graph)).all()
        model.save("soak-model")
        CCASSG.load("soak-model")
        for leftover in Path().glob("soak-*.safetensors*"):
            leftover.unlink()
        gc.collect()
        memory.append(process.memory_info().rss)
        files.append(process.num_fds())
    return {"memory": memory, "files": files}


def fetch_together(n_processes, folder, base_url, digest):
    """Start processes that fetch the same dataset into the same folder at the same time; their exit codes."""
    cards.FILES["photo"] = (cards.SourceFile("photo.npz", base_url, digest),)
    start = time.monotonic() + 0.3
    children = []
    for _ in range(n_processes):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                time.sleep(max(0.0, start - time.monotonic()))
                (path,) = fetch_dataset("photo", folder=folder, wait=0)
                code = 0 if path.is_file() else 3
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                os._exit(code)
        children.append(pid)
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]


def fit_with_threads(threads, n_nodes, path):
    """Fit on so many threads and keep the embedding."""
    import torch

    torch.set_num_threads(threads)
    rng = np.random.default_rng(0)
    graph = as_graph(sp.random(n_nodes, n_nodes, density=4 / n_nodes, random_state=0), rng.normal(size=(n_nodes, 64)))
    model = CCASSG(encoder="gcn", n_layers=2, hidden_dim=64, embedding_dim=32, n_steps=10, random_state=0)
    np.save(path, model.fit_transform(graph))
    return torch.get_num_threads()


def written(kind, path, seed):
    """Write a store, a run, a model or a matrix with its ids, in place of what is there; equal seeds give equal contents."""
    rng = np.random.default_rng(seed)
    data = Dataset(
        as_graph(rng.integers(0, 20, (2, 40)), rng.normal(size=(20, 4)), node_ids=[f"n{i}" for i in range(20)])
    )
    if kind == "store":
        write_store(path, data, overwrite=True)
    elif kind == "matrix":
        write_embeddings(path, data.graph.features, data.ids)
    else:
        model = CCASSG(random_state=seed).fit(data)
        if kind == "run":
            save_run(Path(path), model, data, model.transform(data), source=f"seed {seed}", provenance={})
        else:
            model.save(path)


def killed_at(k, kind, path, seed, every=False):
    """Do `written`, killed just before the k-th time that a name near ``path`` changes (``every``: or a file is opened)."""
    changes = {"os.rename", "os.remove", "os.rmdir"} | ({"os.mkdir", "open"} if every else set())
    place, n_seen = str(Path(path).parent), 0

    def hook(event, arguments):
        nonlocal n_seen
        if event in changes and (str(arguments[0]).startswith(place) or arguments[-1] not in (-1, None)):
            n_seen += 1
            if n_seen == k:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    written(kind, path, seed)
    return n_seen


def unheard(*arguments):
    """`ccassg ARGUMENTS | true`: its exit code."""
    kept, (read, write) = os.dup(1), os.pipe()
    os.close(read)
    os.dup2(write, 1)
    sys.argv = ["ccassg", *arguments]
    try:
        main()
    except SystemExit as end:
        return end.code or 0
    finally:
        os.dup2(kept, 1)
