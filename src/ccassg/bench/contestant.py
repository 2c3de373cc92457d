"""One contestant in a process of its own: takes steps when told to, and says how long each took."""

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ccassg.datasets import load_dataset, stochastic_block_graph
from ccassg.estimator import CCASSG
from ccassg.graph import Graph
from ccassg.model.algorithm import Algorithm1
from ccassg.model.encoder import Tower
from ccassg.model.presets import FAST, PRESETS
from ccassg.provenance import peak_memory
from ccassg.training.head import GRAM_FROM
from ccassg.training.step import ExactStep
from ccassg.training.views import Views

# The product whose rate stands for the machine's: as large as those of the exact step, but cheap to repeat.
GEMM_SHAPE = (8192, 512, 512)


def serve(orders: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Answer orders; see `ccassg.worker`.

    The first is the job, such as ``{"kind": "exact", "dataset": "cora", "threads": 2, "device": "cpu"}``, and is answered by
    what there is to say about it; every other is ``{"steps": n}``, and is answered by the seconds of each step.
    """
    job = next(orders)
    warnings.filterwarnings("ignore", message="Sparse")  # the textbook's sparse tensors are called beta
    torch.set_num_threads(job["threads"])
    started = time.perf_counter()
    step, facts = contestant(job)
    yield facts | {"setup_seconds": time.perf_counter() - started}
    for order in orders:
        seconds = []
        for _ in range(order["steps"]):
            began = time.perf_counter()
            step()
            if job["device"] != "cpu":
                torch.cuda.synchronize()
            seconds.append(time.perf_counter() - began)
        yield {"seconds": seconds, "peak_memory": peak_memory()}


def contestant(job: dict[str, Any]) -> tuple[Callable[[], object], dict[str, Any]]:
    """A function that takes one step, and what there is to say about it."""
    if job["kind"] == "gemm":
        n, k, m = GEMM_SHAPE
        a, b, out = torch.rand(n, k), torch.rand(k, m), torch.empty(n, m)
        return lambda: torch.mm(a, b, out=out), {"flop": 2 * n * k * m}
    graph, settings = load_job(job)
    if job["kind"] == "textbook":
        return Algorithm1(graph, settings, device=job["device"]).step, {}
    model = CCASSG(**settings, random_state=0, device=job["device"])
    run, (tower,) = model.prepare(graph)
    views = Views(graph, tower, run)
    compute = ExactStep(tower, run.objective)
    optimizer = torch.optim.Adam(tower.parameters(), lr=run.learning_rate, fused=True)
    count = iter(range(10**9))

    def step() -> None:
        compute(*views(next(count)))
        optimizer.step()

    return step, {"flop": needed_flop(graph, tower, run.loss_nodes, settings)}


def load_job(job: dict[str, Any]) -> tuple[Graph, dict[str, Any]]:
    """The graph of a job and the estimator's settings on it."""
    if job.get("nodes"):
        data = stochastic_block_graph(
            job["nodes"], n_classes=10, mean_degree=10.0, homophily=0.8, n_features=128, seed=0, sparse_features=False
        )
        settings = PRESETS["cora"] | {"hidden_dim": 128, "embedding_dim": 128, "feature_mask_rate": 0.2}
        return data.graph, settings
    name = job["dataset"]
    fast = FAST[name] if job["kind"] == "fast" else {}
    return load_dataset(name).graph, PRESETS[name] | fast


def needed_flop(graph: Graph, tower: Tower, loss_nodes: int, settings: dict[str, Any]) -> float:
    """Floating-point operations of the dense products that the formulation needs, per step.

    As in `ccassg.training.head`, with 5/8 of a product for a symmetric one. By Grams: three of them and three products of n x h x h;
    then twelve of h x h x d, five of them symmetric. Direct: per view a Gram and a product of n x d x d, and three of n x h x d; with one layer only the
    former. Dense features: the share of X W and of its gradient that is left when columns kept by both views are multiplied
    once. Sparse products are not counted.
    """
    n = loss_nodes or graph.n_nodes
    dims = tower.dims
    h, d = dims[-2], dims[-1]
    if len(dims) > 2 and n >= GRAM_FROM * d:
        total = (3 * 5 / 8 + 3) * 2 * n * h * h + (7 + 5 * 5 / 8) * 2 * h * h * d
    else:
        total = 2 * (5 / 8 + 1) * 2 * n * d * d + (6 * 2 * n * h * d if len(dims) > 2 else 0)
    features = graph.features
    assert features is not None
    dense = not hasattr(features, "nnz") or features.nnz / (features.shape[0] * features.shape[1]) >= 0.2
    if dense:
        rate = settings["feature_mask_rate"]
        kept = 1 - rate * rate
        total += 2 * kept * 2 * graph.n_nodes * dims[0] * dims[1]
    return total
