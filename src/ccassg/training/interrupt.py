"""Ctrl-C during training."""

import signal
import threading
from types import FrameType
from typing import Self


class HeldInterrupt:
    """Hold Ctrl-C back until a step is whole, so that what is saved is a state of the run; a second one is not held.

    Parameters
    ----------
    hold : bool
        False changes nothing: Ctrl-C interrupts at once.
    """

    def __init__(self, *, hold: bool) -> None:
        self.pressed = False
        # Somebody else's handler stays, and only the main thread may set one.
        self._is_ours = (
            hold
            and threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )

    def __enter__(self) -> Self:
        if self._is_ours:
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.pressed and kind is None:  # it came too late for the last step to see
            raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True
