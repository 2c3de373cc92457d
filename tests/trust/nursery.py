"""Children that start at once: a process that has imported everything and forks one for each command.

Starting the program takes seconds, most of them for importing torch; a harness that kills it fifty times would spend its
time there, and its signals would mostly arrive during imports.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ended:
    """How a child ended; a negative code is the signal that ended it."""

    code: int
    out: str
    err: str

    @property
    def said(self):
        """Its only line of errors, for one clear sentence must be all of them."""
        lines = [line for line in self.err.splitlines() if line.strip()]
        assert len(lines) == 1, self.err
        return lines[0]


class Nursery:
    """Starts children one after the other, in ``folder``."""

    def __init__(self, folder: Path, *, through=(), env=os.environ, umask=-1) -> None:
        """``through`` is a command that starts another, ``env`` the environment of all children."""
        self.folder = folder
        environment = env | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "COLUMNS": "200"}
        command = [*through, sys.executable, __file__]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment, umask=umask)
        self.pid = 0

    def start(self, *arguments, env=None, cwd=None) -> int:
        """Start `ccassg ARGUMENTS`; the child's process id."""
        return self._order({"argv": ["ccassg", *map(str, arguments)], "env": env or {}, "cwd": str(cwd or self.folder)})

    def start_call(self, name, *arguments) -> int:
        """Start ``module:function`` with arguments that JSON can hold; what it returns is printed as JSON."""
        return self._order({"call": name, "arguments": arguments, "env": {}})

    def wait(self) -> Ended:
        """Wait for the child to end."""
        code = int(self.process.stdout.readline())
        self.pid = 0
        out, err = ((self.folder / name).read_text(errors="replace") for name in ("stdout", "stderr"))
        return Ended(code, out, err)

    def signal(self, number=signal.SIGKILL) -> None:
        """Send the child a signal; nothing happens if it has just ended."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def run(self, *arguments, env=None, cwd=None) -> Ended:
        """`ccassg ARGUMENTS`, to its end."""
        self.start(*arguments, env=env, cwd=cwd)
        return self.wait()

    def call(self, name, *arguments):
        """What ``module:function`` returns in a process of its own."""
        self.start_call(name, *arguments)
        ended = self.wait()
        assert ended.code == 0, ended.err
        return json.loads(ended.out.splitlines()[-1])

    def close(self) -> None:
        """End the nursery and what is left of its child."""
        if self.pid:
            self.signal()
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def _order(self, order) -> int:
        self.process.stdin.write(json.dumps(order | {"folder": str(self.folder)}) + "\n")
        self.process.stdin.flush()
        self.pid = int(self.process.stdout.readline())
        return self.pid


def serve() -> None:
    """Read orders, fork for each, answer with the child's id and then with how it ended."""
    for name in (
        "ccassg.cli",
        "ccassg.run",
        "ccassg.systems",
        "torch_geometric.nn",
        "ccassg.experiments",
        "sklearn.decomposition",
        "chores",
    ):
        importlib.import_module(name)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _live(json.loads(line))
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _live(order) -> None:
    """The child's whole life."""
    code = 1
    try:
        folder = Path(order["folder"])
        os.chdir(order.get("cwd", folder))
        for number, path in ((0, os.devnull), (1, folder / "stdout"), (2, folder / "stderr")):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | (os.O_TRUNC if number else 0), 0o666), number)
        os.environ.update(order["env"])
        # A shell that started all this in the background has switched Ctrl-C off.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if "argv" in order:
            from ccassg.cli import main

            sys.argv = order["argv"]
            main()
        else:
            module, function = order["call"].split(":")
            print(json.dumps(getattr(importlib.import_module(module), function)(*order["arguments"])))
            code = 0
    except SystemExit as end:
        code = end.code or 0
        print("null")  # a command returns nothing
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve()
