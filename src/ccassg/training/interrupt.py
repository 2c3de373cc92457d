"""Ctrl-C during training."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def held_interrupt(*, hold: bool) -> Iterator[list[int]]:
    """Hold Ctrl-C back until a step is whole, so that what is saved is a state of the run; a second one is not held.

    The list is no longer empty once it was pressed. Without ``hold`` nothing changes: Ctrl-C interrupts at once.
    """
    pressed: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(number)

    # Somebody else's handler stays, and only the main thread may set one.
    is_main = threading.current_thread() is threading.main_thread()
    if not (hold and is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler):
        yield pressed
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if pressed:  # it came too late for the last step to see
        raise KeyboardInterrupt
