"""The house style of the Matplotlib figures: one look, readable in print and by the colour-blind, the same bytes twice.

The settings apply to these figures only: how the user's own look does not change.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ccassg import optional
from ccassg.io.atomic import atomic_path, require_replaceable

# Okabe and Ito's colours without yellow, which vanishes on paper; the order keeps neighbours far apart in grey, too.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
# The second way to tell series apart, for print without colour.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
# Maps of one-sided values (heat maps of accuracy, absolute correlation); monotone in lightness.
COLOUR_MAP = "cividis"
# Width of one panel in inches: two of them fill the text width of a page.
PANEL_WIDTH, PANEL_HEIGHT = 3.4, 2.5


@contextmanager
def figure(
    n_rows: int = 1, n_cols: int = 1, *, width: float | None = None, height: float | None = None
) -> Iterator[tuple[Any, Any]]:
    """Make a figure in the house style and its axes (n_rows, n_cols), to be drawn and saved inside the block.

    Titles, legends and lines take their looks when they are made, hence the block; outside it nothing has changed. The
    figure, ``width`` x ``height`` inches, is not registered with pyplot: nothing to close, no window.
    """
    optional.require("matplotlib", "a figure")
    from cycler import cycler
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = (width or PANEL_WIDTH * n_cols, height or PANEL_HEIGHT * n_rows)
    cycle = cycler(color=COLOURS) + cycler(linestyle=LINES) + cycler(marker=MARKERS)
    with rc_context(_settings() | {"axes.prop_cycle": cycle}):
        fig = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(fig)
        yield fig, fig.subplots(n_rows, n_cols, squeeze=False)


def save(fig: Any, stem: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Write the figure as ``stem.svg`` and ``stem.png`` (200 dots per inch), in place of none but an earlier one.

    Equal figures give equal files.
    """
    from matplotlib import rc_context

    stem = Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    made = [stem.with_name(f"{stem.name}.{ending}") for ending in ("svg", "png")]
    is_ours = made[0].is_file() and b"<dc:title>ccassg</dc:title>" in made[0].read_bytes()
    for target in made:
        require_replaceable(target, lambda _: is_ours)
    # No date and no version in the files: drawing again after an update must not look like a change.
    for target, metadata in zip(made, ({"Date": None, "Creator": "ccassg"}, {"Software": None}), strict=True):
        with atomic_path(target) as temporary, rc_context(_settings()):
            fig.savefig(temporary, format=target.suffix[1:], dpi=200, metadata=metadata)
    return made[0], made[1]


def heat_map(
    ax: Any,
    values: Any,
    *,
    x_labels: Any = (),
    y_labels: Any = (),
    low: float | None = None,
    high: float | None = None,
    text: str | None = None,
) -> None:
    """Draw a matrix with a colour bar from ``low`` to ``high``, by default the ends of the values; NaN is hatched.

    With ``text``, a format such as ``".1f"``, each cell shows its value, in black or white, whichever is readable.
    """
    matrix = np.ma.masked_invalid(np.asarray(values, dtype=np.float64))
    image = ax.imshow(matrix, vmin=low, vmax=high, aspect="auto", interpolation="nearest", cmap=COLOUR_MAP)
    ax.grid(False)
    ax.patch.set(hatch="////", facecolor="white", edgecolor="0.85")  # shows where a value is missing
    for axis, labels in ((ax.xaxis, x_labels), (ax.yaxis, y_labels)):
        if len(labels):
            axis.set_ticks(range(len(labels)), [str(label) for label in labels])
    ax.figure.colorbar(image, ax=ax, shrink=0.9)
    if text is not None:
        bottom, top = image.get_clim()
        for row, column in np.ndindex(matrix.shape):
            value = matrix[row, column]
            if value is not np.ma.masked:
                dark = (value - bottom) < 0.5 * (top - bottom)
                ax.text(column, row, format(value, text), ha="center", va="center", color="white" if dark else "black")


def band(ax: Any, x: Any, mean: Any, std: Any, label: str | None = None) -> None:
    """Draw a curve of means with a shaded band of one standard deviation to either side."""
    x, mean, std = (np.asarray(v, dtype=np.float64) for v in (x, mean, std))
    (line,) = ax.plot(x, mean, label=label)
    ax.fill_between(x, mean - std, mean + std, color=line.get_color(), alpha=0.18, linewidth=0)


def _settings() -> Any:
    from matplotlib import rc_params_from_file

    return dict(
        rc_params_from_file(Path(__file__).with_name("assets") / "figures.mplstyle", use_default_template=False)
    )
