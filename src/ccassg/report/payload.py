"""From `ReportData` to the one JSON document that the page's script draws.

Numbers of nodes go in as base64 of little-endian arrays (a tenth of the size of decimal text, and no parsing); the rest
is plain JSON. Of graphs beyond `MAX_NODES` nodes the page holds a seeded sample, and says so.
"""

import base64
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ccassg.evaluate.diagnostics import correlation, measures_of, moments
from ccassg.evaluate.neighbours import likely_neighbours, nearest
from ccassg.evaluate.verdict import verdict
from ccassg.graph import Array
from ccassg.io.encode import DROWNS
from ccassg.provenance import effective
from ccassg.report import derive
from ccassg.report.data import ReportData

# The most nodes on one page: 100 thousand make about 10 MB and still move at once under the mouse.
MAX_NODES = 100_000
# Exact neighbours of all nodes cost n^2 d operations; beyond this a few may be missed, and the page says so.
MAX_EXACT = 20_000
# Points of a training curve; more than a screen has pixels would only weigh.
MAX_STEPS = 2_000
# Columns on the heat map.
MAX_COLUMNS = 128
NO_LABEL, NO_VALUE = "(no label)", "(no value)"


def build_payload(data: ReportData, *, max_nodes: int = MAX_NODES, max_exact: int = MAX_EXACT) -> dict[str, Any]:
    """Derive everything the page shows, in JSON's own types; every float is finite.

    At most ``max_nodes`` nodes are shown; the neighbours of at most ``max_exact`` are searched exactly.
    """
    # One thread: on a machine busy with other work, waiting threads make t-SNE and small decompositions several times
    # slower, and the picture would depend on the number of cores.
    with threadpool_limits(limits=1):
        plain: dict[str, Any] = _plain(_derive(data, max_nodes, max_exact))
    return plain


def pack(array: Array) -> dict[str, Any]:
    """Return an array as its type's name and base64 of its bytes in little-endian order."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return {"type": array.dtype.name, "data": base64.b64encode(little.tobytes()).decode("ascii")}


def _derive(data: ReportData, max_nodes: int, max_exact: int) -> dict[str, Any]:
    n_all = len(data.embedding)
    data = _sample(data, max_nodes)
    embedding = np.ascontiguousarray(data.embedding, dtype=np.float32)
    n, dim = embedding.shape
    columns = moments(embedding)
    found = measures_of(embedding, columns)
    reduced = derive.principal_components(embedding, columns=columns)
    warnings = [str(note) for note in data.notes if DROWNS in str(note)]
    warnings += verdict(
        found,
        graph=data.graph,
        history=data.history,
        settings=data.settings or None,
        scaled=data.scaled,
        probe=data.probe,
    )
    notes = [note for note in data.notes if DROWNS not in str(note)]
    variance = found["spectrum"][:n]
    ids = range(n) if data.node_ids is None else data.node_ids
    return {
        "title": data.title,
        "nodes": n,
        "allNodes": n_all,
        "dim": dim,
        "ids": [_text(name) for name in ids],
        "names": None if data.names is None else [None if name is None else _text(name) for name in data.names],
        "map": _map(data, reduced),
        "colourings": _colourings(data, reduced),
        "neighbours": _neighbours(embedding, max_exact),
        "curves": _curves(data.history),
        "correlation": _correlation(correlation(columns))
        | {"meanAbsolute": found["off_diagonal_correlation"], "constant": found["n_constant_columns"]},
        "spectrum": {
            "variance": [value / (sum(variance) or 1.0) for value in variance],
            "effectiveRank": found["effective_rank"],
        },
        "probe": data.probe,
        "settings": effective(data.settings),
        "provenance": data.provenance,
        "choices": list(data.choices),
        "notes": notes,
        "graph": data.graph,
        "warnings": warnings,
    }


def _sample(data: ReportData, max_nodes: int) -> ReportData:
    n = len(data.embedding)
    if n <= max_nodes:
        return data
    rows = np.sort(np.random.default_rng(0).choice(n, max_nodes, replace=False))

    def pick(values: Any) -> Any:
        return None if values is None else _objects(values)[rows]

    return replace(
        data,
        embedding=data.embedding[rows],
        node_ids=rows if data.node_ids is None else pick(data.node_ids),
        names=pick(data.names),
        labels=pick(data.labels),
        layout=None if data.layout is None else np.asarray(data.layout)[rows],
        columns={name: pick(values) for name, values in data.columns.items()},
    )


def _map(data: ReportData, reduced: Array) -> dict[str, Any]:
    """Return positions on a grid of 65536 steps, finer than any screen, with the picture's proportions kept."""
    if data.layout is None:
        positions, how = derive.map_2d(reduced)
    else:
        positions, how = np.asarray(data.layout, dtype=np.float64), "Places given by the user."
    low = positions.min(axis=0)
    size = max(float((positions - low).max()), 1e-300)
    grid = np.round((positions - low) / size * 65_535).astype(np.uint16)
    return {"x": pack(grid[:, 0]), "y": pack(grid[:, 1]), "how": how}


