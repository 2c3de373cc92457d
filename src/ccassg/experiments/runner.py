"""Do what is not done yet: every run in a process of its own, finished ones never again."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import torch

from ccassg.datasets.cards import FILES
from ccassg.datasets.load import find_folder, load_dataset
from ccassg.experiments.records import Record, Records, Run, key_of
from ccassg.worker import Worker, WorkerError


class FailedRunsError(RuntimeError):
    """Some runs failed; the others are recorded."""


def missing(runs: Iterable[Run], records: Records) -> list[Run]:
    """The runs that have no record yet, each once."""
    return list({key_of(run): run for run in runs if records.get(run) is None}.values())


def carry_out(
    runs: Iterable[Run],
    records: Records,
    *,
    tasks: str = "ccassg.experiments.tasks",
    jobs: int = 1,
    data_dir: str | os.PathLike[str] | None = None,
    on_run: Callable[[str], None] | None = None,
) -> int:
    """Do the runs that are not recorded yet, and record each as soon as it ends.

    Interrupted in whatever way, the next call continues: what was finished is on disk, the rest is done again.

    Parameters
    ----------
    runs : iterable of dict
    records : Records
        Where to look for finished runs and to put new ones.
    tasks : str
        Module that knows the runs' tasks, as for `execute`.
    jobs : int
        Runs at a time; the processors are shared out evenly among them.
    data_dir : path, optional
        Folder with the dataset files, as for `load_dataset`.
    on_run : function of str, optional
        Called after every run with a few words on it.

    Returns
    -------
    int
        Number of runs that were done now.

    Raises
    ------
    FailedRunsError
        After all other runs, if some failed.
    FileNotFoundError
        Before any run, if the files of a dataset are not there.
    """
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {jobs}")
    todo = missing(runs, records)
    _require_datasets({run["dataset"] for run in todo}, data_dir)
    threads = max(torch.get_num_threads() // jobs, 1)  # as OMP_NUM_THREADS and the processors given to us have it
    failures: list[str] = []
    crew = _Crew({"tasks": tasks, "data_dir": None if data_dir is None else str(data_dir), "threads": threads})
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(crew.do, run): run for run in todo}
        try:
            for future in as_completed(futures):
                what = describe(futures[future])
                try:
                    record = future.result()
                    records.add(record)
                    outcome = f"{what}: {record['seconds']['total']:.1f} s"
                except WorkerError as error:
                    failures.append(f"{what}: {error}")
                    outcome = f"{what}: failed: {error}"
                if on_run is not None:
                    on_run(outcome)
        finally:
            for future in futures:
                future.cancel()
            crew.stop()
    if failures:
        raise FailedRunsError(f"{len(failures)} of {len(todo)} runs failed:\n" + "\n".join(failures))
    return len(todo)


def describe(run: Run) -> str:
    """A run in a few words, for people."""
    return f"{run.get('method', run['task'])} on {run['dataset']}, seed {run['seed']}"


class _Crew:
    """Starts a worker per run, and ends those under way when told to."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.at_work: set[Worker] = set()
        self.stopped = False

    def do(self, run: Run) -> Record:
        """One run, in a process of its own."""
        if self.stopped:
            raise WorkerError("not started")
        with Worker("ccassg.experiments.execute", threads=self.given["threads"]) as worker:
            self.at_work.add(worker)
            try:
                return worker.ask(self.given | {"run": run})
            finally:
                self.at_work.discard(worker)

    def stop(self) -> None:
        """End what is under way."""
        self.stopped = True
        for worker in list(self.at_work):
            worker.stop()


def _require_datasets(names: set[str], data_dir: str | os.PathLike[str] | None) -> None:
    for name in sorted(names):
        # Loading says best what is missing and how to get it; a name without files is embedded or made up.
        if FILES.get(name) and find_folder(name, data_dir) is None:
            load_dataset(name, data_dir=data_dir)
