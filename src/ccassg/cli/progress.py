"""Progress: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ccassg.cli.app import console

SECONDS_BETWEEN_LINES = 20.0


@contextmanager
def steps(title: str) -> Iterator[Callable[..., None]]:
    """Give a function of (step, total, text) to call after every step."""
    if console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(title, total=None)
            yield lambda step, total, text="": bar.update(
                task, completed=step + 1, total=total, description=f"{title} {text}"
            )
        return
    last = time.monotonic()

    def line(step: int, total: int, text: str = "") -> None:
        nonlocal last
        if time.monotonic() - last > SECONDS_BETWEEN_LINES or step + 1 == total:
            last = time.monotonic()
            console.print(f"{title} {step + 1}/{total} {text}", markup=False, highlight=False)

    yield line
