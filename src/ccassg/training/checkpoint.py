"""Save and resume a training run, bit for bit.

A checkpoint is one safetensors file: weights, Adam's moments, history. It carries a hash of its content and the
fingerprint of its run; it is written whole or not at all, and the one before it is kept beside it.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from ccassg.io.atomic import write_bytes_atomic

if TYPE_CHECKING:
    from ccassg.model.encoder import Encoder
    from ccassg.training.batches import RunningMoments
    from ccassg.training.loop import History

_PARTS = ("loss", "invariance", "decorrelation")


def previous(path: Path) -> Path:
    """Where the checkpoint before the one at ``path`` is kept."""
    return path.with_name(path.name + ".previous")


def save(
    path: Path,
    fingerprint: str,
    encoder: Encoder,
    optimizer: torch.optim.Optimizer,
    history: History,
    moments: RunningMoments | None = None,
) -> None:
    """Write the state after the last recorded step; the checkpoint before it stays as `previous`."""
    tensors = {f"encoder.{name}": value.contiguous() for name, value in encoder.state_dict().items()}
    for i, parameter in enumerate(encoder.parameters()):
        for name, value in optimizer.state[parameter].items():
            tensors[f"adam.{i}.{name}"] = value.contiguous()
    for part in _PARTS:
        tensors[f"history.{part}"] = torch.tensor(getattr(history, part), dtype=torch.float64)
    if moments is not None:
        tensors |= {f"moments.{name}": value for name, value in moments.state().items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"fingerprint": fingerprint, "sha256": _digest(tensors)}
    content = to_bytes(tensors, metadata)
    if path.exists():
        os.replace(path, previous(path))
    write_bytes_atomic(path, content)


def resume(
    path: Path,
    fingerprint: str,
    encoder: Encoder,
    optimizer: torch.optim.Optimizer,
    history: History,
    moments: RunningMoments | None = None,
) -> bool:
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
        _restore(tensors, encoder, optimizer, history)
        if moments is not None:
            kept = {
                name.removeprefix("moments."): value for name, value in tensors.items() if name.startswith("moments.")
            }
            moments.restore(kept, encoder.weights[0].device)
        return True
    return False


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]] | None:
    """Tensors and metadata of a whole, unaltered file; None otherwise."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError):
        return None
    return (tensors, metadata) if metadata.get("sha256") == _digest(tensors) else None


def _restore(tensors: dict[str, Tensor], encoder: Encoder, optimizer: torch.optim.Optimizer, history: History) -> None:
    weights = {name.removeprefix("encoder."): value for name, value in tensors.items() if name.startswith("encoder.")}
    encoder.load_state_dict(weights)
    state: dict[int, dict[str, Any]] = {}
    for name, value in tensors.items():
        if name.startswith("adam."):
            _, index, key = name.split(".")
            state.setdefault(int(index), {})[key] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    for part in _PARTS:
        setattr(history, part, tensors[f"history.{part}"].tolist())


def _digest(tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(
            tensors[name].cpu().contiguous().view(torch.uint8).numpy().tobytes()
            if tensors[name].ndim
            else str(tensors[name].item()).encode()
        )
    return digest.hexdigest()
