"""The house style of the Matplotlib figures: one look, readable in print and by the colour-blind, the same bytes twice.

The settings apply to these figures only: how the user's own look does not change.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ccassg.io.atomic import atomic_path

# Okabe and Ito's colours without yellow, which vanishes on paper; the order keeps neighbours far apart in grey, too.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
# The second way to tell series apart, for print without colour.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
# Maps of one-sided values (heat maps of accuracy, absolute correlation); monotone in lightness.
COLOUR_MAP = "cividis"
# Width of one panel in inches: two of them fill the text width of a page.
PANEL_WIDTH, PANEL_HEIGHT = 3.4, 2.5

_SETTINGS: Any = {
    "font.size": 9,
    "font.family": "DejaVu Sans",  # comes with Matplotlib: the same letters on every machine
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#5b6675",
    "axes.linewidth": 0.8,
    "grid.color": "#dfe3e8",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "legend.frameon": True,  # a pale box without a line: letters stay readable over curves
    "legend.edgecolor": "none",
    "legend.framealpha": 0.85,
    "legend.fontsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "image.cmap": COLOUR_MAP,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "path",
    "svg.hashsalt": "ccassg",  # otherwise the ids inside an SVG are random
}


@contextmanager
def figure(
    n_rows: int = 1,
    n_cols: int = 1,
    *,
    width: float | None = None,
    height: float | None = None,
) -> Iterator[tuple[Any, Any]]:
    """Make a figure in the house style and its axes, to be drawn and saved inside the block.

    Titles, legends and lines take their looks when they are made, hence the block; outside it nothing has changed.

    Parameters
    ----------
    n_rows, n_cols : int
        Panels.
    width, height : float, optional
        Size of the whole figure in inches; by default 3.4 x 2.5 per panel.

    Yields
    ------
    figure : matplotlib.figure.Figure
        Not registered with pyplot: nothing to close, no window.
    axes : object array of shape (n_rows, n_cols)

    Examples
    --------
    >>> with figure(1, 2) as (fig, axes):  # doctest: +SKIP
    ...     axes[0, 0].plot([1, 2, 3])
    ...     save(fig, "figures/example")
    """
    from cycler import cycler
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = (width or PANEL_WIDTH * n_cols, height or PANEL_HEIGHT * n_rows)
    cycle = cycler(color=COLOURS) + cycler(linestyle=LINES) + cycler(marker=MARKERS)
    settings: Any = {**_SETTINGS, "axes.prop_cycle": cycle}
    with rc_context(settings):
        fig = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(fig)
        axes = fig.subplots(n_rows, n_cols, squeeze=False)
        yield fig, axes


def save(fig: Any, stem: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Write the figure as ``stem.svg`` and ``stem.png`` (200 dots per inch); equal figures give equal files.

    Parameters
    ----------
    fig : matplotlib.figure.Figure
    stem : path-like
        Path without an ending; its folder is made if need be.

    Returns
    -------
    svg, png : Path
    """
    from matplotlib import rc_context

    stem = Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    made = []
    # No date and no version in the files: drawing again after an update must not look like a change.
    for ending, metadata in (("svg", {"Date": None, "Creator": "ccassg"}), ("png", {"Software": None})):
        target = stem.with_name(f"{stem.name}.{ending}")
        with atomic_path(target) as temporary, rc_context(_SETTINGS):
            fig.savefig(temporary, format=ending, dpi=200, metadata=metadata)
        made.append(target)
    return made[0], made[1]


def heat_map(
    ax: Any,
    values: Any,
    *,
    x_labels: Any = None,
    y_labels: Any = None,
    low: float | None = None,
    high: float | None = None,
    text: str | None = None,
) -> Any:
    """Draw a matrix with a colour bar.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    values : array of shape (rows, columns)
        NaN is hatched.
    x_labels, y_labels : sequence, optional
        One per column and row.
    low, high : float, optional
        Ends of the scale; by default those of the values.
    text : str, optional
        Format such as ``".1f"``: each cell then shows its value, in black or white, whichever is readable.

    Returns
    -------
    matplotlib.image.AxesImage
    """
    matrix = np.ma.masked_invalid(np.asarray(values, dtype=np.float64))
    image = ax.imshow(matrix, vmin=low, vmax=high, aspect="auto", interpolation="nearest", cmap=COLOUR_MAP)
    ax.grid(False)
    ax.patch.set(hatch="////", facecolor="white", edgecolor="0.85")  # shows where a value is missing
    for axis, labels in ((ax.xaxis, x_labels), (ax.yaxis, y_labels)):
        if labels is not None:
            axis.set_ticks(range(len(labels)), [str(label) for label in labels])
    ax.figure.colorbar(image, ax=ax, shrink=0.9)
    if text is not None:
        bottom, top = image.get_clim()
        for row, column in np.ndindex(matrix.shape):
            value = matrix[row, column]
            if value is not np.ma.masked:
                dark = (value - bottom) < 0.5 * (top - bottom)
                ax.text(column, row, format(value, text), ha="center", va="center", color="white" if dark else "black")
    return image


def band(ax: Any, x: Any, mean: Any, std: Any, label: str | None = None) -> None:
    """Draw a curve of means with a shaded band of one standard deviation to either side."""
    x, mean, std = (np.asarray(v, dtype=np.float64) for v in (x, mean, std))
    (line,) = ax.plot(x, mean, label=label)
    ax.fill_between(x, mean - std, mean + std, color=line.get_color(), alpha=0.18, linewidth=0)
