"""Read matrices and vectors in NumPy and SciPy files: never a pickle, never more than the file can hold."""

import math
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from ccassg.graph.checks import Array, Features, check_features
from ccassg.io.files import (
    PathLike,
    open_regular,
    read_json,
    require_budget,
    require_kind,
    require_room,
    suffix_of,
    vetted,
)
from ccassg.io.matrix_market import read_mtx_features
from ccassg.io.tables import is_path, shown

MATRIX_SUFFIXES = (".npy", ".npz", ".mtx", ".mm")
FLOAT_BYTES = 4  # features become floats of 32 bits


class Matrix(NamedTuple):
    """Features in memory, (n, n_features), in the order of the nodes, with the names of the columns where they have any."""

    values: Any
    names: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return "the matrix of features"


def is_matrix(source: Any) -> bool:
    """Return whether features are a matrix, in memory or in a file, whose rows have no ids of their own."""
    return isinstance(source, Matrix) or (is_path(source) and suffix_of(source) in MATRIX_SUFFIXES)


def each_of(features: Any) -> list[Any]:
    """Return the sources of features, of which there may be several."""
    return list(features) if isinstance(features, (list, tuple)) and not isinstance(features, Matrix) else [features]


def read_matrix(path: PathLike) -> Features:
    """Read features (n, n_features) in a ``.npy``, a SciPy ``.npz`` (CSR, CSC, COO), a NumPy ``.npz`` with one array or a ``.mtx``.

    ValueError on pickled objects, sizes the file cannot hold, indices out of range, values that are not finite numbers.
    """
    with vetted(path) as file:
        if suffix_of(file) == ".npy":
            return check_features(read_npy(file))
        if suffix_of(file) != ".npz":
            return check_features(read_mtx_features(file))
        arrays = read_arrays(file)
        if "format" in arrays:
            return check_features(sparse_of(file, arrays))
        if len(arrays) != 1:
            raise ValueError(f"{file} holds {len(arrays)} arrays; keep one, or save it with scipy.sparse.save_npz")
        return check_features(next(iter(arrays.values())))


def read_npy(path: PathLike) -> Array:
    """Read the array of a ``.npy`` file, without pickles; a header that promises more than the file holds is refused."""
    with vetted(path, "NumPy .npy") as file:
        with open_regular(file) as content:
            _require_room(file, file.name, *_read_header(file, file.name, content))
        # Mapping compares the promised size with the real one before any memory is taken.
        mapped = np.load(file, mmap_mode="r", allow_pickle=False)
        return np.array(mapped, subok=False)


def read_vector(path: PathLike) -> pa.Array | None:
    """Read ids or labels in a ``.npy`` or ``.json`` file; None for any other suffix (these are tables)."""
    suffix = suffix_of(path)
    if suffix not in (".npy", ".json"):
        return None
    with vetted(path) as file:
        if suffix == ".npy":
            array = read_npy(file)
            if array.ndim != 1 or array.dtype.kind not in "iufUb":
                raise ValueError(
                    f"{file}: expected one dimension of integers or strings, got shape {array.shape} of {array.dtype}"
                )
            return pa.array(array)
        content = read_json(file, parse_int=parse_integer)
        values = content.get("ids") if isinstance(content, dict) else content
        kinds = set(map(type, values)) if isinstance(values, list) else {object}
        if not (kinds <= {str} or kinds == {int}):
            raise ValueError(f"{file}: expected a list of integers or a list of strings")
        return pa.array(values, pa.large_string() if kinds <= {str} else pa.int64())


def read_arrays(path: Path, wanted: Collection[str] | None = None) -> dict[str, Array]:
    """Read the arrays of a ``.npz`` file, all or those of the names ``wanted`` that it has; what is pickled is refused."""
    require_kind(path, "zip (.npz, .xlsx)")
    with zipfile.ZipFile(path) as archive:
        members = [m for m in archive.infolist() if wanted is None or m.filename.removesuffix(".npy") in wanted]
        total = sum(member.file_size for member in members)
        require_budget(path, total, "decompressed", "save it again with compressed=False")
        for member in members:
            _check_member(path, archive, member)
    with np.load(path, allow_pickle=False) as content:
        return {name: content[name] for name in (member.filename.removesuffix(".npy") for member in members)}


def sparse_of(path: Path, parts: Mapping[str, Array]) -> sp.csr_array:
    """Put a sparse matrix together; one of no common kind, or of rows and columns out of proportion to the file is refused."""
    kind = parts["format"].item() if "format" in parts else "csr"
    kind = kind.decode(errors="replace") if isinstance(kind, bytes) else str(kind)
    if kind not in ("csr", "csc", "coo"):
        raise ValueError(f"{path} is a sparse matrix of the format {kind[:60]!r}; save its .tocsr()")
    shape = tuple(map(int, parts["shape"].tolist()))
    require_room(path, max(shape), f"claims the shape {shape}")
    if kind == "coo":
        return sp.csr_array(sp.coo_array((parts["data"], (parts["row"], parts["col"])), shape))
    make = sp.csr_array if kind == "csr" else sp.csc_array
    matrix = make((parts["data"], parts["indices"], parts["indptr"]), shape)
    matrix.check_format(full_check=True)  # SciPy trusts the indices of these
    return sp.csr_array(matrix)


def _check_member(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Compare what an array in the archive promises with the room it has."""
    if not member.filename.endswith(".npy") or "/" in member.filename or "\\" in member.filename:
        raise ValueError(f"{path} holds {member.filename[:60]!r}, which no NumPy archive does")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{path}: {member.filename[:60]} is compressed as no NumPy archive is; save it with np.savez")
    with archive.open(member) as stream:
        shape, dtype = _read_header(path, member.filename, stream)
    if any(length < 0 for length in shape) or math.prod(shape) * dtype.itemsize > member.file_size:
        raise ValueError(f"{path}: {member.filename} promises the shape {shape}, more than it holds")
    _require_room(path, member.filename, shape, dtype)


def _read_header(path: Path, name: str, stream: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Read the shape and type that an array in NumPy's format claims; pickled objects are refused."""
    version = np.lib.format.read_magic(stream)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read_header is None:
        raise ValueError(f"{path}: {name} has the unknown version {version}")
    shape, _, dtype = read_header(stream)
    if dtype.hasobject:
        raise ValueError(f"{path}: {name} holds pickled objects, which are never loaded; save plain numbers")
    return shape, dtype


def _require_room(path: Path, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse an array that would outgrow the file's budget, and one of so many rows or columns that hold nothing."""
    n_values = math.prod(shape)
    if n_values and not dtype.itemsize:
        raise ValueError(f"{path}: {name} holds {dtype} without any width; save it again")
    require_budget(
        path, n_values * (dtype.itemsize + FLOAT_BYTES), "decoded", "save it as 32-bit floats, with compressed=False"
    )
    if len(shape) > 1:
        require_room(path, max(shape) if not n_values else shape[-1], f"claims the shape {shape}")


def parse_integer(text: str) -> int:
    """Return an integer in JSON; Python's own errors for long ones are about its not about the file."""
    if len(text) > 20 or not -(2**63) <= int(text) < 2**63:
        raise ValueError(f"the integer {shown(text)} ({len(text):,} digits) does not fit 64 bits; write it as a string")
    return int(text)
