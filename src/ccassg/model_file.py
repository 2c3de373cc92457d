"""A saved model of any system: ``model.safetensors`` (tensors), ``config.json`` (all else) and ``README.md`` (a card).

Nothing in it is a pickle; loading runs no code. The config carries the hash of the tensors, so a mixed-up or altered pair
is refused, and that of all files, so that only an earlier model is ever replaced.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load as from_bytes
from safetensors.torch import save as to_bytes
from torch import Tensor

from ccassg.graph import FeatureSpace
from ccassg.io import folders
from ccassg.io.atomic import write_bytes_atomic
from ccassg.io.files import open_regular
from ccassg.provenance import effective, versions

FORMAT = 6

Kind = Literal["embedder", "classifier"]
# What the card says of a kind of system, and how to use it.
USES: dict[Kind, tuple[str, str]] = {
    "embedder": ("Learned without labels, checked against no task. It embeds nodes with", "z = model.transform(graph)"),
    "classifier": ("It predicts the class of nodes with", "y = model.predict(graph)"),
}


@dataclass(frozen=True)
class SavedModel:
    """What the files of a model say."""

    method: str  # the class of the system
    parameters: dict[str, Any]  # arguments of that class
    features: FeatureSpace  # what it was fitted to
    state: dict[str, Any]  # what else fitting left behind, in JSON's types
    fit_seconds: float
    history: dict[str, list[float]]  # the loss of every step, and its parts
    tensors: dict[str, Tensor]


def save(folder: Path, model: SavedModel, kind: Kind) -> None:
    """Write a fitted model into a folder that is new, empty or an earlier model's; ValueError otherwise."""
    weights = to_bytes({name: value.detach().cpu().contiguous() for name, value in model.tensors.items()})
    said = {name: value for name, value in vars(model).items() if name != "tensors"}
    config = {"format": FORMAT, "weights_sha256": hashlib.sha256(weights).hexdigest(), **said, "versions": versions()}
    config["features"] = model.features.as_dict()
    with folders.replaced(folder) as staged:
        write_bytes_atomic(staged / "model.safetensors", weights)
        write_bytes_atomic(staged / "README.md", _card(config, kind).encode())
        folders.write_index(staged, "config.json", json.loads(json.dumps(config, default=_plain)))


def load(folder: Path) -> SavedModel:
    """Read and check a model's files; ValueError on anything that is not one."""
    folders.recover(folder)
    config_path, weights_path = folder / "config.json", folder / "model.safetensors"
    if not config_path.is_file() or not weights_path.is_file():
        why = "config.json and model.safetensors must be there" if folder.exists() else "there is no such folder"
        raise ValueError(f"{folder} holds no model: {why}; make one with: ccassg fit GRAPH -o {folder}")
    with open_regular(weights_path) as weights_file, open_regular(config_path) as config_file:
        weights, text = weights_file.read(), config_file.read()
    try:
        config = json.loads(text)
        if config["format"] != FORMAT:
            raise _RefusedError(
                f"has format {config['format']!r}, and this version reads {FORMAT}; fit the model again"
            )
        if hashlib.sha256(weights).hexdigest() != config["weights_sha256"]:
            raise _RefusedError(f"does not belong to {weights_path}, or one of them was altered: the hash differs")
        tensors = from_bytes(weights)
        damaged = sorted(name for name, value in tensors.items() if not bool(value.isfinite().all()))
        if damaged:
            raise _RefusedError(f"belongs to weights that are not finite ({damaged[0]}); fit the model again")
        return SavedModel(
            method=str(config["method"]),
            parameters={name: _unlist(value) for name, value in config["parameters"].items()},
            features=FeatureSpace.from_dict(config["features"]),
            state=dict(config["state"]),
            history={name: [float(x) for x in values] for name, values in config["history"].items()},
            fit_seconds=float(config["fit_seconds"]),
            tensors=tensors,
        )
    except _RefusedError as error:
        raise ValueError(f"{config_path} {error}") from None
    except SafetensorError as error:
        raise ValueError(f"{weights_path} is not a safetensors file: {error}") from None
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"{config_path} is not a model's config ({type(error).__name__}: {error})") from None


class _RefusedError(Exception):
    """Why a model's files are not taken."""


def _plain(value: Any) -> Any:
    """NumPy's scalars and arrays as JSON can hold them."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be saved")


def _unlist(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _card(config: dict[str, Any], kind: Kind) -> str:
    about, use = USES[kind]
    settings = config["state"].get("settings", config["parameters"])
    rows = "\n".join(f"| {name} | {value} |" for name, value in sorted(effective(settings).items()))
    loss = config["history"]["loss"]
    trained = f"Trained for {len(loss)} steps, final loss {loss[-1]:.4f}," if loss else "Fitted"
    return f"""# A fitted {config["method"]}

{about} {config["features"]["n_features"]} features.

```python
from ccassg.systems import load
model = load("this-folder")
{use}  # any graph with the same features
```

{trained} in {config["fit_seconds"]:.1f} s, by ccassg {config["versions"]["ccassg"]}
with PyTorch {config["versions"]["torch"]}.

| setting | value |
|---|---|
{rows}

What it gives reflects whatever the graph and its features contain, including their biases.
"""
