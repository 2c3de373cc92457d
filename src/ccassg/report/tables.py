"""Tables of results: rows as dicts to Markdown and CSV text, our value beside the published one."""

from __future__ import annotations

import csv
import io
import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

MISSING = "–"


def mean_std(values: Sequence[float] | float | None, *, std: float | None = None, digits: int = 1) -> str:
    """Mean and standard deviation as people print them: ``83.6 ± 0.5``.

    Parameters
    ----------
    values : sequence of float, float or None
        The runs; or their mean, with ``std``; or None for no value.
    std : float, optional
        The deviation that belongs to a single mean. Of runs it is the sample's (divided by n - 1), as everywhere in
        this package; one run has none.
    digits : int
        After the point.

    Returns
    -------
    str
        ``–`` if there is no value.
    """
    if values is None:
        return MISSING
    runs = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if runs.size == 0 or not np.isfinite(runs).all():
        return MISSING
    if std is None and runs.size > 1:
        std = float(runs.std(ddof=1))
    mean = f"{runs.mean():.{digits}f}"
    return mean if std is None or not math.isfinite(std) else f"{mean} ± {std:.{digits}f}"


def beside(
    rows: Sequence[Mapping[str, Any]],
    published: Mapping[str, Mapping[str, Any]],
    *,
    key: str,
    suffix: str = " (paper)",
) -> list[dict[str, Any]]:
    """Put published values next to ours: column ``Cora`` is followed by ``Cora (paper)``.

    Parameters
    ----------
    rows : sequence of dict
    published : dict of dict
        ``published[row[key]][column]`` is the value for that row and column; what it lacks stays empty.
    key : str
        The column that names the row, such as ``"method"``.
    suffix : str

    Returns
    -------
    list of dict
        With a column added after each one that has a published value in any row. Published rows that we did not run
        come last, with our side empty.
    """
    known = {column for values in published.values() for column in values}
    order = [c for c in _columns(rows) if c != key]
    order += sorted(known.difference(order))
    ours = {row[key]: row for row in rows}
    made = []
    for named in [*ours, *(name for name in published if name not in ours)]:
        row, paper = ours.get(named, {}), published.get(named, {})
        line: dict[str, Any] = {key: named}
        for column in order:
            line[column] = row.get(column)
            if column in known:
                line[column + suffix] = paper.get(column)
        made.append(line)
    return made


def to_markdown(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> str:
    """A Markdown table, aligned in the source as well; numbers stand to the right.

    Parameters
    ----------
    rows : sequence of dict
        Cells that are missing or None are shown as ``–``.
    columns : sequence of str, optional
        Which, and in which order; by default all, as they first appear.

    Returns
    -------
    str
        Ends with a newline.
    """
    names = list(columns) if columns is not None else _columns(rows)
    if not names:
        return ""
    cells = [[_escape(name) for name in names], *([_escape(_cell(row.get(name))) for name in names] for row in rows)]
    widths = [max(3, *(_width(line[i]) for line in cells)) for i in range(len(names))]
    right = [bool(rows) and all(_is_number(row.get(name)) for row in rows) for name in names]
    rule = [("-" * (w - 1) + ":") if r else "-" * w for w, r in zip(widths, right, strict=True)]
    lines = [cells[0], rule, *cells[1:]]
    return "".join(
        "| " + " | ".join(_pad(c, w, r) for c, w, r in zip(line, widths, right, strict=True)) + " |\n" for line in lines
    )


def to_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> str:
    """The same as CSV (RFC 4180 quoting, ``\\n`` line ends), numbers in full precision, missing cells empty."""
    names = list(columns) if columns is not None else _columns(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n", restval="")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: value.item() if isinstance(value, np.generic) else value for name, value in row.items()})
    return text.getvalue()


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(column for row in rows for column in row))


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, (float, np.floating)) and not math.isfinite(value)):
        return MISSING
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return f"{int(value):,}"
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    return str(value)


def _is_number(value: Any) -> bool:
    """Whether a cell reads as a number: also ``83.6 ± 0.5`` and what is missing."""
    if value is None or (isinstance(value, (int, float, np.number)) and not isinstance(value, bool)):
        return True
    first = str(value).split("±")[0].strip().rstrip("%").strip()
    return first == MISSING or first.replace(",", "").replace(".", "", 1).lstrip("-").isdigit()


def _escape(text: str) -> str:
    """Keep a cell one cell: no bars, no line ends; angle brackets would be read as HTML."""
    flat = " ".join(text.splitlines())
    return flat.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _width(text: str) -> int:
    """Columns the text takes in a fixed-width font."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _pad(text: str, width: int, right: bool) -> str:
    blank = " " * (width - _width(text))
    return blank + text if right else text + blank
