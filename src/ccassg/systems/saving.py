"""A saved system: ``model.safetensors`` (tensors) and ``config.json`` (everything else); no pickle, no code.

The config carries the hash of the tensors, so a mixed-up or altered pair is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load as from_bytes
from safetensors.torch import save as to_bytes
from torch import Tensor

from ccassg.io.atomic import write_bytes_atomic
from ccassg.model_file import FORMAT
from ccassg.provenance import versions

_KEYS = ("method", "parameters", "state", "fit_seconds", "history")


def save(folder: Path, config: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write both files; the config goes last, so that it never names weights that are not there."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = to_bytes({name: value.detach().cpu().contiguous() for name, value in tensors.items()})
    head = {"format": FORMAT, "weights_sha256": hashlib.sha256(weights).hexdigest()}
    text = json.dumps(head | config | {"versions": versions()}, indent=1, default=_plain)
    write_bytes_atomic(folder / "model.safetensors", weights)
    write_bytes_atomic(folder / "config.json", (text + "\n").encode())


def load(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read and check both files; ValueError on anything that is not a saved system."""
    config_path, weights_path = folder / "config.json", folder / "model.safetensors"
    if not config_path.is_file() or not weights_path.is_file():
        raise ValueError(f"{folder} holds no model: config.json and model.safetensors must be there")
    try:
        config = json.loads(config_path.read_bytes())
        weights = weights_path.read_bytes()
        if config["format"] != FORMAT:
            raise ValueError(f"{config_path} has format {config['format']!r}; this version reads {FORMAT}")
        if hashlib.sha256(weights).hexdigest() != config["weights_sha256"]:
            raise ValueError(f"{weights_path} does not belong to {config_path}, or was altered: its hash differs")
        wanted = {key: config[key] for key in _KEYS}
        wanted["parameters"] = {key: _unlist(value) for key, value in config["parameters"].items()}
        return wanted, from_bytes(weights)
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{config_path} is not a system's config ({type(error).__name__}: {error})") from None
    except SafetensorError as error:
        raise ValueError(f"{weights_path} is not a safetensors file: {error}") from None


@dataclass
class Clock:
    """Seconds that a block took."""

    seconds: float = 0.0


@contextlib.contextmanager
def stopwatch() -> Iterator[Clock]:
    """Time a block."""
    clock, start = Clock(), time.perf_counter()
    yield clock
    clock.seconds = time.perf_counter() - start


def _plain(value: Any) -> Any:
    """NumPy's scalars and arrays as JSON can hold them."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be saved")


def _unlist(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
