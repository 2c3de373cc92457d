"""Checks at the door of every score: embeddings, labels, splits."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from ccassg.graph import Array, Split
from ccassg.graph.checks import check_count, shown

# NumPy's generators, and scikit-learn's with them, take no more; and nobody waits for more runs.
MAX_SEED, MAX_RUNS = 2**32 - 1, 10_000


def check_embedding(z: Any, name: str = "z") -> Array:
    """Return one embedding as a finite array (n, d) of float64 if given so, else float32; copied only if needed."""
    array = _as_array(z)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name} must have shape (nodes, dimensions), both at least 1, got {array.shape}")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be numeric, got dtype {array.dtype}")
    array = array.astype(np.float64 if array.dtype == np.float64 else np.float32, copy=False)
    # The sum is one pass without a copy; only if it is not finite is it worth looking for the reason.
    with np.errstate(over="ignore", invalid="ignore"):
        total = array.sum(dtype=np.float64)
    if not np.isfinite(total) and not (finite := np.isfinite(array).all(1)).all():
        raise ValueError(
            f"{name} has NaN or infinite values in {int((~finite).sum())} rows, first in row {int(np.argmin(finite))}; "
            "embeddings must be finite"
        )
    return array


def check_embeddings(z: Any) -> list[Any]:
    """Return one embedding (n, d), or several as (r, n, d) or a sequence, as a list of arrays of one shape. No copies."""
    if hasattr(z, "ndim"):
        if z.ndim not in (2, 3):
            raise ValueError(f"z must have shape (n, d) or (r, n, d), got {tuple(z.shape)}")
        many = [z] if z.ndim == 2 else list(z)
    else:
        many = list(z)
        if many and not hasattr(many[0], "ndim"):  # a list of lists of numbers is one embedding
            many = list(np.asarray(z)[None]) if np.ndim(z) == 2 else [np.asarray(one) for one in many]
    if not many:
        raise ValueError("z is empty; give at least one embedding")
    arrays = [_check_any(one, "z" if len(many) == 1 else f"z[{i}]") for i, one in enumerate(many)]
    for i, array in enumerate(arrays):
        if array.shape != arrays[0].shape or array.dtype != arrays[0].dtype:
            raise ValueError(
                f"all embeddings must have one shape and dtype, got {arrays[0].shape} {arrays[0].dtype} and, "
                f"at position {i}, {array.shape} {array.dtype}"
            )
    return arrays


def check_labels(y: Any, n_nodes: int) -> Array:
    """Return labels as int64 of shape (n,), classes from 0, -1 for none; at least one label.

    Names of classes are numbered in alphabetical order; None, NaN and "" are none.
    """
    labels = _numbered(_as_array(y))
    if labels.shape != (n_nodes,):
        raise ValueError(f"y has shape {labels.shape}, but the embedding has {n_nodes} rows; give one label per row")
    if labels.dtype.kind not in "biu":
        raise ValueError(
            f"y must hold integers (classes from 0, -1 for none) or names of classes, got dtype {labels.dtype}; number the classes, "
            "e.g. by numpy.unique(y, return_inverse=True)"
        )
    labels = labels.astype(np.int64)
    if labels.min() < -1:
        raise ValueError(f"y must hold classes from 0, or -1 for nodes without label, got {labels.min()}")
    if labels.max() < 0:
        raise ValueError("no node has a label (all are -1); nothing can be evaluated")
    return labels


def check_seeds(seeds: Any) -> int | list[int]:
    """Return one seed, or a list of them, at least one; whole numbers from 0."""
    if isinstance(seeds, (int, np.integer)):
        return check_count("seeds", seeds, 0, MAX_SEED)
    if isinstance(seeds, range) and len(seeds[: MAX_RUNS + 1]) > MAX_RUNS:
        raise ValueError(f"seeds must be at most {MAX_RUNS}, got {shown(seeds)}")
    given = [check_count("seeds", seed, 0, MAX_SEED) for seed in seeds]
    if not given:
        raise ValueError("seeds is empty; give at least one")
    return given


def check_split(split: Split, labels: Array, name: str = "split") -> dict[str, Array]:
    """Return the three parts as int64 arrays: not empty, in range, labelled; test apart from train and val.

    Any object with index arrays ``train``, ``val`` and ``test`` will do.
    """
    parts: dict[str, Array] = {}
    for part in ("train", "val", "test"):
        given = getattr(split, part, None)
        if given is None:
            raise ValueError(f"{name} has no attribute {part!r}; it needs index arrays train, val and test")
        nodes = _as_array(given)
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


def _numbered(labels: Array) -> Array:
    """Number classes that are text, and return any other labels as they are."""
    if labels.dtype.kind not in "UTO" or labels.ndim != 1:
        return labels
    names = labels.tolist()
    if not all(name is None or isinstance(name, str) or (isinstance(name, float) and name != name) for name in names):
        return labels
    number = {name: i for i, name in enumerate(sorted({name for name in names if name and isinstance(name, str)}))}
    return np.array([number.get(name, -1) for name in names])


def _check_any(z: Any, name: str) -> Any:
    """Check a matrix that may be sparse, as features are."""
    if not sp.issparse(z):
        return check_embedding(z, name)
    rows = z.tocsr()
    check_embedding(rows.data[:, None] if rows.nnz else np.zeros((1, 1)), f"{name}.data")
    return rows.astype(np.float64 if rows.dtype == np.float64 else np.float32, copy=False)


def _as_array(values: Any) -> Array:
    """Return a tensor or anything array-like as a NumPy array."""
    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
