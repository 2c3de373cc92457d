"""What the automatic settings reach, beside simpler things and beside CCA-SSG with either encoder; on graphs nobody tuned for, too.

Every contestant is embedded without labels and judged alike: by the paper's probe, at its learning rate and at a tenth of it, and
by the convex one, whichever has the highest mean validation accuracy. No label enters any choice of the default.
"""

import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ccassg.datasets import CARDS, stochastic_block_graph
from ccassg.defaults import canonical, choice
from ccassg.estimator import CCASSG
from ccassg.evaluate.probe import linear_probe
from ccassg.experiments import Drawn, Experiment, Plan
from ccassg.experiments.experiment import Cells, Found
from ccassg.experiments.published import TITLES
from ccassg.experiments.records import Record, Run
from ccassg.experiments.runs import PROBE_EPOCHS
from ccassg.experiments.tables import count_note
from ccassg.graph import Array, Dataset, Split, as_graph
from ccassg.graph.dataset import random_split
from ccassg.io.graphs import read_graph
from ccassg.model.presets import PRESETS
from ccassg.report.tables import mean_std
from ccassg.systems import make
from studies.command import run_study

# Public graphs that are no part of the project, each a folder own/NAME of the data folder.
OWN = {"blogcatalog": "BlogCatalog", "uai": "UAI2010", "acm": "ACM"}
# One more of them has many nodes and wide text: most contestants would make it dense, and the paper's probe would take hours.
LARGE, LARGE_CONTESTANTS = "wordnet", ("raw features",)
SYNTHETIC = "synthetic"
HOMOPHILY = (0.1, 0.3, 0.5, 0.7, 0.9)
# Informative features, poor ones, and words; with edges that say nothing at homophily 0.25 and much at 0.9. No choice in
# `ccassg.defaults` was made on graphs of these sizes and noises: they are a check, not a training set.
FEATURES: dict[str, dict[str, Any]] = {
    "dense": {"n_features": 80, "feature_noise": 0.94},
    "poor": {"n_features": 80, "feature_noise": 0.98},
    "words": {"n_features": 350, "feature_noise": 0.65, "sparse_features": True},
}
N_NODES, N_CLASSES, MEAN_DEGREE = 900, 4, 8
DEFAULT, PRESET, TIME, NEW, OTHER = "default", "CCA-SSG, preset", "time", "new nodes", "other splits"
# Contestants, by name: each makes a model from the number of features and nodes, as narrow as the data can fill, and the seed.
CONTESTANTS: dict[str, Any] = {
    "raw features": lambda width, seed: make("raw-features"),
    "A X": lambda width, seed: make("propagated-features", n_hops=1),
    "A^2 X": lambda width, seed: make("propagated-features", n_hops=2),
    "A^4 X": lambda width, seed: make("propagated-features", n_hops=4),
    "untrained GCN": lambda width, seed: make(
        "untrained-gcn", hidden_dim=width, embedding_dim=width, random_state=seed
    ),
    "CCA-SSG, GCN": lambda width, seed: CCASSG(encoder="gcn", random_state=seed),
    "CCA-SSG, MLP": lambda width, seed: CCASSG(encoder="mlp", random_state=seed),
    "CCA-SSG, MLP, neighbour view": lambda width, seed: CCASSG(
        encoder="mlp", second_view="neighbour", random_state=seed
    ),
    DEFAULT: lambda width, seed: CCASSG(random_state=seed),
}
# On graphs of the paper, the time of a fit with nothing named beside one of the preset.
TIMED = tuple(PRESETS)
HELD_OUT = ("cora", "pubmed", "cs")
# One public split of 1,000 test nodes says little of a point: splits of its kind, drawn anew.
REDRAWN, N_REDRAWN, N_PER_CLASS = ("cora", "citeseer", "pubmed"), 10, 20
REDRAWN_CONTESTANTS = ("A X", "A^2 X", "A^4 X", PRESET, DEFAULT)


