"""Save and resume a training run, bit for bit.

A checkpoint is one safetensors file: weights, Adam's moments, history. It carries a hash of its content and the
fingerprint of its run; it is written whole or not at all, and the one before it is kept beside it.
"""

import hashlib
import json
import os
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from ccassg.graph import Graph
from ccassg.io.atomic import write_bytes_atomic
from ccassg.io.store import release
from ccassg.model.encoder import Encoder
from ccassg.training.batches import RunningMoments
from ccassg.training.settings import History, Settings

CHECKSUM_BYTES = 2**24


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
    content = to_bytes(tensors, {"fingerprint": fingerprint, "sha256": _digest(tensors)})
    if path.exists():
        os.replace(path, previous(path))
    write_bytes_atomic(path, content)


def resume(path: Path, fingerprint: str, state: State) -> bool:
    """Restore the newest whole checkpoint of this run at ``path``; False if there is none.

    A damaged file is passed over for the previous one; a checkpoint of another run is refused.
    """
    for candidate in (path, previous(path)):
        if not candidate.exists():
            continue
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
        state.restore(tensors)
        return True
    return False


def fingerprint_of(settings: Settings, graph: Graph, encoder: Encoder) -> str:
    """Hash all that the course of a run depends on; a checkpoint of another run is not resumed."""
    known = asdict(settings) | {
        "augmentations": [getattr(f, "__qualname__", repr(f)) for f in settings.augmentations],
        "n_steps": None,  # a longer run continues a shorter one
        "graph": [graph.n_nodes, graph.n_edges, graph.n_features, checksum(graph)],
        "dims": encoder.dims,
        "propagate": encoder.propagate,
    }
    del known["stop_when_flat"]  # where a run ends, not how it goes
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


def checksum(graph: Graph) -> int:
    """Sum up structure, weights and features, so that nothing is continued on a graph that was edited."""
    features: Any = graph.features
    parts = [graph.indptr, graph.indices] + ([] if graph.weights is None else [graph.weights])
    parts += [features.data, features.indices] if hasattr(features, "indices") else [features]
    total = 0
    for part in parts:
        content = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
        for start in range(0, len(content), CHECKSUM_BYTES):
            total = zlib.crc32(content[start : start + CHECKSUM_BYTES].data, total)
            release(part)
    return total


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]] | None:
    """Tensors and metadata of a whole, unaltered file; None otherwise."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError):
        return None
    return (tensors, metadata) if metadata.get("sha256") == _digest(tensors) else None


def _digest(tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode())
        tensor = tensors[name].cpu().contiguous()
        digest.update(tensor.view(torch.uint8).numpy().tobytes() if tensor.ndim else str(tensor.item()).encode())
    return digest.hexdigest()
