"""Why some systems score otherwise than the paper quotes: settings that the quoted papers leave open, each changed alone."""

from pathlib import Path
from typing import Any

from ccassg.experiments import Drawn, Experiment, Plan
from ccassg.experiments.experiment import Cells, Found
from ccassg.experiments.published import CITATION, NAMES, TITLES
from ccassg.experiments.records import Record, Run
from ccassg.experiments.runs import classification_run
from ccassg.experiments.tables import accuracy_cell, count_note
from ccassg.report.tables import mean_std
from studies.command import run_study

AS_RUN = "as in the table"
# The probe of the DGI paper, from which the paper quotes raw features and DeepWalk.
_DGI_PROBE = {"epochs": 100, "weight_decay": 0.0, "choose": "last"}
_WORDS = ("cora", "citeseer")  # features are bags of words, 0 or 1 before their rows are divided by the sum
_BINARY = {"details": {"features": "other scale"}, "datasets": _WORDS}
# Of Citeseer in GRACE's own code, for random splits.
_GRACES_OWN = {
    "hidden_dim": 512,
    "embedding_dim": 256,
    "projector_dim": 256,
    "edge_drop_rate": [0.2, 0.0],
    "feature_mask_rate": [0.3, 0.2],
    "temperature": 0.9,
    "n_steps": 200,
}
# By system and variant: what changes in the settings, the probe, and what has no setting (see `studies.variants`); and the
# datasets, where it is not for all.
VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "raw-features": {
        AS_RUN: {},
        "probe of 100 epochs, as the DGI paper's": {"probe": {"epochs": 100}},
        "probe of 300 epochs": {"probe": {"epochs": 300}},
        "probe of 100 epochs without decay, the last one": {"probe": _DGI_PROBE},
        "0 and 1 instead of rows that sum to 1": _BINARY,
    },
    "mlp": {
        AS_RUN: {},
        "without dropout": {"settings": {"dropout_rate": 0.0}},
        "25 steps": {"settings": {"n_steps": 25}},
        "35 steps": {"settings": {"n_steps": 35}},
        "50 steps": {"settings": {"n_steps": 50}},
        "hidden layer of 64": {"settings": {"hidden_dim": 64}},
        "without decay, the last step": {"settings": {"weight_decay": 0.0}, "details": {"choose": "last"}},
    },
    "label-propagation": {
        AS_RUN: {},
        "neighbours weigh 0.99": {"settings": {"alpha": 0.99}},
        "neighbours weigh 0.5": {"settings": {"alpha": 0.5}},
        "3 hops": {"settings": {"n_hops": 3}},
        "4 hops": {"settings": {"n_hops": 4}},
        "5 hops": {"settings": {"n_hops": 5}},
    },
    "gae": {
        AS_RUN: {},
        "50 steps": {"settings": {"n_steps": 50}},
        "1000 steps": {"settings": {"n_steps": 1000}},
        "width 512": {"settings": {"hidden_dim": 512, "embedding_dim": 512}},
    },
    "linear-cca": {
        AS_RUN: {},
        "width 50": {"settings": {"embedding_dim": 50}},
        "width 50, shrinkage 0.5": {"settings": {"embedding_dim": 50, "shrinkage": 0.5}},
        "width 50, shrinkage 0.0001": {"settings": {"embedding_dim": 50, "shrinkage": 1e-4}},
        "width 50, no shrinkage": {"settings": {"embedding_dim": 50, "shrinkage": 0.0}},
        "no shrinkage": {"settings": {"shrinkage": 0.0}},
    },
    "deepwalk-features": {
        AS_RUN: {},
        "probe of 100 epochs without decay, the last one": {"probe": _DGI_PROBE, "datasets": _WORDS},
        "0 and 1 instead of rows that sum to 1": _BINARY,
        "features of length 4, as the vectors": {"details": {"features": "length 4"}, "datasets": ("pubmed",)},
        "probe on standardised columns": {"probe": {"standardize": True}, "datasets": _WORDS},
    },
    "dgi": {
        AS_RUN: {},
        "probe of 100 epochs without decay, the last one": {"probe": _DGI_PROBE},
        "100 steps": {"settings": {"n_steps": 100}},
    },
    "mvgrl": {
        AS_RUN: {},
        "200 steps": {"settings": {"n_steps": 200}, "datasets": ("pubmed",)},
        "200 steps on the whole graph": {
            "settings": {"n_steps": 200, "subgraph_nodes": None},
            "datasets": ("pubmed",),
        },
    },
    "grace": {
        AS_RUN: {},
        "probe: scikit-learn's logistic regression, as GRACE's": {
            "probe": {"solver": "logistic"},
            "datasets": ("citeseer",),
        },
        "GRACE's whole evaluation: that probe, on rows of length 1": {
            "probe": {"solver": "logistic"},
            "details": {"rows": "length 1"},
            "datasets": ("citeseer",),
        },
        "GRACE's own settings": {"settings": _GRACES_OWN, "datasets": ("citeseer",)},
        "GRACE's own settings and whole evaluation": {
            "settings": _GRACES_OWN,
            "probe": {"solver": "logistic"},
            "details": {"rows": "length 1"},
            "datasets": ("citeseer",),
        },
        "30 steps": {"settings": {"n_steps": 30}, "datasets": ("citeseer",)},
        "temperature 0.9": {"settings": {"temperature": 0.9}, "datasets": ("citeseer",)},
    },
}
# What the paper quotes as DeepWalk on citation graphs is what the DGI paper calls DeepWalk + features.
QUOTED = CITATION | {"deepwalk-features": CITATION["deepwalk"]}


