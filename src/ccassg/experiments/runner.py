"""Do what is not done yet: every run in a process of its own, finished ones never again."""

import importlib
import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import torch

from ccassg import provenance
from ccassg.datasets import DATASETS
from ccassg.datasets.cards import FILES
from ccassg.datasets.load import find_folder, load_dataset
from ccassg.experiments.records import Record, Records, Run, key_of
from ccassg.worker import Worker, WorkerError


class FailedRunsError(RuntimeError):
    """Some runs failed; the others are recorded."""


def missing(runs: Iterable[Run], records: Records) -> list[Run]:
    """Return the runs that have no record yet, each once."""
    return list({key_of(run): run for run in runs if records.get(run) is None}.values())


def carry_out(
    runs: Iterable[Run],
    records: Records,
    *,
    tasks: str = "ccassg.experiments.tasks",
    jobs: int = 1,
    data_dir: str | os.PathLike[str] | None = None,
    on_run: Callable[[str], None] | None = None,
    fits: Callable[[Run], bool] = lambda run: True,
) -> int:
    """Do the runs that are not recorded yet, and record each as soon as it ends.

    Interrupted in whatever way, the next call continues: what was finished is on disk, the rest is done again. ``jobs`` runs
    at a time share the processors evenly; after every run ``on_run`` gets a few words on it. ``fits`` is asked before every run:
    what does not fit is left out. Returns the number of runs that were done now. If some fail, FailedRunsError comes after all
    others; if the files of a dataset are not there, FileNotFoundError comes before any.
    """
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {jobs}")
    todo = missing(runs, records)
    require_files(todo, data_dir)
    threads = max(torch.get_num_threads() // jobs, 1)  # as OMP_NUM_THREADS and the processors given to us have it
    crew = _Crew({"tasks": tasks, "data_dir": None if data_dir is None else str(data_dir), "threads": threads})
    waiting = iter(todo)
    at_work: dict[Future[Record], Run] = {}
    failures: list[str] = []
    n_done = 0
    with ThreadPoolExecutor(jobs) as pool:
        try:
            while True:
                at_work |= {
                    pool.submit(crew.do, run): run
                    for run in itertools.islice(filter(fits, waiting), jobs - len(at_work))
                }
                if not at_work:
                    break
                for future in wait(at_work, return_when=FIRST_COMPLETED).done:
                    run = at_work.pop(future)
                    what = f"{run.get('method', run['task'])} on {run['dataset']}, seed {run['seed']}"
                    try:
                        record = future.result()
                        records.add(record)
                        n_done += 1
                        outcome = f"{what}: {record['seconds']['total']:.1f} s"
                    except WorkerError as error:
                        failures.append(f"{what}: {error}")
                        outcome = f"{what}: failed: {error}"
                    if on_run is not None:
                        on_run(outcome)
        finally:
            crew.stop()
    if failures:
        raise FailedRunsError(f"{len(failures)} of {len(todo)} runs failed:\n" + "\n".join(failures))
    return n_done


def require_files(runs: Iterable[Run], data_dir: str | os.PathLike[str] | None = None) -> None:
    """Raise FileNotFoundError if the files of a dataset are not there."""
    for name in sorted({run["dataset"] for run in runs}):
        # Loading says best what is missing and how to get it; a name without files is embedded or made up.
        if FILES.get(name) and find_folder(name, data_dir) is None:
            load_dataset(name, data_dir=data_dir)


def execute(
    run: Run, *, tasks: str = "ccassg.experiments.tasks", data_dir: str | None = None, threads: int = 1
) -> Record:
    """Do a run in this process and say what came out, how long it took and where it was done.

    ``tasks`` is a module with a dict ``TASKS`` from a run's ``task`` to the function (run, dataset) that does it.
    """
    # Two-dimensional toys are too small to share out: threads would only wait for each other.
    torch.set_num_threads(1 if run["dataset"] == "toy" else threads)
    commit = provenance.commit()  # now: the checkout may move on while this runs
    known = importlib.import_module(tasks).TASKS
    if run["task"] not in known:
        raise ValueError(f"there is no task {run['task']!r}; update ccassg, or remove the run")
    start = time.perf_counter()
    data = load_dataset(run["dataset"], data_dir=data_dir) if run["dataset"] in DATASETS else None
    result: dict[str, Any] = known[run["task"]](run, data)
    seconds = result.pop("seconds", {}) | {"total": time.perf_counter() - start}
    return {
        "run": run,
        "result": result,
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "peak_memory_bytes": provenance.peak_memory(),
        "commit": commit,
        "versions": provenance.versions(),
        "machine": provenance.machine(threads),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def serve(orders: Iterator[dict[str, Any]]) -> Iterator[Record]:
    """Answer orders, each the arguments of `execute`, with records; see `ccassg.worker`."""
    for order in orders:
        yield execute(**order)


class _Crew:
    """Starts a worker per run, and ends those under way when told to."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.at_work: set[Worker] = set()
        self.stopped = False

    def do(self, run: Run) -> Record:
        """Do one run, in a process of its own."""
        if self.stopped:
            raise WorkerError("not started")
        with Worker("ccassg.experiments.runner", threads=self.given["threads"]) as worker:
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
