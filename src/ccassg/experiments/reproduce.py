"""Redo an experiment: do the runs that are missing, draw what is recorded, sum it up."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ccassg.experiments import documents, runner
from ccassg.experiments.documents import Written
from ccassg.experiments.experiment import Experiment, Plan
from ccassg.experiments.records import Records
from ccassg.experiments.summary import summarize


@dataclass(frozen=True)
class Reproduced:
    """What became of an experiment: files, None if there is nothing to draw yet; the summary; runs that failed, in words."""

    written: Written | None
    summary: dict[str, Any]
    failure: str | None


def reproduce(
    name: str,
    experiment: Experiment,
    records: Records,
    plan: Plan,
    *,
    draw_only: bool = False,
    jobs: int = 1,
    data_dir: Path | None = None,
    document: Path | None = None,
    on_run: Callable[[str], None] | None = None,
) -> Reproduced:
    """Redo one experiment; for the arguments see `carry_out` and `documents.write`."""
    failure = None
    runs = experiment.runs(plan)
    if not draw_only:
        try:
            runner.carry_out(runs, records, tasks=experiment.tasks, jobs=jobs, data_dir=data_dir, on_run=on_run)
        except runner.FailedRunsError as error:
            failure = str(error)
    written = documents.write(name, experiment, records, plan, document=document)
    with documents.readable(name, records):
        summary = summarize(name, records.of(runs))
    return Reproduced(written, summary, failure)
