"""One run in one process: `python -m ccassg.experiments.worker` reads a run from standard input and answers with JSON.

A process per run makes the peak memory of a run its own, and a run that dies takes nothing with it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from typing import Any

from ccassg import provenance
from ccassg.experiments import tasks
from ccassg.experiments.records import Record, Run
from ccassg.provenance import versions


def execute(run: Run, *, data_dir: str | None = None, threads: int = 1) -> Record:
    """Do a run in this process and say what came out, how long it took and where it was done.

    Parameters
    ----------
    run : dict
        See `ccassg.experiments.records`.
    data_dir : str, optional
        Folder with the dataset files, as for `load_dataset`.
    threads : int
        Of torch.
    """
    import torch

    # Two-dimensional toys are too small to share out: threads would only wait for each other.
    torch.set_num_threads(1 if run["dataset"] == "toy" else threads)
    commit = provenance.commit()  # now: the checkout may move on while this runs
    start = time.perf_counter()
    result, seconds = tasks.perform(run, data_dir)
    return {
        "run": run,
        "result": result,
        "seconds": {name: round(value, 3) for name, value in seconds.items()}
        | {"total": round(time.perf_counter() - start, 3)},
        "peak_memory_bytes": provenance.peak_memory(),
        "commit": commit,
        "versions": versions(),
        "machine": provenance.machine(threads),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def main() -> None:
    """Read {"run", "data_dir", "threads"} in one line; write {"record"} or {"error"}; stop if the caller goes away."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # libraries may print; the answer must stay readable
    order: dict[str, Any] = json.loads(sys.stdin.readline())
    threading.Thread(target=_stop_with_caller, daemon=True).start()
    try:
        reply = {"record": execute(order["run"], data_dir=order["data_dir"], threads=order["threads"])}
        text = json.dumps(reply, allow_nan=False)
    except Exception as error:
        text = json.dumps({"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()})
    answer.write(text + "\n")
    answer.flush()


def _stop_with_caller() -> None:
    """Standard input ends when the caller ends, however it ended: nobody would take the answer."""
    while os.read(0, 1):  # not sys.stdin, whose lock this thread would still hold when the process ends
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
