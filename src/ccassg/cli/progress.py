"""Progress: a bar on a terminal, a plain line now and then elsewhere; TensorBoard's log where it is asked for."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

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


@contextmanager
def tensorboard_log(folder: Path | None) -> Iterator[Callable[[int, dict[str, float]], None]]:
    """Give a function of (step, losses) that writes the loss and its parts for TensorBoard; without a folder it does nothing."""
    if folder is None:
        yield lambda step, losses: None
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ImportError("TensorBoard is not installed; install it with: pip install 'ccassg[log]'") from None
    with SummaryWriter(str(folder)) as writer:

        def log(step: int, losses: dict[str, float]) -> None:
            for name, value in losses.items():
                writer.add_scalar(name, value, step)

        yield log