def cells(plan: Plan) -> Cells:
    """Every contestant on every graph; the default first, on four times as many splits. Time and new nodes on those of the paper."""
    seeds = range(plan.n_seeds)
    graphs = [dataset for dataset in plan.datasets if dataset != SYNTHETIC]
    made: Cells = {(TIME, dataset): [_run(TIME, dataset, 0)] for dataset in graphs if dataset in TIMED}
    for dataset in graphs:
        made[DEFAULT, dataset] = [
            _run(DEFAULT, dataset, s) for s in range(plan.n_seeds * (1 if dataset == LARGE else 4))
        ]
        others = LARGE_CONTESTANTS if dataset == LARGE else [name for name in CONTESTANTS if name != DEFAULT]
        made |= {(name, dataset): [_run(name, dataset, s) for s in seeds] for name in others}
    made |= {(NEW, dataset): [_run(NEW, dataset, s) for s in seeds] for dataset in graphs if dataset in HELD_OUT}
    redrawn = [dataset for dataset in graphs if dataset in REDRAWN]
    made |= {(OTHER, dataset): [_run(OTHER, dataset, s) for s in range(N_REDRAWN)] for dataset in redrawn}
    if SYNTHETIC in plan.datasets:
        made |= {(kind, h): [_synthetic(h, kind, s) for s in seeds] for h in HOMOPHILY for kind in FEATURES}
    return made


def score_contestant(run: Run, data: Dataset | None) -> dict[str, Any]:
    """Accuracies of one contestant on one graph and split, by every probe."""
    data = data or own_graph(run["dataset"])
    split = data.split(run["seed"]) if data.card else random_split(data.y, seed=run["seed"])
    return {"probes": _probed(_embedded(run["contestant"], data, run["seed"]), data, run, split)}


def score_all(run: Run, _: None) -> dict[str, Any]:
    """Accuracies of all contestants on one synthetic graph, by every probe."""
    data = stochastic_block_graph(**run["graph"], seed=run["seed"])
    split = random_split(data.y, seed=run["seed"])
    return {"probes": {name: _probed(_embedded(name, data, run["seed"]), data, run, split) for name in CONTESTANTS}}


def score_other_splits(run: Run, data: Dataset) -> dict[str, Any]:
    """Accuracies of the default, of averaged features and of the preset on a split like the public one, drawn at random."""
    split = redrawn_split(data.y, run["n_per_class"], run["seed"])
    made = {name: _embedded(name, data, run["seed"]) for name in REDRAWN_CONTESTANTS if name != PRESET}
    made[PRESET] = CCASSG.preset(run["dataset"], random_state=run["seed"]).fit_transform(data.graph)
    return {"probes": {name: _probed(made[name], data, run, split) for name in REDRAWN_CONTESTANTS}}


def redrawn_split(y: Array, n_per_class: int, seed: int) -> Split:
    """Draw as many nodes of each class to train on, 500 to choose on and 1,000 to test on."""
    order = np.random.default_rng(seed).permutation(np.flatnonzero(y >= 0))
    train = np.concatenate([order[y[order] == k][:n_per_class] for k in range(int(y.max()) + 1)])
    rest = order[~np.isin(order, train)]
    return Split(np.sort(train), np.sort(rest[:500]), np.sort(rest[500:1500]))


def score_new_nodes(run: Run, data: Dataset) -> dict[str, Any]:
    """Fit on 80 % of the nodes, embed the others with and without their edges, and probe them.

    The probe learns on half of the labels of the nodes that were there and chooses on the other half.
    """
    graph, n = data.graph, data.graph.n_nodes
    order = np.random.default_rng(run["seed"]).permutation(np.flatnonzero(data.y >= 0))
    known, new = np.sort(order[: int(0.8 * n)]), np.sort(order[int(0.8 * n) :])
    split = random_split(data.y[known], seed=run["seed"])
    y = np.concatenate([data.y[known], data.y[new]])
    parts = Split(train=split.train, val=split.val, test=np.arange(len(known), len(y)))
    seen, alone = graph.subgraph(known), graph.subgraph(new)
    alone = as_graph(np.zeros((2, 0), np.int64), alone.features)
    whole = graph.subgraph(np.concatenate([known, new]))
    found: dict[str, Any] = {}
    for name in ("raw features", "CCA-SSG, GCN", "CCA-SSG, MLP, neighbour view", DEFAULT):
        model = CONTESTANTS[name](_width(data), run["seed"]).fit(seen)
        with_edges, before = model.transform(whole), model.transform(seen)
        for where, z in (
            ("with", with_edges[len(known) :]),
            ("without", model.transform(alone)),
        ):
            scores = linear_probe(np.vstack([before, z]), y, parts, seeds=run["seed"], solver="logistic")
            found[f"{name}, {where} edges"] = scores.accuracies[0]
    return {"test_accuracy": found}


