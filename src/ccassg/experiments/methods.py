"""Table 1 of the paper: what each method needs, read from the classes that implement them, and how its memory really grows."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from ccassg import provenance
from ccassg.datasets import stochastic_block_graph
from ccassg.experiments.experiment import Cells, Drawn, Experiment, Found, Plan
from ccassg.experiments.published import CONCEPTS, NAMES
from ccassg.experiments.records import Run
from ccassg.experiments.runs import OURS
from ccassg.systems import get_class, make

# Column and attribute of the class.
COLUMNS = {
    "target": "target",
    "MI estimator": "mi_estimator",
    "projector or predictor": "projector",
    "asymmetric": "asymmetric",
    "negative examples": "negatives",
    "space": "space",
}
# The same for the conceptual comparison in the appendix.
CONCEPT_COLUMNS = {"view generation": "view_source", "pairs": "target", "loss": "loss", "tasks": "tasks"}
# Numbers of nodes at which memory is measured. The growth is taken from the first three: beyond them GRACE and GCA give up
# keeping all pairs, and compute them in tiles instead.
SIZES = (1400, 2800, 5600, 11200)
# Narrow, so that activations of N x D do not hide the pairs.
WIDTH, N_STEPS = 64, 2
METHODS = ("dgi", "mvgrl", "grace", "gca-degree", "bgrl", "graph-barlow-twins", "vicreg", OURS)


def cells(plan: Plan) -> Cells:
    """Name two steps of training by every method on random graphs of growing size."""
    return {(method, n): [_run(method, n)] for method in plan.methods for n in SIZES}


def train_on_random_graph(run: Run, _dataset: None) -> dict[str, Any]:
    """Train for a few steps; the memory that took beyond what was there before."""
    graph = stochastic_block_graph(run["n_nodes"], 4, 4.0, n_features=WIDTH, seed=run["seed"]).graph
    model = make(run["method"], **run["settings"], random_state=run["seed"])
    make(run["method"], **run["settings"]).fit(graph.subgraph(np.arange(100)))  # libraries load what they need
    before, start = provenance.peak_memory(), time.perf_counter()
    model.fit(graph)
    return {"memory_bytes": provenance.peak_memory() - before, "fit_seconds": time.perf_counter() - start}


def draw(found: Found, plan: Plan, _: Path) -> Drawn:
    """Draw the attributes, and the measured growth beside the stated one where it is recorded."""
    memory: list[dict[str, Any]] = []
    for method in plan.methods:
        if all((method, n) in found for n in SIZES):
            taken = {n: found[method, n][0]["result"]["memory_bytes"] for n in SIZES}
            shown = {f"{n:,} nodes": taken[n] for n in SIZES} | {"part that grows as N^2": quadratic_part(taken)}
            memory.append({"method": NAMES[method]} | {what: f"{size / 1e6:.0f} MB" for what, size in shown.items()})
    notes = (
        "Target: what is compared, N node, G graph, F feature. Space: memory for all the pairs that are compared, N nodes, "
        "D dimensions. The first five rows and the last are the paper's. Concepts: the comparison of the paper's appendix, and two "
        "systems more; what is not here is as the paper states it. Cross-scale: node and graph are two views; Fix-Diff: a fixed "
        "diffusion of the graph is one; Rand-Aug: random augmentations. P: a prototype, like a cluster's centre. GMI fits no "
        "category of views or pairs."
    )
    if memory:
        notes += (
            f" Memory: what {N_STEPS} steps of training took at width {WIDTH} on random graphs beyond what was there before. Its "
            f"part that grows as N^2 is that of the parabola through the first three sizes, at {SIZES[2]:,} nodes; the allocator's "
            "noise is of the order of 20 MB, and all pairs of two views once, as float32, take 251 MB. MVGRL's is its diffusion matrix, which is sparse only after a threshold. With more nodes GRACE and GCA compute "
            "their pairs in tiles instead of keeping them."
        )
    tables = {"": _facts(plan, COLUMNS), "concepts": concepts(plan)} | ({"memory": memory} if memory else {})
    return Drawn(tables, notes=notes)


def concepts(plan: Plan) -> list[dict[str, Any]]:
    """Return the conceptual comparison: attributes of the systems that are here, the paper's words on the others."""
    here = [row | {"included": True} for row in _facts(plan, CONCEPT_COLUMNS)]
    return here + [{"method": name, **stated, "included": False} for name, stated in CONCEPTS.items()]


def _facts(plan: Plan, columns: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {"method": NAMES[method]} | {column: getattr(get_class(method), name) for column, name in columns.items()}
        for method in plan.methods
    ]


def quadratic_part(memory: dict[int, float]) -> float:
    """Return the bytes c N^2 of a + b N + c N^2, fitted to the first three sizes, at the largest of them; not below 0."""
    sizes = np.array(SIZES[:3], dtype=np.float64)
    c = np.polyfit(sizes, [memory[n] for n in SIZES[:3]], 2)[0]
    return max(0.0, float(c * sizes[-1] ** 2))


def _run(method: str, n_nodes: int) -> Run:
    small = {"embedding_dim": WIDTH, "hidden_dim": WIDTH, "n_steps": N_STEPS, "encoder": "gcn"}
    cls = get_class(method)
    settings = {name: value for name, value in small.items() if hasattr(cls(), name)}
    graph = {"dataset": "synthetic", "n_nodes": n_nodes, "seed": 0}
    return {"task": "memory-growth", "method": method, "revision": cls.revision, "settings": settings, **graph}


EXPERIMENT = Experiment(
    title="What each self-supervised method needs (Table 1)",
    datasets=(),
    methods=METHODS,
    cells=cells,
    draw=draw,
)
