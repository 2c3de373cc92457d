"""What an experiment is: it names runs and draws a table or figure from their records."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ccassg.datasets import CARDS
from ccassg.experiments import reduced
from ccassg.experiments.published import TITLES
from ccassg.experiments.records import Record, Records, Run
from ccassg.model.presets import PRESETS
from ccassg.systems import METHODS, make

# Parameters that no preset names, at the value that is the paper's method. They are part of a run, so that a variation
# gets a key of its own; parameters that CCASSG may get later are not, so that records stay valid.
NEUTRAL: dict[str, Any] = {"drop_both_directions": False, "loss_nodes": None, "invariance": 1.0}
PROBE_EPOCHS = 2000
# How a sentence on a statement of the paper begins; `output` gathers them.
FINDING = "**Finding.** "


@dataclass(frozen=True)
class Plan:
    """How much of an experiment to do."""

    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    n_seeds: int
    quick: bool = False


@dataclass(frozen=True)
class Drawn:
    """What an experiment made of its records.

    Attributes
    ----------
    tables : dict of lists of dicts
        Rows by the name of the table.
    figures : tuple of str
        Names of figures that were saved.
    notes : str
        Markdown to stand below.
    """

    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    figures: tuple[str, ...] = ()
    notes: str = ""


@dataclass(frozen=True)
class Experiment:
    """One table or figure of the paper.

    Attributes
    ----------
    title : str
        One line, for the list of experiments and above the table.
    datasets, methods : tuple of str
        All that it can do, in the order of the table; ``default_methods`` are done unless others are asked for.
    n_seeds, quick_seeds : int
        Runs per entry of the table, and with ``--quick``.
    runs : function of a Plan
        The runs.
    draw : function of (records, plan, folder for figures)
        Tables and figures from those runs of the plan that are recorded; None if there are none.
    """

    title: str
    datasets: tuple[str, ...]
    runs: Callable[[Plan], list[Run]]
    draw: Callable[[Records, Plan, Path], Drawn | None]
    methods: tuple[str, ...] = ("cca-ssg",)
    default_methods: tuple[str, ...] = ("cca-ssg",)
    n_seeds: int = 20
    quick_seeds: int = 3

    def plan(
        self,
        *,
        datasets: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        n_seeds: int | None = None,
        quick: bool = False,
    ) -> Plan:
        """What to do: everything, or what is asked for; ValueError for what the experiment does not know."""
        if n_seeds is not None and n_seeds < 1:
            raise ValueError(f"seeds must be at least 1, got {n_seeds}")
        wanted = self.methods if methods is not None and list(methods) == ["all"] else methods
        return Plan(
            datasets=_choose("dataset", datasets, self.datasets, self.datasets),
            methods=_choose("method", wanted, self.methods, self.default_methods),
            n_seeds=n_seeds or (self.quick_seeds if quick else self.n_seeds),
            quick=quick,
        )

    def everything(self, asked: Plan) -> Plan:
        """What to draw: all that the experiment can show, not just what was asked for last."""
        return Plan(self.datasets, self.methods, max(self.n_seeds, asked.n_seeds))


def settings(dataset: str, **changes: Any) -> dict[str, Any]:
    """The paper's settings of CCA-SSG for a dataset, with every parameter that matters named."""
    return NEUTRAL | PRESETS[dataset] | changes


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
    """All parameters of a method for a dataset but the seed, in JSON's types: the published ones, or what `reduced` says."""
    if method == "cca-ssg":
        return settings(dataset)
    published = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in _parameters(method, dataset).items()
        if name != "random_state"
    }
    return published | reduced.changes(method, dataset)


def count_note(counts: Iterable[int], what: str = "Mean and standard deviation") -> str:
    """How many runs an entry stands for, and what of them it shows."""
    some = [int(count) for count in counts if count]
    if min(some) == max(some):
        return "One run per entry." if some[0] == 1 else f"{what} over {some[0]} runs."
    return f"{what} over {min(some)} to {max(some)} runs."


def verdict(statement: str, holds: Mapping[str, bool | str]) -> str:
    """A sentence on a statement of the paper: on which datasets it is confirmed, on which contradicted, or another word."""
    words: dict[str, list[str]] = {}
    for dataset, held in holds.items():
        word = held if isinstance(held, str) else "confirmed" if held else "contradicted"
        words.setdefault(word, []).append(TITLES[dataset])
    parts = [f"{word} on {_enumerate(names)}" for word, names in words.items()]
    return f"{FINDING}{statement}: {', '.join(parts)}."


def accuracies(records: Iterable[Record], split: int = 0) -> list[float]:
    """Test accuracies in percent, one per record."""
    return [100 * record["result"]["test_accuracy"][split] for record in records]


def _enumerate(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


@functools.cache
def _parameters(method: str, dataset: str) -> dict[str, Any]:
    return make(method, dataset).get_params(deep=False)


def _choose(
    what: str, asked: Sequence[str] | None, known: tuple[str, ...], default: tuple[str, ...]
) -> tuple[str, ...]:
    if asked is None:
        return default
    for name in asked:
        if name not in known:
            raise ValueError(f"this experiment has no {what} {name!r}; it has {', '.join(known)}")
    return tuple(name for name in known if name in asked)
