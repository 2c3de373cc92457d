"""What the details that the paper leaves open, or that its code decides, are worth: each changed alone, against the presets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from sklearn import preprocessing

from ccassg.datasets import CARDS
from ccassg.estimator import CCASSG
from ccassg.experiments.experiment import Drawn, Experiment, Plan, classification_run
from ccassg.experiments.pairs import difference, paired, signed
from ccassg.experiments.published import TITLES
from ccassg.experiments.records import Record, Records, Run
from ccassg.graph import Graph
from ccassg.model.encoder import Encoder
from ccassg.training.loop import Settings

PRESET = "preset"
# Per variant: changes of the settings, of the probe, and of what has no setting (see `prepared` and `OtherStart`).
VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    PRESET: {},
    "both directions of an edge dropped together": {"settings": {"drop_both_directions": True}},
    "the other scale of the features": {"details": {"features": "other scale"}},
    "initial weights: Glorot, normal": {"details": {"start": "glorot-normal"}},
    "initial weights: He, uniform": {"details": {"start": "he"}},
    "half the steps": {"steps": {"factor": 0.5}},
    "twice the steps": {"steps": {"factor": 2.0}},
    "probe on standardised columns": {"probe": {"standardize": True}},
    "probe with a tenth of the weight decay": {"probe": {"weight_decay": 0.1}},
    "probe with ten times the weight decay": {"probe": {"weight_decay": 10.0}},
    "probe: scikit-learn's logistic regression": {"probe": {"solver": "logistic"}},
}


class OtherStart(CCASSG):
    """CCA-SSG from other initial weights than Glorot's uniform ones: "glorot-normal" or "he" (uniform)."""

    start = "he"

    def prepare(self, graph: Graph, *, has_edges: bool = True) -> tuple[Settings, Encoder]:
        """As `CCASSG.prepare`, with the weights drawn anew."""
        settings, encoder = super().prepare(graph, has_edges=has_edges)
        generator = torch.Generator().manual_seed(settings.seed)
        for weight in encoder.weights:
            if self.start == "he":
                torch.nn.init.kaiming_uniform_(weight.data.T, nonlinearity="relu", generator=generator)
            else:
                torch.nn.init.xavier_normal_(weight.data, generator=generator)
        return settings, encoder


def model_of(run: Run) -> CCASSG:
    """The estimator of a run, with its initial weights."""
    start = run.get("details", {}).get("start")
    model = (CCASSG if start is None else OtherStart)(**run["settings"], random_state=run["seed"])
    if start is not None:
        model.start = start
    return model


def prepared(run: Run, graph: Graph) -> Graph:
    """The graph of a run: as it is, or with features of another scale.

    The "other scale" is raw where the features are normalised, and the other way round; "length 4" is that of every row.
    """
    scale = run.get("details", {}).get("features")
    if scale is None:
        return graph
    features = sp.csr_array(graph.features)
    if scale == "length 4":
        return graph.with_features(sp.csr_array(4 * preprocessing.normalize(features)))
    if run["dataset"] in ("cora", "citeseer"):
        # The rows of 0 and 1 that were divided by their sum.
        return graph.with_features((features > 0).astype(np.float32))
    sums = np.asarray(features.sum(axis=1)).ravel()
    return graph.with_features(sp.diags_array(1 / np.where(sums == 0, 1, sums)) @ features)


def runs(plan: Plan) -> list[Run]:
    """Every variant on every dataset."""
    return [run for dataset in plan.datasets for name in VARIANTS for run in _runs(plan, dataset, name)]


def draw(records: Records, plan: Plan, _: Path) -> Drawn | None:
    """Variants in rows; what each changes, in points, on validation and test nodes."""
    found = {
        dataset: {name: paired(records, _runs(plan, dataset, PRESET), _runs(plan, dataset, name)) for name in VARIANTS}
        for dataset in plan.datasets
    }
    # The preset alone, which other tables have recorded, compares nothing.
    found = {
        dataset: pairs for dataset, pairs in found.items() if any(pairs[name] for name in VARIANTS if name != PRESET)
    }
    if not found:
        return None
    counts = [len(pairs[name]) for pairs in found.values() for name in VARIANTS if name != PRESET]
    rows: list[dict[str, Any]] = []
    for name in VARIANTS:
        row: dict[str, Any] = {"variant": name}
        for dataset, pairs in found.items():
            for part, key in (("validation", "val_accuracy"), ("test", "test_accuracy")):
                row[f"{TITLES[dataset]}, {part}"] = _cell(pairs[name], key, absolute=name == PRESET)
        rows.append(row)
    notes = (
        f"Over {_span(counts)} seeds. First row: mean accuracy of all runs of the preset (%); other rows: the difference from the "
        "preset with the same seed, and its standard error."
    )
    return Drawn({"": rows}, notes=notes)


def _span(counts: Sequence[int]) -> str:
    some = [count for count in counts if count]
    return str(min(some)) if min(some) == max(some) else f"{min(some)} to {max(some)}"


def _cell(pairs: Sequence[tuple[Record, Record]], key: str, *, absolute: bool) -> str | None:
    if not pairs:
        return None
    if absolute:
        return f"{100 * np.mean([b['result'][key][0] for _, b in pairs]):.2f}"
    return signed(*difference(pairs, key))


def _runs(plan: Plan, dataset: str, name: str) -> list[Run]:
    return [_run(dataset, seed, VARIANTS[name]) for seed in range(plan.n_seeds)]


def _run(dataset: str, seed: int, variant: dict[str, dict[str, Any]]) -> Run:
    run = classification_run("cca-ssg", dataset, seed, changes=variant.get("settings"))
    if "steps" in variant:
        run["settings"]["n_steps"] = int(run["settings"]["n_steps"] * variant["steps"]["factor"])
    probe = dict(variant.get("probe", {}))
    if "weight_decay" in probe:
        probe["weight_decay"] *= CARDS[dataset].probe["weight_decay"]
    if "solver" in probe:
        run["probe"] = probe
    else:
        run["probe"] |= probe
    return run | ({"details": variant["details"]} if "details" in variant else {})


EXPERIMENT = Experiment(
    title="What details are worth: accuracy (%) with each changed alone",
    datasets=("cora", "photo"),
    runs=runs,
    draw=draw,
    n_seeds=20,
)
