"""What the automatic settings cost against the paper's, and against simpler things on graphs nobody tuned for.

On the paper's datasets the default is compared with the preset, on block models from unlike to like neighbours with raw and
averaged features, an untrained GCN and CCA-SSG with either encoder. No label enters any choice.
"""

from pathlib import Path
from typing import Any

import numpy as np

from ccassg.datasets import stochastic_block_graph
from ccassg.defaults import choice
from ccassg.estimator import CCASSG
from ccassg.evaluate.probe import linear_probe
from ccassg.experiments import Drawn, Experiment, Plan
from ccassg.experiments.experiment import Cells, Found
from ccassg.experiments.published import TITLES
from ccassg.experiments.records import Record, Run
from ccassg.experiments.runs import OURS, classification_run
from ccassg.experiments.tables import accuracies, count_note
from ccassg.experiments.tasks import classify_nodes
from ccassg.graph import Dataset, Graph
from ccassg.report.tables import mean_std
from ccassg.systems import make
from studies.command import run_study

SYNTHETIC = "synthetic"
HOMOPHILY = (0.1, 0.3, 0.5, 0.7, 0.9)
# Informative features, poor ones, and words; with edges that say nothing at homophily 0.25 and much at 0.9. No choice in
# `ccassg.defaults` was made on graphs of these sizes and noises: they are a check, not a training set.
FEATURES: dict[str, dict[str, Any]] = {
    "dense": {"n_features": 80, "feature_noise": 0.94},
    "poor": {"n_features": 80, "feature_noise": 0.98},
    "words": {"n_features": 350, "feature_noise": 0.65, "sparse_features": True},
}
N_NODES, N_CLASSES, MEAN_DEGREE, EPOCHS = 1200, 4, 8, 1000
DEFAULT, PRESET, TIME = "default", "preset", "time"
# Where the time of the automatic settings is measured beside a plain fit: a small graph, a larger one, and dense features.
TIMED = ("cora", "pubmed", "photo")


def cells(plan: Plan) -> Cells:
    """The default and the preset on the datasets; all at once on every synthetic graph."""
    seeds = range(plan.n_seeds)
    made: Cells = {}
    for dataset in plan.datasets:
        if dataset == SYNTHETIC:
            made |= {(kind, h): [_synthetic(h, kind, s) for s in seeds] for h in HOMOPHILY for kind in FEATURES}
        else:
            made[DEFAULT, dataset] = [_default(dataset, seed) for seed in seeds]
            made[PRESET, dataset] = [_preset(dataset, seed) for seed in seeds]
    return made | {(TIME, dataset): [_timed(dataset)] for dataset in plan.datasets if dataset in TIMED}


def embed_every_way(run: Run, _dataset: None) -> dict[str, Any]:
    """Test accuracy of every way to embed one synthetic graph, on one split."""
    data = stochastic_block_graph(**run["graph"], seed=run["seed"])
    split = data.split(run["seed"])
    found = {}
    for name, z in _embeddings(data.graph, run["seed"]).items():
        found[name] = linear_probe(z, data.y, split, seeds=run["seed"], epochs=run["epochs"]).accuracy
    return {"accuracy": found}


def time_fits(run: Run, data: Dataset) -> dict[str, Any]:
    """Seconds of a fit with nothing named and of a plain GCN's, in turns in one process."""
    models = {"default": CCASSG(random_state=run["seed"]), "plain": CCASSG(encoder="gcn", random_state=run["seed"])}
    taken: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(run["rounds"]):
        for name, model in models.items():
            taken[name].append(model.fit(data.graph).fit_seconds_)
    return {"fit_seconds": taken}


TASKS = {"node-classification": classify_nodes, "default-settings": embed_every_way, "default-cost": time_fits}