def cells(plan: Plan) -> Cells:
    """Every variant of every system, on the datasets where it means something."""
    return {
        (method, name, dataset): [_run(method, dataset, seed, variant) for seed in range(plan.n_seeds)]
        for dataset in plan.datasets
        for method in plan.methods
        for name, variant in VARIANTS[method].items()
        if dataset in variant.get("datasets", plan.datasets)
    }


def draw(found: Found, plan: Plan, _: Path) -> Drawn | None:
    """Systems and their variants in rows; validation and test accuracy beside the quoted value."""
    counts = [len(done) for (_, name, _), done in found.items() if name != AS_RUN]
    if not counts:
        return None
    rows: list[dict[str, Any]] = []
    for method in plan.methods:
        for name in VARIANTS[method]:
            by_dataset = {dataset: found.get((method, name, dataset), []) for dataset in plan.datasets}
            if any(by_dataset.values()):
                rows.append({"method": NAMES[method], "variant": name} | _columns(method, name, by_dataset))
    return Drawn({"": rows}, notes=count_note(counts), folded=("",))


def _columns(method: str, name: str, by_dataset: dict[str, list[Record]]) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for dataset, done in by_dataset.items():
        validation = [100 * record["result"]["val_accuracy"][0] for record in done]
        columns[f"{TITLES[dataset]}, validation"] = mean_std(validation) if done else None
        columns[f"{TITLES[dataset]}, test"] = accuracy_cell(done) if done else None
        columns[f"{TITLES[dataset]} (paper)"] = QUOTED[method][dataset] if name == AS_RUN else None
    return columns


def _run(method: str, dataset: str, seed: int, variant: dict[str, Any]) -> Run:
    run = classification_run(method, dataset, seed, changes=variant.get("settings"))
    if "probe" in variant:
        run["probe"] |= variant["probe"]
    return run | ({"details": variant["details"]} if "details" in variant else {})


STUDY = Experiment(
    title="Systems that score otherwise than quoted: accuracy (%) with one setting changed",
    datasets=("cora", "citeseer", "pubmed"),
    methods=tuple(VARIANTS),
    cells=cells,
    draw=draw,
    n_seeds=5,
    tasks="studies.variants",
)

if __name__ == "__main__":
    run_study("baseline-details", STUDY)
