"""One contestant in a process of its own: takes steps when told to, and says how long each took."""

import itertools
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ccassg.datasets import load_dataset, stochastic_block_graph
from ccassg.estimator import CCASSG
from ccassg.graph import Graph
from ccassg.model.algorithm import Algorithm1
from ccassg.model.presets import FAST, PRESETS
from ccassg.provenance import peak_memory
from ccassg.training.step import ExactStep
from ccassg.training.views import Views


def serve(orders: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Answer orders; see `ccassg.worker`.

    The first is the job, such as ``{"kind": "exact", "dataset": "cora", "threads": 2, "device": "cpu"}``, and is answered by
    the seconds of the set-up; every other is ``{"steps": n}``, and is answered by the seconds of each step.
    """
    job = next(orders)
    warnings.filterwarnings("ignore", message="Sparse")  # the textbook's sparse tensors are called beta
    torch.set_num_threads(job["threads"])
    started = time.perf_counter()
    step = contestant(job)
    yield {"setup_seconds": time.perf_counter() - started}
    for order in orders:
        seconds = []
        for _ in range(order["steps"]):
            began = time.perf_counter()
            step()
            if job["device"] != "cpu":
                torch.cuda.synchronize()
            seconds.append(time.perf_counter() - began)
        yield {"seconds": seconds, "peak_memory": peak_memory()}


def contestant(job: dict[str, Any]) -> Callable[[], object]:
    """Return a function that takes one step."""
    graph, settings = load_job(job)
    if job["kind"] == "textbook":
        return Algorithm1(graph, settings, device=job["device"]).step
    if job["kind"] == "default":  # all that a user waits for
        return lambda: CCASSG(random_state=0, device=job["device"]).fit_transform(graph)
    model = CCASSG(**settings, random_state=0, device=job["device"])
    run, encoder = model.prepare(graph)
    views = Views(graph, encoder, run)
    compute = ExactStep(encoder, run.objective)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=run.learning_rate, fused=True)
    steps = itertools.count()

    def step() -> None:
        compute(*views(next(steps)))
        optimizer.step()

    return step


def load_job(job: dict[str, Any]) -> tuple[Graph, dict[str, Any]]:
    """Return the graph of a job and the estimator's settings on it."""
    if job.get("nodes"):
        data = stochastic_block_graph(
            job["nodes"], n_classes=10, mean_degree=10.0, homophily=0.8, n_features=128, seed=0, sparse_features=False
        )
        settings = PRESETS["cora"] | {"hidden_dim": 128, "embedding_dim": 128, "feature_mask_rate": 0.2}
        return data.graph, settings
    name = job["dataset"]
    fast = FAST[name] if job["kind"] == "fast" else {}
    return load_dataset(name).graph, PRESETS[name] | fast
