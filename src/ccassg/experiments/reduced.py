"""What the tables run with less than was published, because all of it would take days on two cores; each table says so."""

from collections.abc import Iterable
from typing import Any

from ccassg.experiments.published import NAMES, TITLES
from ccassg.systems import make
from ccassg.systems.presets import OTHERS, Settings, everywhere

LARGER = ("pubmed", *OTHERS)

# The contrast among 2048 random nodes a step is what the BGRL paper runs where GRACE does not fit ("GRACE-subsampling").
# Photo's published rate of 0.1 needs all of its 2000 steps: after 200, validation accuracy was 61 %.
_GRACE = everywhere(LARGER, loss_nodes=2048, n_steps=200)
_GRACE["photo"]["learning_rate"] = 1e-3
_WALKS = everywhere(LARGER, n_walks=10)

REDUCED: dict[str, dict[str, Settings]] = {
    "grace": _GRACE,
    "gca-degree": _GRACE,
    "gca-pagerank": _GRACE,
    "gca-eigenvector": _GRACE,
    # So few steps need a higher rate where the published one is 1e-5 or 1e-4.
    "bgrl": everywhere(OTHERS, n_steps=300, n_warmup_steps=30, learning_rate=5e-4),
    "deepwalk": _WALKS,
    "deepwalk-features": _WALKS,
    "dgi": everywhere(OTHERS, n_steps=300),
}


def changes(method: str, dataset: str) -> Settings:
    """The settings that differ from the published ones; none for most."""
    return REDUCED.get(method, {}).get(dataset, {})


def note(shown: Iterable[tuple[str, str]]) -> str:
    """A sentence on those of the (method, dataset) pairs in a table that are run with less; empty if there are none."""
    found: dict[tuple[str, str], list[str]] = {}
    for method, dataset in shown:
        if settings := changes(method, dataset):
            published = make(method, dataset)
            usual = {name: getattr(published, name) for name in settings}
            parts = [f"{n} {value:g} for {_shown(usual[n])}" for n, value in settings.items() if value != usual[n]]
            found.setdefault((NAMES[method], ", ".join(parts)), []).append(TITLES[dataset])
    if not found:
        return ""
    parts = [f"{method} on {', '.join(datasets)} ({what})" for (method, what), datasets in found.items()]
    return f"Run with less than was published: {'; '.join(parts)}."


def _shown(value: Any) -> str:
    return "all" if value is None else f"{value:g}"
