"""What the details that the paper leaves open, or that its code decides, are worth: each changed alone, against the presets."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ccassg.datasets import CARDS
from ccassg.experiments import Drawn, Experiment, Plan
from ccassg.experiments.experiment import Cells, Found
from ccassg.experiments.published import TITLES
from ccassg.experiments.records import Record, Run
from ccassg.experiments.runs import OURS, classification_run
from studies.command import run_study
from studies.pairs import difference, paired, signed

PRESET = "preset"
# Per variant: changes of the settings, of the probe, and of what has no setting (see `studies.variants`).
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


def cells(plan: Plan) -> Cells:
    """Every variant on every dataset."""
    return {
        (dataset, name): [_run(dataset, seed, variant) for seed in range(plan.n_seeds)]
        for dataset in plan.datasets
        for name, variant in VARIANTS.items()
    }


def draw(found: Found, plan: Plan, _: Path) -> Drawn | None:
    """Variants in rows; what each changes, in points, on validation and test nodes."""
    pairs = {
        (dataset, name): both
        for (dataset, name), done in found.items()
        if (both := paired(found.get((dataset, PRESET), []), done))
    }
    counts = [len(both) for (_, name), both in pairs.items() if name != PRESET]
    if not counts:  # the preset alone, which other tables have recorded, compares nothing
        return None
    datasets = [d for d in plan.datasets if any((d, name) in pairs for name in VARIANTS if name != PRESET)]
    rows: list[dict[str, Any]] = []
    for name in VARIANTS:
        row: dict[str, Any] = {"variant": name}
        for dataset in datasets:
            for part, key in (("validation", "val_accuracy"), ("test", "test_accuracy")):
                row[f"{TITLES[dataset]}, {part}"] = _cell(pairs.get((dataset, name), []), key, absolute=name == PRESET)
        rows.append(row)
    notes = (
        f"Over {_span(counts)} seeds. First row: mean accuracy of all runs of the preset (%); other rows: the difference from the "
        "preset with the same seed, and its standard error."
    )
    return Drawn({"": rows}, notes=notes)


def _span(counts: Sequence[int]) -> str:
    return str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def _cell(pairs: Sequence[tuple[Record, Record]], key: str, *, absolute: bool) -> str | None:
    if not pairs:
        return None
    if absolute:
        return f"{100 * np.mean([b['result'][key][0] for _, b in pairs]):.2f}"
    return signed(*difference(pairs, key))


def _run(dataset: str, seed: int, variant: dict[str, dict[str, Any]]) -> Run:
    run = classification_run(OURS, dataset, seed, changes=variant.get("settings"))
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


STUDY = Experiment(
    title="What details are worth: accuracy (%) with each changed alone",
    datasets=("cora", "photo"),
    cells=cells,
    draw=draw,
    tasks="studies.variants",
)

if __name__ == "__main__":
    run_study("details", STUDY)
