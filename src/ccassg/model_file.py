"""A saved model: ``model.safetensors`` (weights), ``config.json`` (everything else) and ``README.md`` (a model card).

Nothing in it is a pickle; loading runs no code. The config carries the hash of the weights, so a mixed-up or altered pair
is refused.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load as from_bytes
from safetensors.torch import save as to_bytes
from torch import Tensor

from ccassg.io.atomic import write_bytes_atomic
from ccassg.model.encoder import Encoder, Joined, parts_of
from ccassg.provenance import versions

if TYPE_CHECKING:
    from ccassg.estimator import CCASSG

# A single encoder is written as ever; format 2 has a list of parts.
FORMAT, FORMAT_OF_PARTS = 1, 2
# No encoder looks farther; a config may claim what it likes.
MAX_EXTRA_HOPS = 64


@dataclass(frozen=True)
class Shape:
    """What an encoder is, apart from its weights."""

    dims: tuple[int, ...]
    propagate: bool
    batch_norm: bool
    extra_hops: int = 0

    def build(self) -> Encoder:
        """Such an encoder, with any weights."""
        return Encoder(self.dims, propagate=self.propagate, batch_norm=self.batch_norm, extra_hops=self.extra_hops)


@dataclass(frozen=True)
class SavedModel:
    """What the files of a model say; ``is_joined`` if its encoder is a `Joined` of the shapes."""

    shapes: tuple[Shape, ...]
    is_joined: bool
    parameters: dict[str, Any]
    settings: dict[str, Any]
    reasons: list[str]
    history: dict[str, list[float]]
    fit_seconds: float
    tensors: dict[str, Tensor]


def save(folder: Path, model: CCASSG) -> None:
    """Write a fitted model; the config goes last, so that it never names weights that are not there."""
    folder.mkdir(parents=True, exist_ok=True)
    encoder = model.encoder_
    weights = to_bytes({name: value.cpu().contiguous() for name, value in encoder.state_dict().items()})
    shapes = [
        {"dims": list(part.dims), "propagate": part.propagate, "batch_norm": len(part.norms) > 0}
        | ({"extra_hops": part.extra_hops} if isinstance(encoder, Joined) else {})
        for part in parts_of(encoder)
    ]
    config = {
        "format": FORMAT_OF_PARTS if isinstance(encoder, Joined) else FORMAT,
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        **({"dims": list(encoder.dims), "parts": shapes} if isinstance(encoder, Joined) else shapes[0]),
        "parameters": _plain(model.get_params(deep=False)),
        "settings": _plain(model.settings_),
        "reasons": model.reasons_,
        "fit_seconds": model.fit_seconds_,
        "history": model.history_,
        "versions": versions(),
    }
    write_bytes_atomic(folder / "model.safetensors", weights)
    write_bytes_atomic(folder / "README.md", _card(config).encode())
    write_bytes_atomic(folder / "config.json", (json.dumps(config, indent=1) + "\n").encode())


def load(folder: Path) -> SavedModel:
    """Read and check a model's files; ValueError on anything that is not one."""
    config_path, weights_path = folder / "config.json", folder / "model.safetensors"
    if not config_path.is_file() or not weights_path.is_file():
        why = "config.json and model.safetensors must be there" if folder.exists() else "there is no such folder"
        raise ValueError(f"{folder} holds no model: {why}; make one with: ccassg fit GRAPH -o {folder}")
    weights = weights_path.read_bytes()
    try:
        config = json.loads(config_path.read_bytes())
        if config["format"] not in (FORMAT, FORMAT_OF_PARTS):
            raise _RefusedError(f"has format {config['format']!r}; this version reads {FORMAT} and {FORMAT_OF_PARTS}")
        if hashlib.sha256(weights).hexdigest() != config["weights_sha256"]:
            raise _RefusedError(f"does not belong to {weights_path}, or one of them was altered: the hash differs")
        tensors = from_bytes(weights)
        is_joined = config["format"] == FORMAT_OF_PARTS
        parts = config["parts"] if is_joined else [config]
        if not 1 <= len(parts) <= len(tensors):
            raise _RefusedError(f"lists {len(parts)} parts, which the weights do not have")
        prefixes = [f"encoders.{i}." if is_joined else "" for i in range(len(parts))]
        return SavedModel(
            shapes=tuple(_shape(part, tensors, prefix) for part, prefix in zip(parts, prefixes, strict=True)),
            is_joined=is_joined,
            parameters={key: _unlist(value) for key, value in config["parameters"].items()},
            settings=dict(config["settings"]),
            reasons=[str(reason) for reason in config["reasons"]],
            history={key: [float(x) for x in values] for key, values in config["history"].items()},
            fit_seconds=float(config["fit_seconds"]),
            tensors=tensors,
        )
    except _RefusedError as error:
        raise ValueError(f"{config_path} {error}") from None
    except SafetensorError as error:
        raise ValueError(f"{weights_path} is not a safetensors file: {error}") from None
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"{config_path} is not a model's config ({type(error).__name__}: {error})") from None


