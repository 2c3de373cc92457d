"""Work in a process of its own: one line of JSON in, one line out, and an end when the caller ends.

    python -m ccassg.worker MODULE

imports MODULE, hands the orders to its function ``serve``, and sends back every answer that this yields. A process of its
own makes the peak memory of the work its own, and work that dies takes nothing with it.
"""

import contextlib
import importlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import traceback
from typing import IO, Any, Self


class WorkerError(RuntimeError):
    """Why a worker gave no answer."""


class Worker:
    """The caller's side: a process that answers one order after the other.

    ``serve`` of the module is a generator function from an iterator of orders to answers, one per order, both dicts in JSON's
    types. ``threads`` are those of the numerical libraries, by default as in this process; ``environment`` goes before this one's.
    """

    def __init__(self, module: str, *, threads: int | None = None, environment: dict[str, str] | None = None) -> None:
        limits = {} if threads is None else {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
        command = [sys.executable, "-m", "ccassg.worker", module]
        pipe = subprocess.PIPE
        self._errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - closed by `__exit__`
        self._process = subprocess.Popen(
            command,
            stdin=pipe,
            stdout=pipe,
            stderr=self._errors,
            text=True,
            env=os.environ | limits | (environment or {}),
        )

    def ask(self, order: dict[str, Any]) -> dict[str, Any]:
        """Send an order and wait for its answer; WorkerError if the work failed or the process died."""
        to, back = self._process.stdin, self._process.stdout
        assert to is not None
        assert back is not None
        line = ""  # stays empty if the process has ended
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(order), file=to, flush=True)
            # Its input stays open: the end of it would tell the worker that nobody waits.
            line = back.readline()
        reply = json.loads(line or "{}")
        if "answer" in reply:
            return dict(reply["answer"])
        if "error" in reply:
            raise WorkerError(reply["error"])
        code = self._process.wait()
        self._errors.seek(0)
        raise WorkerError(why(code, self._errors.read()))

    def stop(self) -> None:
        """End the process, whatever it does; whoever waits for its answer gets a WorkerError."""
        self._process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        # Leaving it closes the pipes and waits; what a dead process did not read is of no use.
        with contextlib.suppress(BrokenPipeError), self._errors, self._process:
            pass


def why(code: int, errors: str) -> str:
    """Return a sentence on a process that ended without an answer, from its exit code and what it wrote to standard error."""
    if code == -9:
        return "the process was killed, most likely for want of memory; try fewer jobs"
    last = (errors.strip().splitlines() or ["no message"])[-1]
    return f"the process ended with code {code}: {last}"


def main(module: str) -> None:
    """Be the worker: answer orders until the caller ends or the work fails."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # libraries may print; replies must stay readable
    orders: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    try:
        for answer in importlib.import_module(module).serve(iter(orders.get, None)):
            _send(replies, {"answer": answer})
    except Exception as error:
        _send(replies, {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()})


def _listen(orders: queue.SimpleQueue[dict[str, Any]]) -> None:
    """Pass orders on. Standard input ends when the caller ends, however it ended: nobody would take the answer."""
    # Without a buffer: this thread would still hold its lock when the process ends.
    with open(0, "rb", buffering=0, closefd=False) as lines:
        for line in lines:
            orders.put(json.loads(line))
    os._exit(1)


def _send(replies: IO[str], reply: dict[str, Any]) -> None:
    replies.write(json.dumps(reply, allow_nan=False) + "\n")
    replies.flush()


if __name__ == "__main__":
    main(sys.argv[1])
