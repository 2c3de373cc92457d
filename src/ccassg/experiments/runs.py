"""The runs that tables are made of: a system with its published settings on a dataset.

Where all that was published would take days on two cores, a table runs less of it, and says so.
"""

import functools
from collections.abc import Iterable
from typing import Any

from ccassg.datasets import CARDS
from ccassg.defaults import canonical, choice
from ccassg.experiments.published import NAMES, TITLES
from ccassg.experiments.records import Run
from ccassg.systems import METHODS, get_class, make
from ccassg.systems.presets import OTHERS, Settings, everywhere

# The system that the paper is about.
OURS = "cca-ssg"
# Rows of their own: CCASSG with nothing named but this, all else chosen from the graph.
AUTOMATIC: dict[str, Settings] = {"default": {}, "neighbour-view": {"encoder": "mlp", "second_view": "neighbour"}}
PROBE_EPOCHS = 2000

_LARGER = ("pubmed", *OTHERS)
# The contrast among 2048 random nodes a step is what the BGRL paper runs where GRACE does not fit ("GRACE-subsampling").
# Photo's published rate of 0.1 needs all of its 2000 steps: after 200, validation accuracy was 61 %.
_GRACE = everywhere(_LARGER, loss_nodes=2048, n_steps=200)
_GRACE["photo"]["learning_rate"] = 1e-3
_WALKS = everywhere(_LARGER, n_walks=10)
# By method and dataset, the settings that differ from the published ones.
REDUCED: dict[str, dict[str, Settings]] = {
    "grace": _GRACE,
    "gca-degree": _GRACE,
    "gca-pagerank": _GRACE,
    "gca-eigenvector": _GRACE,
    # So few steps need a higher rate where the published one is 1e-5 or 1e-4.
    "bgrl": everywhere(OTHERS, n_steps=300, n_warmup_steps=30, learning_rate=5e-4),
    "deepwalk": _WALKS,
    "deepwalk-features": _WALKS,
    "dgi": everywhere(OTHERS, n_steps=300),
}


def a_run(
    task: str, method: str, dataset: str, seed: int = 0, *, changes: dict[str, Any] | None = None, **more: Any
) -> Run:
    """Return a run of a task with a method's settings for a dataset, some changed, and what else determines its result."""
    if method in AUTOMATIC:
        version = choice.VERSION if AUTOMATIC[method] else canonical.VERSION
        return a_run(task, OURS, dataset, seed, **more) | {"settings": AUTOMATIC[method], "defaults": version}
    settings = method_settings(method, dataset) | (changes or {})
    named = {"task": task, "method": method, "revision": get_class(method).revision, "dataset": dataset}
    return named | {"settings": settings, "seed": seed, **more}


def classification_run(
    method: str,
    dataset: str,
    seed: int,
    *,
    changes: dict[str, Any] | None = None,
    splits: list[dict[str, Any]] | None = None,
) -> Run:
    """Return a run that trains a method and scores it on splits, arguments of `Dataset.split`, by default of the paper's kind.

    That is the public split, or a new random one per seed where there is none.
    """
    public = dataset in ("cora", "citeseer", "pubmed")
    splits = splits or [{"kind": "public"} if public else {"kind": "random", "seed": seed}]
    run = a_run("node-classification", method, dataset, seed, changes=changes, splits=splits)
    if method == "default":
        # The paper's probe steps at a rate that was chosen for embeddings trained as the paper's.
        run["probe"] = {"solver": "logistic"}
    elif METHODS[run["method"]].kind == "embedder":
        run["probe"] = {"solver": "adam", "epochs": PROBE_EPOCHS, **CARDS[dataset].probe}
    return run


def classification_runs(method: str, dataset: str, n_seeds: int, changes: dict[str, Any] | None = None) -> list[Run]:
    """`classification_run` with the seeds 0, 1, 2, ..."""
    return [classification_run(method, dataset, seed, changes=changes) for seed in range(n_seeds)]


def method_settings(method: str, dataset: str) -> dict[str, Any]:
    """Return the parameters of a method for a dataset that are part of a run: the published ones, or what `REDUCED` says."""
    return _published(method, dataset) | REDUCED.get(method, {}).get(dataset, {})


def reduced_note(shown: Iterable[tuple[Any, ...]]) -> str:
    """Return a sentence on those of the (method, dataset) pairs in a table that are run with less; empty if there are none."""
    found: dict[tuple[str, str], list[str]] = {}
    for method, dataset in shown:
        if settings := REDUCED.get(method, {}).get(dataset, {}):
            usual = make(method, dataset).get_params(deep=False)
            changed = [f"{n} {value:g} for {_shown(usual[n])}" for n, value in settings.items() if value != usual[n]]
            found.setdefault((NAMES[method], ", ".join(changed)), []).append(TITLES[dataset])
    parts = [f"{method} on {', '.join(datasets)} ({what})" for (method, what), datasets in found.items()]
    return f"Run with less than was published: {'; '.join(parts)}." if parts else ""


def _shown(value: Any) -> str:
    return "all" if value is None else f"{value:g}"


@functools.cache
def _published(method: str, dataset: str) -> dict[str, Any]:
    """Return the published parameters in JSON's types."""
    parameters = make(method, dataset).get_params(deep=False)
    named = get_class(method).recorded_parameters or [name for name in parameters if name != "random_state"]
    return {name: list(value) if isinstance(value := parameters[name], tuple) else value for name in named}
