"""One run in this process, and the record of it."""

import importlib
import time
from collections.abc import Iterator
from typing import Any

import torch

from ccassg import provenance
from ccassg.datasets import DATASETS, load_dataset
from ccassg.experiments.records import Record, Run


def execute(
    run: Run, *, tasks: str = "ccassg.experiments.tasks", data_dir: str | None = None, threads: int = 1
) -> Record:
    """Do a run and say what came out, how long it took and where it was done.

    Parameters
    ----------
    run : dict
        See `ccassg.experiments.records`.
    tasks : str
        Module with a dict ``TASKS`` from a run's ``task`` to the function (run, dataset) that does it.
    data_dir : str, optional
        Folder with the dataset files, as for `load_dataset`.
    threads : int
        Of torch.
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
