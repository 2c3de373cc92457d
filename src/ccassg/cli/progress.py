"""Progress: a bar on a terminal, a plain line now and then elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

from ccassg.cli.app import console, say

SECONDS_BETWEEN_LINES = 20.0


def make_bar(*columns: ProgressColumn) -> Progress:
    """Make a bar that shows on a terminal, by default how many are done and the time left; elsewhere it only counts."""
    columns = columns or (MofNCompleteColumn(), TimeRemainingColumn())
    shown = (TextColumn("{task.description}"), BarColumn(), *columns)
    return Progress(*shown, console=console, transient=True, disable=not console.is_terminal)


@contextmanager
def _said_later() -> Iterator[Callable[[str | None], None]]:
    """Give a function to tell what is being done: a plain line says so if it still is after a while, nothing on a terminal."""
    timer = Timer(0, say)

    def tell(text: str | None) -> None:
        nonlocal timer
        timer.cancel()
        if text is not None and not console.is_terminal:
            timer = Timer(SECONDS_BETWEEN_LINES, say, [text])
            timer.daemon = True
            timer.start()

    try:
        yield tell
    finally:
        timer.cancel()


@contextmanager
def steps(title: str, before: str = "") -> Iterator[Callable[..., None]]:
    """Give a function of (step, total, text) to call after every step, from 0; the first one may be that after a resume.

    ``before`` is what is done until then.
    """
    last = time.monotonic()
    unsaid, is_first = "", True
    with _said_later() as tell, make_bar() as bar:
        task = bar.add_task(before or title, total=None)
        tell(f"{before} ..." if before else None)

        def advance(step: int, total: int, text: str = "") -> None:
            nonlocal last, unsaid, is_first
            if is_first:
                tell(None)
            if is_first and step > 0:
                say(f"{title} continues after step {step}")
            is_first = False
            bar.update(task, completed=step + 1, total=total, description=f"{title} {text}")
            unsaid = f"{title} {step + 1}/{total} {text}"
            if bar.disable and time.monotonic() - last > SECONDS_BETWEEN_LINES:
                last = time.monotonic()
                say(unsaid)
                unsaid = ""

        yield advance
    if bar.disable and unsaid:  # the last step that was made, of however many
        say(unsaid)


@contextmanager
def working(title: str) -> Iterator[Callable[[str], None]]:
    """Give a function to tell what is being worked on: shown beside a moving sign on a terminal, a plain line where it takes long."""
    with _said_later() as tell_later, console.status(title) as status:

        def tell(part: str) -> None:
            status.update(f"{title}: {part} ...")
            tell_later(f"{title}: {part} ...")

        yield tell
