"""One self-contained HTML page about one embedding: `write_report`.

The map is drawn by a small canvas script of our own, not by Plotly: a page of a few hundred kilobytes instead of five
megabytes, no WebGL, and full control over what the user's ids and labels can do (they are only ever set as text).

The page asks no host for anything, and may not: its Content-Security-Policy admits the one script and the one style
whose hashes it names, and no connection. The data lies in a JSON block that the browser does not execute.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from importlib import resources
from pathlib import Path
from typing import Any

from ccassg.io.atomic import write_bytes_atomic
from ccassg.report.data import ReportData

__all__ = ["ReportData", "render", "write_report"]

STYLES = ("page.css",)
SCRIPTS = ("base.js", "map.js", "charts.js", "panel.js", "page.js")


def write_report(
    path: str | os.PathLike[str], data: ReportData, *, n_clusters: int | None = None, random_state: int = 0
) -> Path:
    """Write the page about an embedding.

    Parameters
    ----------
    path : path-like
        The HTML file to make or to replace; a failure leaves an earlier one as it was.
    data : ReportData
    n_clusters : int, optional
        Clusters of the k-means colouring; by default as many as there are labels, else 8.
    random_state : int
        Seed of the map and the clusters; the same data and seed give the same page.

    Returns
    -------
    Path
        Where the page is.
    """
    from ccassg.report.payload import build_payload  # brings in scikit-learn, a second that others need not wait

    target = Path(path)
    payload = build_payload(data, n_clusters=n_clusters, random_state=random_state)
    write_bytes_atomic(target, render(payload).encode("utf-8"))
    return target


def render(payload: dict[str, Any]) -> str:
    """The page as text, from what `build_payload` gave."""
    style = "\n".join(_asset(name) for name in STYLES)
    script = "\n".join(_asset(name) for name in SCRIPTS)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data: blob:; "
        f"base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    parts = {
        "policy": policy,
        "title": html.escape(str(payload["title"]).encode("utf-8", "replace").decode("utf-8")),
        "style": style,
        "data": embed_json(payload),
        "script": script,
    }
    # Split at the marks instead of replacing one after another: data that contains a mark must not be expanded.
    pieces = _asset("page.html").split("%%")
    return "".join(parts[piece] if i % 2 else piece for i, piece in enumerate(pieces))


def embed_json(value: Any) -> str:
    """JSON that is safe inside an HTML script element: pure ASCII, without ``<``, ``>`` and ``&``."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return resources.files("ccassg.report").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """A source expression of the Content-Security-Policy that admits exactly this inline text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