def _colourings(data: ReportData, reduced: Array) -> list[dict[str, Any]]:
    made = []
    n_classes = 0
    if data.labels is not None:
        labels = _categories("label", data.labels, missing=NO_LABEL)
        n_classes = len(labels["names"]) - (labels["missing"] >= 0)
        made.append(labels)
    found = derive.clusters(reduced, n_classes if 2 <= n_classes <= 15 else min(8, max(2, len(reduced) // 6)))
    made.append(_categories("cluster (k-means)", [f"cluster {c + 1}" for c in found], in_order=True))
    for name, values in data.columns.items():
        array = _objects(values)
        made.append(_numbers(name, array) if array.dtype.kind in "iuf" else _categories(name, array.tolist()))
    return made


def _objects(values: Any) -> Array:
    """Return an array of numbers where all are, else of the objects as they are (NumPy would turn mixed ones into text)."""
    if isinstance(values, np.ndarray):
        return values
    items = list(values)
    if items and all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in items):
        return np.asarray(items)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _categories(name: str, values: Sequence[Any], *, in_order: bool = False, missing: str = NO_VALUE) -> dict[str, Any]:
    """Return names, most frequent first (or in their own order), and for each node the position of its name."""
    texts = [missing if value is None or value == "" else _text(value) for value in values]
    counts = Counter(texts)
    if in_order:
        names = sorted(counts, key=lambda text: (len(text), text))
    else:
        names = sorted(counts, key=lambda text: (text == missing, -counts[text], text))
    position = {text: i for i, text in enumerate(names)}
    codes = np.array([position[text] for text in texts], dtype=np.min_scalar_type(max(len(names) - 1, 0)))
    return {
        "name": _text(name),
        "kind": "category",
        "names": names,
        "counts": [counts[text] for text in names],
        "missing": position.get(missing, -1),
        "codes": pack(codes),
    }


def _numbers(name: str, values: Array) -> dict[str, Any]:
    """Return values and the ends of their scale: the 1st and 99th percentile, so that one outlier does not grey the rest.

    Counts of which a few are many times the others, such as degrees, lie along their logarithm.
    """
    with np.errstate(over="ignore"):
        numbers = values.astype(np.float32)
    finite = numbers[np.isfinite(numbers)].astype(np.float64)
    low, high = (float(v) for v in np.percentile(finite, [1, 99])) if finite.size else (0.0, 1.0)
    if low == high and finite.size:
        low, high = float(finite.min()), float(finite.max())
    log = bool(low >= 0 and high > 5 * (float(np.median(finite)) + 1)) if finite.size else False
    return {"name": _text(name), "kind": "number", "low": low, "high": high, "log": log, "values": pack(numbers)}


def _neighbours(embedding: Array, max_exact: int) -> dict[str, Any]:
    """Return the nearest ten of every node; similarities in steps of 1/32767, half the bytes of a float."""
    n = len(embedding)
    exact = n <= max_exact
    if exact:
        index, similarity = nearest(embedding, embedding, 10, itself=np.arange(n))
    else:
        index, similarity = likely_neighbours(embedding, 10)
    return {
        "exact": exact,
        "k": index.shape[1],
        "index": pack(index.astype(np.uint16 if n < 65_536 else np.uint32)),
        "similarity": pack(np.round(similarity * 32_767).astype(np.int16)),
    }


def _correlation(of_columns: Array) -> dict[str, Any]:
    """Return the correlations of evenly spaced columns, few enough for a cell to stay visible, in steps of 1/127."""
    shown = _spaced(len(of_columns), MAX_COLUMNS)
    matrix = of_columns[np.ix_(shown, shown)]
    return {"size": len(shown), "columns": shown.tolist(), "values": pack(np.round(matrix * 127).astype(np.int8))}


def _spaced(n: int, most: int) -> Array:
    """Return at most ``most`` evenly spaced ones of 0 .. n - 1, both ends among them."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int))


def _curves(history: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    made = []
    for name, values in history.items():
        array = np.asarray(list(values), dtype=np.float64)
        if array.size:
            steps = _spaced(len(array), MAX_STEPS)
            made.append({"name": _text(name), "steps": (steps + 1).tolist(), "values": array[steps].tolist()})
    return made


def _text(value: Any) -> str:
    """Return what a person would write for an id or a label."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)


def _plain(value: Any) -> Any:
    """Return the same in JSON's own types; numbers that are not finite become None."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        # JavaScript's numbers are exact up to 2^53; a longer seed must not come out rounded.
        return value if abs(value) <= 2**53 else str(value)
    if isinstance(value, Mapping):
        return {_text(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return [_plain(item) for item in value]
    return _text(value)
