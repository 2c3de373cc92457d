"""Each system's hyper-parameters per dataset, from its own paper or code where there are any.

They are in ``presets.json``, by class, with their source. What a class's defaults already say is not repeated.
"""

import functools
import json
from importlib import resources
from typing import Any

from ccassg.model.presets import FAST, PRESETS

DATASETS = tuple(PRESETS)
OTHERS = ("computers", "photo", "cs", "physics")

Settings = dict[str, Any]


def published(cls: type, dataset: str) -> Settings:
    """Return the settings of a system for a dataset; those of the class that it builds on where it has none itself."""
    known = _read()
    found = next((known[each.__name__] for each in cls.__mro__ if each.__name__ in known), {})
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.get(dataset, {}).items()}


def everywhere(datasets: tuple[str, ...], **settings: Any) -> dict[str, Settings]:
    """Return the same settings for each of some datasets."""
    return {name: dict(settings) for name in datasets}


@functools.cache
def _read() -> dict[str, dict[str, Settings]]:
    text = resources.files("ccassg.systems").joinpath("presets.json").read_text(encoding="utf-8")
    fast = {f"{name}-fast": PRESETS[name] | faster for name, faster in FAST.items()}
    return {"CCASSG": PRESETS | fast, **json.loads(text)}
