"""The runs that most tables are made of: a system with its published settings on a dataset, one run per seed."""

import functools
from typing import Any

from ccassg.datasets import CARDS
from ccassg.experiments import reduced
from ccassg.experiments.records import Run
from ccassg.systems import METHODS, get_class, make

# The system that the paper is about.
OURS = "cca-ssg"
PROBE_EPOCHS = 2000


def classification_runs(method: str, dataset: str, n_seeds: int, changes: dict[str, Any] | None = None) -> list[Run]:
    """`classification_run` with the seeds 0, 1, 2, ..."""
    return [classification_run(method, dataset, seed, changes=changes) for seed in range(n_seeds)]


def classification_run(
    method: str,
    dataset: str,
    seed: int,
    *,
    changes: dict[str, Any] | None = None,
    splits: list[dict[str, Any]] | None = None,
) -> Run:
    """Train a method on a dataset with its published settings and score it on the paper's kind of split.

    Parameters
    ----------
    changes : dict, optional
        Settings that differ from the paper's.
    splits : list of dicts, optional
        Arguments of `Dataset.split`. By default the public split; a new random one per seed where there is none.
    """
    public = dataset in ("cora", "citeseer", "pubmed")
    run: Run = {
        "task": "node-classification",
        "method": method,
        "dataset": dataset,
        "settings": method_settings(method, dataset) | (changes or {}),
        "splits": splits or [{"kind": "public"} if public else {"kind": "random", "seed": seed}],
        "seed": seed,
    }
    if METHODS[method].kind == "embedder":
        run["probe"] = {"solver": "adam", "epochs": PROBE_EPOCHS, **CARDS[dataset].probe}
    return run


def method_settings(method: str, dataset: str) -> dict[str, Any]:
    """The parameters of a method for a dataset that are part of a run: the published ones, or what `reduced` says."""
    return dict(_published(method, dataset)) | reduced.changes(method, dataset)


@functools.cache
def _published(method: str, dataset: str) -> dict[str, Any]:
    """In JSON's types."""
    parameters = make(method, dataset).get_params(deep=False)
    named = get_class(method).recorded_parameters or [name for name in parameters if name != "random_state"]
    return {name: list(value) if isinstance(value := parameters[name], tuple) else value for name in named}
