"""Tables of results: rows as dicts to Markdown and CSV text, our value beside the published one."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

MISSING = "–"


def mean_std(values: Sequence[float], *, digits: int = 1) -> str:
    """Return mean and standard deviation of some runs as people print them: ``83.6 ± 0.5``; ``–`` if there are none.

    The deviation is the sample's (divided by n - 1), as everywhere in this package; one run has none.
    """
    runs = np.asarray(values, dtype=np.float64)
    if runs.size == 0 or not np.isfinite(runs).all():
        return MISSING
    mean = f"{runs.mean():.{digits}f}"
    return mean if runs.size == 1 else f"{mean} ± {runs.std(ddof=1):.{digits}f}"


def beside(
    rows: Sequence[Mapping[str, Any]], published: Mapping[str, Mapping[str, Any]], *, key: str
) -> list[dict[str, Any]]:
    """Put published values next to ours: column ``Cora`` is followed by ``Cora (paper)`` if any row has such a value.

    ``published[row[key]][column]`` is the value for a row and column; what it lacks stays empty. Published rows that we did
    not run come last, with our side empty.
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
                line[f"{column} (paper)"] = paper.get(column)
        made.append(line)
    return made


def to_markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a Markdown table that ends with a newline, aligned in the source as well; numbers stand to the right.

    The columns come in the order in which they first appear; cells that are missing or None are shown as ``–``.
    """
    names = _columns(rows)
    if not names:
        return ""
    cells = [[_escape(name) for name in names], *([_escape(_cell(row.get(name))) for name in names] for row in rows)]
    widths = [max(3, *(len(line[i]) for line in cells)) for i in range(len(names))]
    right = [all(_is_number(row.get(name)) for row in rows) for name in names]
    rule = [("-" * (w - 1) + ":") if r else "-" * w for w, r in zip(widths, right, strict=True)]
    lines = [cells[0], rule, *cells[1:]]
    return "".join(
        f"| {' | '.join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(line, widths, right, strict=True))} |\n"
        for line in lines
    )


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the same as CSV (RFC 4180 quoting, ``\\n`` line ends), numbers in full precision, missing cells empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _columns(rows), lineterminator="\n", restval="")
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
