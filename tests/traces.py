"""What every system gives after a few steps, kept in traces.json under its revision.

Recorded runs are found by the revision of their system, so a change of its results must raise the number. `python
tests/traces.py` renews what has a new number.

The quantities are the same on another machine to 1e-5: losses of three steps, and moments of what comes out when training
hardly moves the weights. Moments after real steps are not: Adam makes a whole step of a gradient that is nothing but rounding,
such as that of a bias below a batch normalisation, which no loss notices.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ccassg import CCASSG
from ccassg.datasets import stochastic_block_graph
from ccassg.defaults import canonical
from ccassg.systems import METHODS, get_class, make

# `CCASSG()` with nothing named, which has a number of its own.
DEFAULT = "default"
NAMES = (*METHODS, DEFAULT)
FILE = Path(__file__).with_name("traces.json")
TOLERANCE = 1e-5
SMALL = {
    "encoder": "gcn",
    "n_steps": 3,
    "embedding_dim": 8,
    "hidden_dim": 8,
    "n_warmup_steps": 1,
    "predictor_dim": 8,
    "expander_dim": 8,
    "n_heads": 2,
    "n_walks": 2,
    "walk_length": 10,
    "window_length": 2,
}


def trace(name: str) -> dict[str, list[float]]:
    """Losses of three steps; and size, root mean square of the rows, and their mean by place, of what comes out."""
    if name == DEFAULT:
        return {"similarities": _similarities()}
    out = _fitted(name, learning_rate=1e-9)[1].astype(np.float64)
    rows = np.sqrt((out**2).sum(1))
    moments = [np.abs(out).mean(), np.sqrt((rows**2).mean()), np.average(rows, weights=np.arange(len(rows)))]
    return {"loss": _fitted(name)[0].history_["loss"], "moments": [float(moment) for moment in moments]}


def _fitted(name: str, **changes: float) -> tuple[Any, np.ndarray]:
    """A system after a few steps on a small graph, and its embedding or probabilities."""
    data = stochastic_block_graph(60, 3, 6.0, 0.9, n_features=12, feature_noise=0.3, seed=2)
    model = make(name, random_state=0)
    given = SMALL | changes
    model.set_params(**{key: value for key, value in given.items() if key in model.get_params(deep=False)})
    if model.kind == "embedder":
        return model, model.fit_transform(data.graph)
    y = np.where(np.isin(np.arange(data.graph.n_nodes), data.split(0).train), data.y, -1)
    return model, model.fit(data.graph, y).predict_proba(data.graph)


def _similarities() -> list[float]:
    """Moments of the default's inner products, which no turn of its directions changes; of signed features and of counts."""
    data, found = stochastic_block_graph(60, 3, 6.0, 0.9, n_features=12, feature_noise=0.3, seed=2), []
    for features in (data.graph.features, np.abs(data.graph.features).round(1)):
        z = CCASSG(random_state=0, embedding_dim=104).fit_transform(replace(data.graph, features=features))
        similar = z.astype(np.float64) @ z.T
        found += [np.abs(similar).mean(), np.sqrt(np.trace(similar)), (similar @ np.arange(len(z))).std()]
    return [float(moment) for moment in found]


def _named(name: str) -> tuple[int, str, str]:
    """The number of what a system computes, and the name and the place of that number."""
    if name == DEFAULT:
        return canonical.VERSION, "VERSION", canonical.__name__
    cls = get_class(name)
    return cls.revision, "revision", f"{cls.__module__}.{cls.__name__}"


def complaint(name: str, kept: dict[str, Any] | None) -> str | None:
    """What is to be done about a system, in a sentence; None if it still gives what is kept of it."""
    revision, number, place = _named(name)
    if kept is None or kept["revision"] != revision:
        return f"tests/traces.json has no trace of {name} in revision {revision}: run `python tests/traces.py`"
    found = trace(name)
    if all(_close(found[part], kept[part]) for part in found):
        return None
    return (
        f"{name} gives other results than revision {revision} did; if they are meant, set `{number}` of {place} to {revision + 1} "
        "and run `python tests/traces.py`: its recorded runs then count as missing"
    )


def _close(found: list[float], kept: list[float]) -> bool:
    """Whether two series are the same, to the largest of their values: losses may pass 0."""
    scale = max(map(abs, kept), default=0.0)
    return len(found) == len(kept) and np.allclose(found, kept, rtol=0, atol=TOLERANCE * scale)


def renew() -> list[str]:
    """Add the traces whose revision is new, and return what is wrong with the others."""
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}
    for name in NAMES:
        if kept.get(name, {}).get("revision") != (revision := _named(name)[0]):
            kept[name] = {"revision": revision, **trace(name)}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(kept[name])}" for name in NAMES)
    FILE.write_text(f"{{\n{lines}\n}}\n")
    return [sentence for name in NAMES if (sentence := complaint(name, kept[name]))]


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit("\n".join(renew()) or 0)
