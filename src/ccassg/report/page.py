"""One self-contained HTML page about one embedding: `write_report`.

The page asks no host for anything, and may not: its Content-Security-Policy admits the one script and the one style
whose hashes it names, and no connection. The data lies in a JSON block that the browser does not execute; ids and
labels are only ever set as text.
"""

import base64
import hashlib
import html
import json
import os
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from ccassg.graph import Dataset
from ccassg.graph.checks import check_kind, shown
from ccassg.io.atomic import blank, is_sealed, require_replaceable, sealed, write_bytes_atomic
from ccassg.report.data import ReportData, about_model

SCRIPTS = ("base.js", "map.js", "charts.js", "panel.js", "page.js")


def write_report(
    path: str | os.PathLike[str],
    embedding: Any,
    data: Dataset | None = None,
    *,
    model: Any = None,
    probe: Any = None,
    title: str | None = None,
    node_ids: Any = None,
    names: Any = None,
    labels: Any = None,
    columns: Mapping[str, Any] | None = None,
    layout: Any = None,
) -> Path:
    """Write one self-contained HTML page about an embedding: map, clusters, neighbours, spectrum, and what else is given.

    Parameters
    ----------
    path : path-like
        The HTML file to make, or an earlier page to replace; a failure leaves that as it was.
    embedding : float array of shape (n, d)
    data : Dataset, optional
        The graph that was embedded: the page takes its ids, labels, class names, notes and counts.
    model : fitted estimator, optional
        The page shows its training curves, its settings and why they are what they are.
    probe : ProbeResult, or its dict, optional
        What `linear_probe` returned; a dict may hold what else to show, such as ``raw_features``, their accuracies.
    title : str, optional
        By default the name of the dataset, else that of the file.
    node_ids, labels : array-like of shape (n,), optional
        In place of those of ``data``; a label that is None or empty is none.
    names : array-like of shape (n,), optional
        What people call the nodes: shown in place of the ids, and found as they are.
    columns : dict of str to array-like of shape (n,), optional
        Further colourings of the map: numbers give a scale, anything else categories. Those of ``data`` are the degrees.
    layout : float array of shape (n, 2), optional
        Places on the map, such as real coordinates, in place of those derived here.

    Returns
    -------
    Path
        Where the page is. The same arguments give the same page.

    Examples
    --------
    >>> import ccassg
    >>> import numpy as np
    >>> z = np.random.default_rng(0).normal(size=(30, 4))
    >>> ccassg.write_report("mine.html", z, labels=["a", "b"] * 15).name
    'mine.html'

    With all that is known, where ``data`` is a dataset and ``model`` was fitted to its graph:
    ``write_report("mine.html", z, data, model=model, probe=ccassg.linear_probe(z, data))``.
    """
    if data is not None:
        check_kind("data", data, Dataset, "name other things by their names, such as labels=")
    if model is not None and (isinstance(model, type) or not hasattr(model, "get_params")):
        raise TypeError(f"model must be a fitted estimator, got {shown(model)}")
    if probe is not None and not (isinstance(probe, Mapping) or hasattr(probe, "as_dict")):
        raise TypeError(f"probe must be what linear_probe returned, or its dict, got {shown(probe)}")
    about: dict[str, Any] = {} if model is None else about_model(model)
    if data is not None:
        about |= {"notes": data.notes, "graph": data.graph.counts()}
        node_ids = data.ids if node_ids is None else node_ids
        labels = data.labels if labels is None else labels
        columns = {"degree": data.graph.degrees()} | dict(columns or {})
        title = title or data.name
    if probe is not None:
        probe = dict(probe if isinstance(probe, Mapping) else probe.as_dict())
        if data is not None and data.class_names is not None:
            # Names of last classes that no node has are beyond the probe's matrix.
            probe = {"classes": data.class_names[: len(probe.get("confusion", data.class_names))], **probe}
    report = ReportData(
        title=title or Path(path).stem,
        embedding=embedding,
        node_ids=node_ids,
        names=names,
        labels=labels,
        columns=columns or {},
        layout=layout,
        probe=probe,
        **about,
    )
    return write_page(path, report)


def write_page(path: str | os.PathLike[str], data: ReportData) -> Path:
    """Write the page of what has been put together already; see `write_report`."""
    from ccassg.report.payload import build_payload  # brings in scikit-learn, a second that others need not wait

    require_replaceable(path, is_page)
    write_bytes_atomic(path, sealed(render(build_payload(data)), "page"))
    return Path(path)


def is_page(path: Path) -> bool:
    """Tell whether a file is a page as it was written here."""
    return is_sealed(path, "page")


def render(payload: dict[str, Any]) -> str:
    """Return the page as text, from what `build_payload` gave."""
    style = _asset("page.css")
    script = "\n".join(_asset(name) for name in SCRIPTS)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data: blob:; "
        f"base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    parts = {
        "policy": policy,
        "seal": blank("page"),
        "title": html.escape(str(payload["title"]).encode("utf-8", "replace").decode("utf-8")),
        "style": style,
        "data": embed_json(payload),
        "script": script,
    }
    # Split at the marks instead of replacing one after another: data that contains a mark must not be expanded.
    pieces = _asset("page.html").split("%%")
    return "".join(parts[piece] if i % 2 else piece for i, piece in enumerate(pieces))


def embed_json(value: Any) -> str:
    """Return JSON that is safe inside an HTML script element: pure ASCII, without ``<``, ``>`` and ``&``."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return resources.files("ccassg.report").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the source expression of the Content-Security-Policy that admits exactly this inline text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
