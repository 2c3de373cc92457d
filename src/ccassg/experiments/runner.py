"""Do what is not done yet: every run in a process of its own, finished ones never again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

import torch

from ccassg.datasets.load import find_folder, load_dataset
from ccassg.datasets.sources import FILES
from ccassg.experiments.records import Record, Records, Run, key_of


@dataclass(frozen=True)
class Progress:
    """How far a series of runs is.

    Attributes
    ----------
    run : dict
        The run that just ended.
    seconds : float
        What it took.
    error : str or None
        Why it failed, if it did.
    n_done, n_runs : int
        Runs that ended, of those that had to be done.
    seconds_left : float
        An estimate from what runs of the same kind took, now or on an earlier day.
    """

    run: Run
    seconds: float
    error: str | None
    n_done: int
    n_runs: int
    seconds_left: float


class FailedRunsError(RuntimeError):
    """Some runs failed; the others are recorded."""


def missing(runs: Iterable[Run], records: Records) -> list[Run]:
    """The runs that have no record yet, each once."""
    return list({key_of(run): run for run in runs if records.get(run) is None}.values())


def carry_out(
    runs: Iterable[Run],
    records: Records,
    *,
    jobs: int = 1,
    data_dir: str | os.PathLike[str] | None = None,
    on_run: Callable[[Progress], None] | None = None,
) -> int:
    """Do the runs that are not recorded yet, and record each as soon as it ends.

    Interrupted in whatever way, the next call continues: what was finished is on disk, the rest is done again.

    Parameters
    ----------
    runs : iterable of dict
    records : Records
        Where to look for finished runs and to put new ones.
    jobs : int
        Runs at a time; the processors are shared out evenly among them.
    data_dir : path, optional
        Folder with the dataset files, as for `load_dataset`.
    on_run : function of a Progress, optional
        Called after every run.

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
    clock = _Clock(records, todo, jobs)
    failures: list[str] = []
    crew = _Crew(None if data_dir is None else str(data_dir), threads)
    with ThreadPoolExecutor(jobs) as pool:
        futures: dict[Future[dict[str, Any]], Run] = {pool.submit(crew.do, run): run for run in todo}
        try:
            for future in as_completed(futures):
                run, reply = futures[future], future.result()
                if record := reply.get("record"):
                    records.add(record)
                else:
                    failures.append(f"{describe(run)}: {reply['error']}")
                left = clock.tick(run, record)
                if on_run is not None:
                    seconds = record["seconds"]["total"] if record else 0.0
                    on_run(Progress(run, seconds, reply.get("error"), clock.n_done, len(todo), left))
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
    """Starts a worker process per run, and ends those under way when told to."""

    def __init__(self, data_dir: str | None, threads: int) -> None:
        self.data_dir, self.threads = data_dir, threads
        self.at_work: set[subprocess.Popen[str]] = set()
        self.stopped = False

    def do(self, run: Run) -> dict[str, Any]:
        """One run; {"record": ...} or {"error": ...}."""
        if self.stopped:
            return {"error": "not started"}
        environment = os.environ | {"OMP_NUM_THREADS": str(self.threads), "MKL_NUM_THREADS": str(self.threads)}
        command = [sys.executable, "-m", "ccassg.experiments.worker"]
        pipe = subprocess.PIPE
        with (
            tempfile.TemporaryFile("w+", errors="replace") as errors,
            subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors, text=True, env=environment) as worker,
        ):
            self.at_work.add(worker)
            answer = _ask(worker, {"run": run, "data_dir": self.data_dir, "threads": self.threads})
            self.at_work.discard(worker)
            if answer:
                reply: dict[str, Any] = json.loads(answer)
                return reply
            errors.seek(0)
            return {"error": _why(worker.wait(), errors.read())}

    def stop(self) -> None:
        """End what is under way."""
        self.stopped = True
        for worker in list(self.at_work):
            worker.kill()


def _ask(worker: subprocess.Popen[str], order: dict[str, Any]) -> str:
    """Send the order and wait for the answer, empty if the worker died."""
    if worker.stdin is None or worker.stdout is None:
        raise ValueError("the worker must be started with pipes")
    try:
        worker.stdin.write(json.dumps(order) + "\n")
        worker.stdin.flush()
        # The worker's input stays open: its end would tell the worker that nobody waits for it.
        return worker.stdout.readline()
    except BrokenPipeError:
        return ""


class _Clock:
    """Estimates the time left from runs of the same kind, those of earlier days included."""

    def __init__(self, records: Records, todo: list[Run], jobs: int) -> None:
        self.jobs = jobs
        self.n_done = 0
        self.took: dict[tuple[str, ...], list[float]] = {}
        self.left = [_kind(run) for run in todo]
        for record in records:
            self._learn(record)

    def tick(self, run: Run, record: Record | None) -> float:
        """Note the end of a run; seconds until all are done."""
        self.n_done += 1
        self.left.remove(_kind(run))
        if record is not None:
            self._learn(record)
        everything = [seconds for values in self.took.values() for seconds in values]
        default = sum(everything) / max(len(everything), 1)
        means = {kind: sum(values) / len(values) for kind, values in self.took.items()}
        return sum(means.get(kind, default) for kind in self.left) / self.jobs

    def _learn(self, record: Record) -> None:
        # A second for the start of the process, which the record does not count.
        self.took.setdefault(_kind(record["run"]), []).append(record["seconds"]["total"] + 1.0)


def _kind(run: Run) -> tuple[str, ...]:
    return run["task"], run.get("method", ""), run["dataset"]


def _why(code: int, errors: str) -> str:
    if code == -9:
        return "the process was killed, most likely for want of memory; try fewer jobs"
    last = (errors.strip().splitlines() or ["no message"])[-1]
    return f"the process ended with code {code}: {last}"


def _require_datasets(names: set[str], data_dir: str | os.PathLike[str] | None) -> None:
    for name in sorted(names):
        # Loading says best what is missing and how to get it; a name without files is embedded or made up.
        if FILES.get(name) and find_folder(name, data_dir) is None:
            load_dataset(name, data_dir=data_dir)