def _embeddings(graph: Graph, seed: int) -> dict[str, Any]:
    gcn = CCASSG(encoder="gcn", random_state=seed).fit(graph)
    widths = {name: gcn.settings_[name] for name in ("hidden_dim", "embedding_dim")}
    made = {
        "raw features": make("raw-features").fit_transform(graph),
        "untrained GCN": make("untrained-gcn", **widths, random_state=seed).fit_transform(graph),
        "CCA-SSG, GCN": gcn.transform(graph),
        "CCA-SSG, MLP": CCASSG(encoder="mlp", random_state=seed).fit_transform(graph),
        DEFAULT: CCASSG(random_state=seed).fit_transform(graph),
    }
    averaged = {f"A^{k} X": make("propagated-features", n_hops=k).fit_transform(graph) for k in (1, 2, 4)}
    return averaged | made


def draw(found: Found, plan: Plan, figures: Path) -> Drawn | None:
    """One table against the presets, one against the best of the simpler things."""
    both = [dataset for dataset in plan.datasets if (DEFAULT, dataset) in found and (PRESET, dataset) in found]
    blocks = [(kind, h) for kind in FEATURES for h in HOMOPHILY if (kind, h) in found]
    tables = {
        "presets": [_preset_row(dataset, found[DEFAULT, dataset], found[PRESET, dataset]) for dataset in both],
        SYNTHETIC: [_synthetic_row(kind, h, found[kind, h]) for kind, h in blocks],
    }
    tables = {name: rows for name, rows in tables.items() if rows}
    if not tables:
        return None
    counts = [len(found[DEFAULT, dataset]) for dataset in both] + [len(found[block]) for block in blocks]
    times = {TITLES[d]: found[TIME, d][0]["result"]["fit_seconds"] for d in TIMED if (TIME, d) in found}
    ratios = [f"{min(t['default']) / min(t['plain']):.1f} on {name}" for name, t in times.items()]
    notes = f"Test accuracy in percent. {count_note(counts)}"
    if ratios:
        notes += f" Time of a fit with nothing named, in fits of a plain GCN side by side: {', '.join(ratios)}."
    return Drawn(tables, notes=notes)


def _preset_row(dataset: str, default: list[Record], preset: list[Record]) -> dict[str, Any]:
    ours, paper = accuracies(default), accuracies(preset)
    return {
        "dataset": TITLES[dataset],
        "default": mean_std(ours),
        "preset": mean_std(paper),
        "difference": round(float(np.mean(ours) - np.mean(paper)), 2),
    }


def _synthetic_row(kind: str, homophily: float, done: list[Record]) -> dict[str, Any]:
    names = done[0]["result"]["accuracy"]
    means = {name: 100 * float(np.mean([record["result"]["accuracy"][name] for record in done])) for name in names}
    ours = means.pop(DEFAULT)
    best = max(means, key=lambda name: means[name])
    return {
        "features": kind,
        "homophily": homophily,
        "default": round(ours, 1),
        "best other": best,
        "its accuracy": round(means[best], 1),
        "difference": round(ours - means[best], 1),
    }


def _preset(dataset: str, seed: int) -> Run:
    return classification_run(OURS, dataset, seed)


def _default(dataset: str, seed: int) -> Run:
    return _preset(dataset, seed) | {"settings": {}, "defaults": choice.VERSION}


def _timed(dataset: str) -> Run:
    return {
        "task": "default-cost",
        "method": OURS,
        "dataset": dataset,
        "rounds": 3,
        "defaults": choice.VERSION,
        "seed": 0,
    }


def _synthetic(homophily: float, kind: str, seed: int) -> Run:
    graph = {"n_nodes": N_NODES, "n_classes": N_CLASSES, "mean_degree": MEAN_DEGREE, "homophily": homophily}
    return {
        "task": "default-settings",
        "dataset": SYNTHETIC,
        "graph": graph | FEATURES[kind],
        "epochs": EPOCHS,
        "defaults": choice.VERSION,
        "seed": seed,
    }


STUDY = Experiment(
    title="Automatic settings against the paper's, and against simpler things on synthetic graphs",
    datasets=("cora", "citeseer", "pubmed", "computers", "photo", "cs", "physics", SYNTHETIC),
    cells=cells,
    draw=draw,
    n_seeds=5,
    quick_seeds=1,
    tasks="studies.default_settings",
)

if __name__ == "__main__":
    run_study("default-settings", STUDY)
