"""How PyTorch's threads wait for each other: awake for a moment, then asleep.

At the end of every parallel region the threads of OpenMP spin for many milliseconds before they sleep. On a machine that is not
idle they take, all that time, the core that the thread they wait for needs: one process more, and a step takes ten times as long.
To sleep at once costs an idle machine a wake-up at every region. So they spin for about as long as a wake-up takes.
"""

import os
import sys
import warnings

# GNU's OpenMP takes as many where it knows of more threads than processors. About 50 microseconds: four of five pauses between the
# parallel regions of a step are shorter.
SPINS = "1000"
# Either of them says that the user has chosen.
VARIABLES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
_is_late = False


def set_policy() -> None:
    """Choose it for PyTorch, unless the environment has, and for every process that this one starts; OpenMP reads it once."""
    global _is_late
    if not any(name in os.environ for name in VARIABLES):
        _is_late = "torch" in sys.modules
        os.environ["GOMP_SPINCOUNT"] = SPINS


def warn_if_late() -> None:
    """Say once what to do where PyTorch was loaded before us, with several threads, and the machine is busy."""
    global _is_late
    if (
        _is_late
        and hasattr(os, "getloadavg")
        and sys.modules["torch"].get_num_threads() > 1
        and os.getloadavg()[0] > 0.5
    ):
        _is_late = False
        warnings.warn(
            "the machine is busy, and PyTorch's threads wait for each other by spinning, which makes them many times slower: "
            f"import ccassg before torch, or set GOMP_SPINCOUNT={SPINS} before Python starts",
            stacklevel=2,
        )
