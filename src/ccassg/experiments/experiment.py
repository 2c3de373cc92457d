"""What an experiment is: it names runs, cell by cell, and draws a table or figure from their records."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ccassg.experiments.records import Record, Records, Run
from ccassg.experiments.runs import OURS

# What is drawn in one place of a table or figure, such as ("cca-ssg", "cora"), with its runs, one per seed; and with the records
# of those runs that are finished, cells without any left out.
Cells: TypeAlias = dict[tuple[Any, ...], list[Run]]
Found: TypeAlias = dict[tuple[Any, ...], list[Record]]


@dataclass(frozen=True)
class Plan:
    """How much of an experiment to do."""

    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    n_seeds: int
    quick: bool = False
    # By method or dataset, how many seeds it takes where that is fewer.
    fewer: Mapping[str, int] = field(default_factory=dict)

    def seeds(self, name: str) -> range:
        """Return the seeds of a method, or of a dataset."""
        return range(min(self.n_seeds, self.fewer.get(name, self.n_seeds)))


class Finding(NamedTuple):
    """A statement of the paper, and what became of it."""

    claim: str
    found: str


@dataclass(frozen=True)
class Drawn:
    """What an experiment made of its records: findings, rows by the name of the table, saved figures, notes to stand below."""

    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    figures: tuple[str, ...] = ()
    notes: str = ""
    findings: Sequence[Finding] = ()
    # Long tables, which a page shows when they are asked for.
    folded: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """One table or figure: all that it can do, in the order of the table, and how it is drawn."""

    title: str
    datasets: tuple[str, ...]
    # The runs of every cell.
    cells: Callable[[Plan], Cells]
    # Tables and figures from the records of the cells, figures into the folder; None if they are too few to show anything.
    draw: Callable[[Found, Plan, Path], Drawn | None]
    methods: tuple[str, ...] = (OURS,)
    # Those that are done unless others are asked for; by default all.
    default_methods: tuple[str, ...] = ()
    # Runs per entry of the table; by method or dataset, where fewer will do.
    n_seeds: int = 20
    fewer: Mapping[str, int] = field(default_factory=dict)
    # What ``--quick`` does unless more is asked for; by default all datasets and methods.
    quick_datasets: tuple[str, ...] = ()
    quick_methods: tuple[str, ...] = ()
    quick_seeds: int = 1
    # Whether its cells are filled before those of other experiments.
    comes_first: bool = False
    # Module that knows the tasks of the runs, as for `ccassg.experiments.runner.execute`.
    tasks: str = "ccassg.experiments.tasks"
    # Further cells, of runs that an earlier version did: drawn where they are recorded, and never done.
    former: Callable[[Plan], Cells] = lambda plan: {}

    def plan(
        self,
        *,
        datasets: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        n_seeds: int | None = None,
        quick: bool = False,
    ) -> Plan:
        """Return what to do: everything, or what is asked for; ValueError for what the experiment does not know."""
        if n_seeds is not None and n_seeds < 1:
            raise ValueError(f"seeds must be at least 1, got {n_seeds}")
        wanted = self.methods if methods is not None and list(methods) == ["all"] else methods
        few_datasets, few_methods = (self.quick_datasets, self.quick_methods) if quick else ((), self.default_methods)
        return Plan(
            datasets=_choose("dataset", datasets, self.datasets, few_datasets or self.datasets),
            methods=_choose("method", wanted, self.methods, few_methods or self.methods),
            n_seeds=n_seeds or min(self.n_seeds, self.quick_seeds if quick else self.n_seeds),
            quick=quick,
            fewer={} if n_seeds else self.fewer,
        )

    def everything(self, asked: Plan) -> Plan:
        """Return what to draw: all that the experiment can show, not just what was asked for last."""
        return Plan(self.datasets, self.methods, max(self.n_seeds, asked.n_seeds))

    def runs(self, plan: Plan) -> list[Run]:
        """Return all runs of a plan."""
        return [run for runs in self.cells(plan).values() for run in runs]

    def found(self, records: Records, plan: Plan) -> Found:
        """Return what is recorded of a plan's cells."""
        cells = self.cells(plan) | self.former(plan)
        return {cell: done for cell, runs in cells.items() if (done := records.of(runs))}


def by_method(run: Callable[[str, str, int], Run]) -> Callable[[Plan], Cells]:
    """Cells (method, dataset) of all methods and datasets of a plan, from a function of (method, dataset, seed)."""
    return lambda plan: {
        (method, dataset): [run(method, dataset, seed) for seed in plan.seeds(method)]
        for dataset in plan.datasets
        for method in plan.methods
    }


def _choose(
    what: str, asked: Sequence[str] | None, known: tuple[str, ...], default: tuple[str, ...]
) -> tuple[str, ...]:
    if asked is None:
        return default
    for name in asked:
        if name not in known:
            raise ValueError(f"this experiment has no {what} {name!r}; it has {', '.join(known)}")
    return tuple(name for name in known if name in asked)
