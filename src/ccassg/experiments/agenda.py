"""What is missing of some experiments, in the order of its worth, and done within a budget of hours."""

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ccassg import optional
from ccassg.experiments import runner
from ccassg.experiments.estimates import Estimates
from ccassg.experiments.experiment import Experiment, Plan
from ccassg.experiments.records import Records, Run, key_of
from ccassg.systems import METHODS, get_class

# With so many runs a cell of the tables that come first is whole.
ENOUGH = 3

Planned = Iterable[tuple[Experiment, Plan]]


class Todo(NamedTuple):
    """A missing run; these sort by what comes first, its ``rank``, and the cheaper before the dearer."""

    rank: int
    alone: bool
    tasks: str
    seconds: float
    run: Run


def missing(planned: Planned, records: Records) -> list[Todo]:
    """Return the runs that have no record, each once, those of the most worth first.

    First comes what fills an empty cell of the accuracy tables, then what makes their cells whole, then what fills the cells of
    other experiments, then the rest.
    """
    estimates = Estimates(records)
    found: dict[str, Todo] = {}
    for experiment, plan in planned:
        for runs in experiment.cells(plan).values():
            todo = runner.missing(runs, records)
            for place, run in enumerate(todo, len(runs) - len(todo)):
                one = Todo(_rank(experiment, place), "alone" in run, experiment.tasks, estimates.seconds(run), run)
                found[key_of(run)] = min(found.get(key_of(run), one), one, key=lambda one: one.rank)
    return sorted(found.values(), key=lambda one: one[:-1])


def hours(todo: Iterable[Todo]) -> float:
    """Estimate how long runs take, one after the other."""
    return sum(one.seconds for one in todo) / 3600


def carry_out(
    todo: Sequence[Todo],
    records: Records,
    *,
    budget: float | None = None,
    jobs: int = 1,
    data_dir: Path | None = None,
    on_run: Callable[[str], None] | None = None,
) -> list[str]:
    """Do missing runs in their order, and return those that failed, in words; the others are recorded.

    ``budget`` are hours: none is begun that is not expected to end within them. For the other arguments see `runner.carry_out`.
    """
    for method in dict.fromkeys(one.run["method"] for one in todo if one.run.get("method") in METHODS):
        optional.require(get_class(method).package, method)
    runner.require_files((one.run for one in todo), data_dir)
    end = None if budget is None else time.monotonic() + 3600 * budget

    def fits(run: Run) -> bool:
        # Asked anew before every run: what the first of its kind took is known by then.
        return end is None or time.monotonic() + Estimates(records).seconds(run) <= end

    failures = []
    for (alone, tasks), group in itertools.groupby(todo, key=lambda one: (one.alone, one.tasks)):
        try:
            runner.carry_out(
                [one.run for one in group],
                records,
                tasks=tasks,
                jobs=1 if alone else jobs,
                data_dir=data_dir,
                on_run=on_run,
                fits=fits,
            )
        except runner.FailedRunsError as error:
            failures.append(str(error))
    return failures


def _rank(experiment: Experiment, place: int) -> int:
    """Return 0 to 3 for the run that comes at this place of its cell, from 0."""
    if experiment.comes_first and place < ENOUGH:
        return min(place, 1)
    return 3 if place else 2
