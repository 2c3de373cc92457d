"""Checks at the door of every score: embeddings, labels, splits."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from torch import Tensor

Array: TypeAlias = npt.NDArray[Any]


class Split(Protocol):
    """Three disjoint sets of node indices."""

    @property
    def train(self) -> Array:
        """Nodes a classifier is trained on."""

    @property
    def val(self) -> Array:
        """Nodes everything is chosen on."""

    @property
    def test(self) -> Array:
        """Nodes read once, at the end."""


def check_embedding(z: Any, name: str = "z") -> Array:
    """One embedding as a finite float array of shape (n, d), float64 if given so, else float32; copied only if needed."""
    array = z.detach().cpu().numpy() if isinstance(z, Tensor) else np.asarray(z)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name} must have shape (nodes, dimensions), both at least 1, got {array.shape}")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be numeric, got dtype {array.dtype}")
    array = array.astype(np.float64 if array.dtype == np.float64 else np.float32, copy=False)
    # The sum is one pass without a copy; only if it is not finite is it worth looking for the reason.
    if not np.isfinite(array.sum(dtype=np.float64)) and not (finite := np.isfinite(array).all(1)).all():
        raise ValueError(
            f"{name} has NaN or infinite values in {int((~finite).sum())} rows, first in row {int(np.argmin(finite))}; "
            "embeddings must be finite"
        )
    return array


def check_embeddings(z: Any) -> list[Any]:
    """One embedding (n, d), or several as (r, n, d) or a sequence, as a list of 2-D arrays of one shape. No copies."""
    if isinstance(z, Tensor) or hasattr(z, "ndim"):
        if z.ndim not in (2, 3):
            raise ValueError(f"z must have shape (n, d) or (r, n, d), got {tuple(z.shape)}")
        many = [z] if z.ndim == 2 else list(z)
    else:
        many = list(z)
        if many and not hasattr(many[0], "ndim"):  # a list of lists of numbers is one embedding
            many = list(np.asarray(z)[None]) if np.ndim(z) == 2 else [np.asarray(one) for one in many]
    if not many:
        raise ValueError("z is empty; give at least one embedding")
    arrays = [check_embedding(one, "z" if len(many) == 1 else f"z[{i}]") for i, one in enumerate(many)]
    for i, array in enumerate(arrays):
        if array.shape != arrays[0].shape or array.dtype != arrays[0].dtype:
            raise ValueError(
                f"all embeddings must have one shape and dtype, got {arrays[0].shape} {arrays[0].dtype} and, "
                f"at position {i}, {array.shape} {array.dtype}"
            )
    return arrays


def check_labels(y: npt.ArrayLike | Tensor, n_nodes: int) -> Array:
    """Labels as int64 of shape (n,), classes from 0, -1 for none; at least one label."""
    labels = y.detach().cpu().numpy() if isinstance(y, Tensor) else np.asarray(y)
    if labels.shape != (n_nodes,):
        raise ValueError(f"y has shape {labels.shape}, but the embedding has {n_nodes} rows; give one label per row")
    if labels.dtype.kind not in "biu":
        raise ValueError(
            f"y must hold integers (classes from 0, -1 for none), got dtype {labels.dtype}; number the classes, e.g. by "
            "numpy.unique(y, return_inverse=True)"
        )
    labels = labels.astype(np.int64)
    if labels.min() < -1:
        raise ValueError(f"y must hold classes from 0, or -1 for nodes without label, got {labels.min()}")
    if labels.max() < 0:
        raise ValueError("no node has a label (all are -1); nothing can be evaluated")
    return labels


def check_split(split: Split, labels: Array, name: str = "split") -> dict[str, Array]:
    """The three parts as int64 arrays: not empty, in range, labelled; test apart from train and val."""
    parts: dict[str, Array] = {}
    for part in ("train", "val", "test"):
        given = getattr(split, part, None)
        if given is None:
            raise ValueError(f"{name} has no attribute {part!r}; it needs index arrays train, val and test")
        nodes = given.detach().cpu().numpy() if isinstance(given, Tensor) else np.asarray(given)
        if nodes.ndim != 1 or nodes.size == 0:
            raise ValueError(f"{name}.{part} must be a list of at least one node, got shape {nodes.shape}")
        if nodes.dtype.kind not in "iu":
            raise ValueError(
                f"{name}.{part} must hold node indices, got dtype {nodes.dtype}; for a mask use numpy.flatnonzero(mask)"
            )
        if nodes.min() < 0 or nodes.max() >= len(labels):
            raise ValueError(
                f"{name}.{part} names node {nodes.min() if nodes.min() < 0 else nodes.max()}, but nodes are 0 .. "
                f"{len(labels) - 1}"
            )
        if (labels[nodes] < 0).any():
            bad = nodes[labels[nodes] < 0]
            raise ValueError(
                f"{name}.{part} names {len(bad)} nodes without a label (y = -1), first {bad[0]}; leave them out"
            )
        parts[part] = nodes.astype(np.int64)
    for part in ("train", "val"):
        if (shared := np.intersect1d(parts[part], parts["test"])).size:
            raise ValueError(
                f"{name}.{part} and {name}.test share {shared.size} nodes, first {shared[0]}; a test node must not be "
                "used before the end"
            )
    return parts
