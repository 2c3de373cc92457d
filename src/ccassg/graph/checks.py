"""Check the parts of a graph: features and ids. ValueError otherwise, with the way out."""

import math
import reprlib
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Array: TypeAlias = npt.NDArray[Any]
Features: TypeAlias = Array | sp.csr_array
TOO_SMALL = 1e-30  # squares of smaller 32-bit numbers, and their sums over a few columns, are 0

# The largest number in 32 bits, and the largest whole one that every library takes.
MAX_NUMBER, MAX_WHOLE = float(np.finfo(np.float32).max), 2**63 - 1
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60


def check_features(features: Any, n_nodes: int | None = None) -> Features:
    """Return features as finite 32-bit floats, dense (C order) or CSR, one row per node; ValueError otherwise."""
    features = without_torch(features)
    if not sp.issparse(features):
        try:
            features = np.asarray(features)
        except (ValueError, TypeError) as error:
            raise ValueError(f"features cannot be read as an array: {error}") from None
    if features.ndim != 2:
        raise ValueError(f"features must have two dimensions (nodes, features), got shape {features.shape}")
    if features.shape[1] == 0:
        raise ValueError(f"features must have at least one column, got shape {features.shape}; leave them out instead")
    if n_nodes is not None and features.shape[0] != n_nodes:
        raise ValueError(f"features has {features.shape[0]} rows, but the graph has {n_nodes} nodes; give one row each")
    if features.dtype.kind not in "biuf":
        raise ValueError(f"features must be numeric, got dtype {features.dtype}; encode text and categories first")
    matrix: Features
    with np.errstate(over="ignore"):
        if sp.issparse(features):
            matrix = sp.csr_array(features, dtype=np.float32)
            if not matrix.has_canonical_format:
                matrix = matrix.copy()  # it may share memory with the user's
                matrix.sum_duplicates()
            values = matrix.data
        else:
            matrix = values = np.ascontiguousarray(features, dtype=np.float32)
    require_finite("features", values)
    largest = max(float(values.max()), -float(values.min())) if values.size else 0.0
    if 0 < largest < TOO_SMALL:
        raise ValueError(
            f"features are too small for 32-bit numbers, at most {largest:.3g}; multiply them by {1 / largest:.0e}"
        )
    return matrix


def without_torch(values: Any) -> Any:
    """Return a torch tensor as a NumPy array, a sparse one as a SciPy array, and anything else as it is; torch is not imported."""
    if not (hasattr(values, "detach") and hasattr(values, "layout")):
        return values
    tensor = values.detach().cpu()
    if str(tensor.layout) == "torch.strided":
        return tensor.numpy()
    coo = tensor.to_sparse_coo().coalesce()
    if coo.dense_dim() or coo.sparse_dim() != 2:
        raise ValueError(f"a sparse tensor must have two dimensions, both sparse, got shape {tuple(coo.shape)}")
    return sp.coo_array((coo.values().numpy(), tuple(coo.indices().numpy())), shape=tuple(coo.shape))


def check_ids(ids: Any, n: int) -> Array:
    """Return names of n nodes, all different, as an array; a mixture of kinds keeps its kinds."""
    if isinstance(ids, np.ndarray):
        array = ids
    else:
        names: Sequence[Any] = ids.tolist() if hasattr(ids, "tolist") else list(ids)
        if names and all(isinstance(name, (int, np.integer)) for name in names):
            array = np.asarray(names)
        else:  # NumPy would give every string the width of the longest, and turn a mixture into text
            array = np.empty(len(names), dtype=object)
            array[:] = names
    if array.shape != (n,):
        raise ValueError(f"node_ids has {len(array)} entries, but the graph has {n} nodes; give one each")
    counts = Counter(array.tolist())
    if len(counts) != n:
        first = max(array.tolist(), key=counts.__getitem__)
        raise ValueError(f"node_ids must all be different, {first!r} occurs more than once")
    return array


def require_finite(name: str, values: Array, first: int = 0) -> None:
    """Refuse NaN, infinity and what is infinite in 32 bits; ``first`` is the position of the first of the values."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum()
    if values.size and not np.isfinite(total) and not np.isfinite(values).all():
        bad = np.argwhere(~np.isfinite(values))
        where = (first + int(bad[0][0]), *(int(i) for i in bad[0][1:]))
        raise ValueError(
            f"{name} must be finite 32-bit numbers, got {len(bad)} that are not (NaN, infinite or beyond 3e38; the first "
            f"at {where}); impute, drop or rescale them"
        )


def check_count(name: str, value: Any, least: int = 0, most: int | None = None) -> int:
    """Return a whole number within its limits; ValueError otherwise."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} must be an integer, at least {least}, got {shown(value)}")
    if most is not None and value > most:
        raise ValueError(f"{name} must be at most {most}, got {shown(value)}")
    return int(value)


def check_number(name: str, value: Any, least: float = 0.0) -> float:
    """Return a number within its limits; ValueError otherwise, for NaN and infinity too."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not least <= value < math.inf:
        raise ValueError(f"{name} must be a finite number, at least {least:g}, got {shown(value)}")
    most = MAX_NUMBER if isinstance(value, (float, np.floating)) else MAX_WHOLE
    if value > most:
        raise ValueError(f"{name} must be at most {most:g}, got {shown(value)}")
    return float(value)


def check_kind(name: str, value: Any, kind: type, way_out: str) -> None:
    """Refuse what is no object of a class of ours."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a {kind.__name__}, got {shown(value)}; {way_out}")


def check_nodes(name: str, nodes: Any, n: int) -> npt.NDArray[np.int64]:
    """Return numbers of some of n nodes, or what a mask picks, as a flat array; ValueError otherwise."""
    try:
        numbers = np.asarray(nodes)
    except (ValueError, TypeError):
        numbers = np.asarray(None)
    if numbers.shape == (n,) and numbers.dtype == bool:
        return np.flatnonzero(numbers)
    if numbers.ndim != 1 or (numbers.dtype.kind not in "iu" and numbers.size):
        raise ValueError(f"{name} must be a list of node numbers, from 0, got {shown(nodes)}")
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < n):
        raise ValueError(
            f"{name} must be in 0 .. {n - 1}, the nodes of the graph, got "
            f"{numbers.min() if numbers.min() < 0 else numbers.max()}"
        )
    return numbers.astype(np.int64)


def check_callable(name: str, value: Any) -> None:
    """Refuse what is neither a function nor None."""
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be a function, got {shown(value)}")


def shown(value: Any) -> str:
    """Return a value for a message: short, in one line, whatever it is."""
    try:
        return " ".join(_SHORT.repr(value).split())
    except Exception:  # a whole number of thousands of digits has no text, and a class of the user does what it likes
        return f"a value of type {type(value).__name__}"


def choose_from(name: Any, names: Iterable[str]) -> str:
    """Return the way out for a name that is none of these, for a message: the one most like it, else all."""
    known = list(names)
    near = get_close_matches(str(name), known, 1)
    return f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(known)}"


def mapped(array: Any) -> np.memmap[Any, Any] | None:
    """Return the memory-mapped array that an array, or the values of a sparse one, is or is a view of; None if it is in memory."""
    array = array.data if sp.issparse(array) else array
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array