def time_fits(run: Run, data: Dataset) -> dict[str, Any]:
    """Seconds of a fit with nothing named and of one of the preset, in turns in one process."""
    models = {DEFAULT: CCASSG(random_state=0), "preset": CCASSG.preset(run["dataset"], random_state=0)}
    taken: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(run["rounds"]):
        for name, model in models.items():
            taken[name].append(model.fit(data.graph).fit_seconds_)
    return {"fit_seconds": taken}


TASKS = {
    "default-contestant": score_contestant,
    "default-synthetic": score_all,
    "default-new-nodes": score_new_nodes,
    "default-other-splits": score_other_splits,
    "default-cost": time_fits,
}


def own_graph(name: str) -> Dataset:
    """Read one of the graphs that are no part of the project, as a user would."""
    folder = Path(os.environ.get("CCASSG_DATA", "data")) / "own" / name
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no {folder}; set CCASSG_DATA to the folder of the datasets")
    return read_graph(folder)


def _width(data: Dataset) -> int:
    return choice.fillable_width(data.graph)


def _embedded(name: str, data: Dataset, seed: int) -> Array:
    z: Array = CONTESTANTS[name](_width(data), seed).fit_transform(data.graph)
    return z


def _probed(z: Array, data: Dataset, run: Run, split: Split) -> dict[str, Any]:
    """Return test and validation accuracy on a split by every probe."""
    card = CARDS[run["dataset"]].probe if run["dataset"] in CARDS else {}
    rate, decay = card.get("learning_rate", 1e-2), card.get("weight_decay", 1e-4)
    probe = partial(linear_probe, z, data.y, split, seeds=run["seed"])
    adam = partial(probe, weight_decay=decay, epochs=run["epochs"])
    probes = {
        "paper's": partial(adam, learning_rate=rate),
        "paper's, a tenth of the rate": partial(adam, learning_rate=rate / 10),
        "convex": partial(probe, solver="logistic"),
    }
    if run["dataset"] == LARGE:
        probes = {"convex": probes["convex"]}
    scores = {name: score() for name, score in probes.items()}
    return {name: {"test": s.accuracies[0], "val": s.val_accuracies[0]} for name, s in scores.items()}


def draw(found: Found, plan: Plan, figures: Path) -> Drawn | None:
    """A table of the graphs, one of splits drawn anew, one of the synthetic graphs, one of new nodes."""
    titles = TITLES | OWN | {LARGE: "WordNet"}
    graphs = [dataset for dataset in plan.datasets if (DEFAULT, dataset) in found]
    blocks = [(kind, h) for kind in FEATURES for h in HOMOPHILY if (kind, h) in found]
    held_out = [dataset for dataset in HELD_OUT if (NEW, dataset) in found]
    rows: list[dict[str, Any]] = [
        {"": name}
        | {
            titles[d]: _cell([r["result"]["probes"] for r in found[name, d]]) if (name, d) in found else None
            for d in graphs
        }
        for name in CONTESTANTS
    ]
    tables = {
        "graphs": [row for row in rows if any(value for key, value in row.items() if key)],
        OTHER: _other_rows({titles[d]: found[OTHER, d] for d in REDRAWN if (OTHER, d) in found}),
        SYNTHETIC: [_synthetic_row(kind, h, found[kind, h]) for kind, h in blocks],
        "new nodes": _new_rows({titles[dataset]: found[NEW, dataset] for dataset in held_out}),
    }
    tables = {name: rows for name, rows in tables.items() if rows}
    if not tables:
        return None
    counts = [len(done) for cell, done in found.items() if cell[0] in CONTESTANTS]
    times = {titles[d]: found[TIME, d][0]["result"]["fit_seconds"] for d in TIMED if (TIME, d) in found}
    ratios = [f"{min(t[DEFAULT]) / min(t['preset']):.2f} on {name}" for name, t in times.items()]
    notes = (
        f"Test accuracy in percent. {count_note(counts)} Each by the probe with the highest mean validation accuracy."
    )
    if ratios:
        notes += f" Time of a fit with nothing named, in fits of the preset side by side: {', '.join(ratios)}."
    return Drawn(tables, notes=notes)


