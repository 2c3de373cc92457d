"""When to stop training, told by the loss alone: too many steps whiten noise, and no label says when.

At first the loss falls steeply, as directions that both views share are found; then slowly, as what is left is decorrelated.
"""

from collections.abc import Sequence

# The last steps that are looked at, and the part of the whole fall that they must still bring.
WINDOW, LEAST = 10, 0.05


def is_flat(loss: Sequence[float]) -> bool:
    """Tell whether the last 10 steps brought less than a twentieth of the fall of the loss since the start.

    Parameters
    ----------
    loss : sequence of float
        Of every step so far. Fewer than 20 are never flat.
    """
    if len(loss) < 2 * WINDOW:
        return False
    # Each end is a mean, so that the noise of the views does not decide.
    half = WINDOW // 2
    start, before, now = (sum(loss[i : i + half]) / half for i in (0, len(loss) - WINDOW, len(loss) - half))
    return before - now < LEAST * (start - before)


def stop_step(loss: Sequence[float]) -> int:
    """Return the number of steps after which a whole course of training would have been stopped."""
    return next((n for n in range(1, len(loss) + 1) if is_flat(loss[:n])), len(loss))