def restore(saved: SavedModel) -> Encoder | Joined:
    """The saved encoder, with its weights."""
    parts = [shape.build() for shape in saved.shapes]
    encoder = Joined(parts) if saved.is_joined else parts[0]
    try:
        encoder.load_state_dict(saved.tensors)
    except RuntimeError as error:
        raise ValueError(f"the weights do not fit the config: {str(error).splitlines()[-1].strip()}") from None
    return encoder


def _shape(config: dict[str, Any], tensors: dict[str, Tensor], prefix: str) -> Shape:
    """The shape of one encoder, if its weights have it."""
    dims = tuple(int(width) for width in config["dims"])
    extra_hops = int(config.get("extra_hops", 0))
    # Before any memory is taken for it: a config may claim what it likes.
    shapes = [tuple(tensors[f"{prefix}weights.{i}"].shape) for i in range(len(dims) - 1)]
    if len(dims) < 2 or shapes != list(itertools.pairwise(dims)):
        raise _RefusedError(f"says dims {list(dims)}, but the weights do not fit: {shapes}")
    if not 0 <= extra_hops <= MAX_EXTRA_HOPS:
        raise _RefusedError(f"says extra_hops {extra_hops}; there are 0 to {MAX_EXTRA_HOPS}")
    return Shape(dims, bool(config["propagate"]), bool(config["batch_norm"]), extra_hops)


class _RefusedError(Exception):
    """Why a model's files are not taken."""


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters as JSON can hold them; functions by name only, a generator not at all."""
    plain: dict[str, Any] = {}
    for name, value in parameters.items():
        if name == "augmentations":
            continue
        if isinstance(value, np.generic):
            value = value.item()
        plain[name] = value if isinstance(value, (str, int, float, bool, tuple, list, type(None))) else None
    return plain


def _unlist(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _card(config: dict[str, Any]) -> str:
    settings = "\n".join(f"| {name} | {value} |" for name, value in sorted(config["settings"].items()))
    loss = config["history"]["loss"]
    trained = f"{len(loss)} steps, final loss {loss[-1]:.4f}" if loss else "not trained"
    return f"""# A CCA-SSG encoder

Embeds nodes with {config["dims"][0]} features into {config["dims"][-1]} dimensions, learned without labels.

```python
import ccassg
model = ccassg.CCASSG.load("this-folder")
z = model.transform(graph)  # any graph with the same features
```

Trained for {trained}, in {config["fit_seconds"]:.1f} s, by ccassg {config["versions"]["ccassg"]}
with PyTorch {config["versions"]["torch"]}.

| setting | value |
|---|---|
{settings}

The embedding reflects whatever the graph and its features contain, including their biases; it was checked against
no task.
"""