def _cell(probes: list[dict[str, Any]]) -> str:
    """Return mean and deviation by the probe that validation prefers."""
    return mean_std(_best(probes))


def _best(probes: list[dict[str, Any]]) -> list[float]:
    best = max(probes[0], key=lambda name: float(np.mean([found[name]["val"] for found in probes])))
    return [100 * found[best]["test"] for found in probes]


def _other_rows(found: dict[str, list[Record]]) -> list[dict[str, Any]]:
    return [
        {"": name} | {d: _cell([r["result"]["probes"][name] for r in done]) for d, done in found.items()}
        for name in REDRAWN_CONTESTANTS
        if found
    ]


def _synthetic_row(kind: str, homophily: float, done: list[Record]) -> dict[str, Any]:
    means = {name: np.mean(_best([r["result"]["probes"][name] for r in done])) for name in CONTESTANTS}
    ours = means.pop(DEFAULT)
    best = max(means, key=lambda name: means[name])
    return {
        "features": kind,
        "homophily": homophily,
        "default": round(float(ours), 1),
        "best other": best,
        "its accuracy": round(float(means[best]), 1),
        "difference": round(float(ours - means[best]), 1),
    }


def _new_rows(found: dict[str, list[Record]]) -> list[dict[str, Any]]:
    names = next(iter(found.values()))[0]["result"]["test_accuracy"] if found else []
    shown = {d: [record["result"]["test_accuracy"] for record in done] for d, done in found.items()}
    return [
        {"": name} | {d: mean_std([100 * scores[name] for scores in done]) for d, done in shown.items()}
        for name in names
    ]


def _run(name: str, dataset: str, seed: int) -> Run:
    trained_or_none = name in CONTESTANTS and name != DEFAULT
    version = choice.VERSION if trained_or_none else canonical.VERSION
    common = {"dataset": dataset, "defaults": version, "seed": seed}
    if name == TIME:
        return {"task": "default-cost", "rounds": 3 if CARDS[dataset].n_nodes < 10_000 else 1} | common
    if name == NEW:
        return {"task": "default-new-nodes"} | common
    if name == OTHER:
        return {"task": "default-other-splits", "epochs": PROBE_EPOCHS, "n_per_class": N_PER_CLASS} | common
    return {"task": "default-contestant", "contestant": name, "epochs": PROBE_EPOCHS} | common


def _synthetic(homophily: float, kind: str, seed: int) -> Run:
    graph = {"n_nodes": N_NODES, "n_classes": N_CLASSES, "mean_degree": MEAN_DEGREE, "homophily": homophily}
    return {
        "task": "default-synthetic",
        "dataset": SYNTHETIC,
        "graph": graph | FEATURES[kind],
        "epochs": PROBE_EPOCHS,
        "defaults": canonical.VERSION,
        "seed": seed,
    }


STUDY = Experiment(
    title="Automatic settings beside simpler things and the paper's encoders",
    datasets=("cora", "citeseer", "pubmed", "computers", "photo", "cs", "physics", *OWN, LARGE, SYNTHETIC),
    cells=cells,
    draw=draw,
    n_seeds=5,
    tasks="studies.default_settings",
)

if __name__ == "__main__":
    run_study("default-settings", STUDY)
