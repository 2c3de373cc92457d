"""Save and resume a training run, bit for bit.

A checkpoint is one safetensors file: weights, Adam's moments, history. It carries a hash of its content and the
fingerprint of its run; it is written whole or not at all, and the one before it is kept beside it.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from ccassg.graph import Array, Graph
from ccassg.io.atomic import write_bytes_atomic
from ccassg.io.folders import is_checkpoint
from ccassg.io.store import hashes_of, release
from ccassg.model.encoder import Encoder
from ccassg.training.batches import RunningMoments
from ccassg.training.settings import History, Settings

DIGEST_BYTES, PIECE_BYTES = 32, 2**24


@dataclass(frozen=True)
class State:
    """All that a run changes from step to step."""

    encoder: Encoder
    optimizer: torch.optim.Optimizer
    history: History
    moments: RunningMoments | None

    def tensors(self) -> dict[str, Tensor]:
        """Return the state after the last recorded step, by name."""
        tensors = {f"encoder.{name}": value.contiguous() for name, value in self.encoder.state_dict().items()}
        for i, parameter in enumerate(self.encoder.parameters()):
            for name, value in self.optimizer.state[parameter].items():
                tensors[f"adam.{i}.{name}"] = value.contiguous()
        for name, curve in self.history.items():
            tensors[f"history.{name}"] = torch.tensor(curve, dtype=torch.float64)
        if self.moments is not None:
            tensors |= {f"moments.{name}": value for name, value in self.moments.state().items()}
        return tensors

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Continue from a state."""

        def group(prefix: str) -> dict[str, Tensor]:
            return {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}

        self.encoder.load_state_dict(group("encoder."))
        adam = {i: group(f"adam.{i}.") for i, _ in enumerate(self.encoder.parameters())}
        self.optimizer.load_state_dict({"state": adam, "param_groups": self.optimizer.state_dict()["param_groups"]})
        for name, curve in self.history.items():
            curve[:] = tensors[f"history.{name}"].tolist()
        if self.moments is not None:
            self.moments.restore(group("moments."), self.encoder.weights[0].device)


def previous(path: Path) -> Path:
    """Return where the checkpoint before the one at ``path`` is kept."""
    return path.with_name(path.name + ".previous")


def save(path: Path, fingerprint: str, state: State) -> None:
    """Write the state after the last recorded step; the checkpoint before it stays as `previous`."""
    tensors = state.tensors()
    path.parent.mkdir(parents=True, exist_ok=True)
    content = to_bytes(tensors, {"fingerprint": fingerprint, "digest": _digest(tensors)})
    if path.exists():
        os.replace(path, previous(path))
    write_bytes_atomic(path, content)


def resume(path: Path, fingerprint: str, state: State, n_steps: int) -> bool:
    """Restore the newest whole checkpoint of this run at ``path``; False if there is none.

    A damaged file is passed over for the previous one; a checkpoint of another run, or of more steps than asked for, is refused, and
    so is what is no checkpoint.
    """
    there = [candidate for candidate in (path, previous(path)) if candidate.exists()]
    ours = [is_checkpoint(candidate) for candidate in there]
    if there and not any(ours):
        raise ValueError(
            f"{there[0]} is not a checkpoint of ccassg; give `checkpoint` another name, or remove the file"
        )
    for candidate in there:
        loaded = _read(candidate)
        if loaded is None:
            # Out of the way, so that the next save does not push it over the good one before it.
            os.replace(candidate, candidate.with_name(candidate.name + ".damaged"))
            continue
        tensors, metadata = loaded
        if metadata.get("fingerprint") != fingerprint:
            raise ValueError(
                f"{candidate} belongs to another run (other settings or another graph); delete it or choose another path"
            )
        if (n_done := len(tensors["history.loss"])) > n_steps:
            raise ValueError(
                f"{candidate} holds {n_done} steps and n_steps is {n_steps}; raise n_steps to at least {n_done}, or delete the "
                f"file to start anew"
            )
        state.restore(tensors)
        return True
    return False


def fingerprint_of(settings: Settings, graph: Graph, encoder: Encoder) -> str:
    """Hash all that the course of a run depends on; a checkpoint of another run is not resumed.

    A store's manifest says which graph it is, so that nothing of the store is read here.
    """
    known = asdict(settings) | {
        "augmentations": [_name_of(function) for function in settings.augmentations],
        "n_steps": None,  # a longer run continues a shorter one
        "graph": [graph.directed, graph.n_features, {name: hashes_of(array) for name, array in _arrays(graph).items()}],
        "dims": encoder.dims,
        "propagate": encoder.propagate,
    }
    del known["stop_when_flat"]  # where a run ends, not how it goes
    return hashlib.blake2b(json.dumps(known, sort_keys=True).encode(), digest_size=DIGEST_BYTES).hexdigest()


def digest_of(arrays: Mapping[str, Array]) -> str:
    """Hash named arrays, each with its type and shape; a piece at a time, for they may lie in a store."""
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        for start in range(0, len(content), PIECE_BYTES):
            digest.update(content[start : start + PIECE_BYTES].data)
            release(array)
    return digest.hexdigest()


def _arrays(graph: Graph) -> dict[str, Array]:
    """Return all arrays of a graph that training reads, so that nothing is continued on one that was edited."""
    features: Any = graph.features
    arrays = {"indptr": graph.indptr, "indices": graph.indices, "weights": graph.weights}
    if sp.issparse(features):
        arrays |= {f"features.{part}": getattr(features, part) for part in ("indptr", "indices", "data")}
    else:
        arrays["features"] = features
    return {name: array for name, array in arrays.items() if array is not None}


def _name_of(function: Any) -> list[str]:
    """Name a function by where it is and what it does; what it was bound to cannot be told from one process to another."""
    code = getattr(function, "__code__", None)
    does = [] if code is None else [code.co_code.hex(), *code.co_names]
    # Functions within it would show where they lie in memory.
    does += [repr(value) for value in getattr(code, "co_consts", ()) if isinstance(value, (int, float, str, bytes))]
    return [getattr(function, "__module__", ""), getattr(function, "__qualname__", type(function).__qualname__), *does]


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]] | None:
    """Tensors and metadata of a whole, unaltered file; None otherwise."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError):
        return None
    return (tensors, metadata) if metadata.get("digest") == _digest(tensors) else None


def _digest(tensors: dict[str, Tensor]) -> str:
    return digest_of({name: tensor.cpu().numpy() for name, tensor in tensors.items()})
