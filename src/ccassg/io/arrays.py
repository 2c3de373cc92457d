"""Read matrices and vectors in NumPy and SciPy files: never a pickle, never more than the file can hold."""

import json
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from ccassg.graph.checks import Array, Features, check_features
from ccassg.io.files import LIMITS, Limits, PathLike, check_file, one_sentence, require_kind, suffix_of

MATRIX_SUFFIXES = (".npy", ".npz")


def read_matrix(path: PathLike, limits: Limits = LIMITS) -> Features:
    """Read features (n, n_features) in a ``.npy``, a SciPy ``.npz`` (CSR, CSC, COO) or a NumPy ``.npz`` with one array.

    ValueError on pickled objects, sizes the file cannot hold, indices out of range, values that are not finite numbers.
    """
    file = check_file(path)
    with one_sentence(file):
        if suffix_of(file) == ".npz":
            return check_features(_read_npz(file, limits))
        return check_features(read_npy(file))


def read_npy(path: PathLike) -> Array:
    """Read the array of a ``.npy`` file, without pickles; a header that promises more than the file holds is refused."""
    file = check_file(path)
    require_kind(file, "NumPy .npy")
    with one_sentence(file):
        # Mapping compares the promised size with the real one before any memory is taken.
        mapped = np.load(file, mmap_mode="r", allow_pickle=False)
        return np.array(mapped, subok=False)


def read_vector(path: PathLike) -> pa.Array | None:
    """Read ids or labels in a ``.npy`` or ``.json`` file; None for any other suffix (these are tables)."""
    suffix = suffix_of(path)
    if suffix not in (".npy", ".json"):
        return None
    file = check_file(path)
    with one_sentence(file):
        if suffix == ".npy":
            array = read_npy(file)
            if array.ndim != 1 or array.dtype.kind not in "iufUb":
                raise ValueError(
                    f"{file}: expected one dimension of integers or strings, got shape {array.shape} of {array.dtype}"
                )
            return pa.array(array)
        content = json.loads(file.read_text(encoding="utf-8"))
        values = content.get("ids") if isinstance(content, dict) else content
        if not isinstance(values, list) or not _all_of(values, str) | _all_of(values, int):
            raise ValueError(f"{file}: expected a list of integers or a list of strings")
        return pa.array(values, pa.large_string() if _all_of(values, str) else pa.int64())


def _read_npz(path: Path, limits: Limits) -> Any:
    require_kind(path, "zip (.npz, .xlsx)")
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        total = sum(member.file_size for member in members)
        if total > limits.budget(path):
            raise ValueError(
                f"{path} grows to {total:,} bytes, more than {limits.growth} times its size; if you trust it, save it again "
                f"with compressed=False"
            )
        names = {member.filename for member in members}
        for member in members:
            _check_member(path, archive, member)
    if "format.npy" not in names:
        if len(names) != 1:
            raise ValueError(f"{path} holds {len(names)} arrays; keep one, or save it with scipy.sparse.save_npz")
        with np.load(path, allow_pickle=False) as content:
            return content[content.files[0]]
    matrix = sp.load_npz(path)
    if matrix.format not in ("csr", "csc", "coo"):
        raise ValueError(f"{path} is a sparse matrix of the format {matrix.format!r}; save its .tocsr()")
    if max(matrix.shape) > limits.free_rows + limits.budget(path):
        raise ValueError(f"{path} claims the shape {matrix.shape}, out of proportion to its size; is it damaged?")
    if matrix.format != "coo":  # SciPy checks the indices of that one itself, and trusts those of the others
        matrix.check_format(full_check=True)
    return sp.csr_array(matrix)


def _check_member(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Compare what an array in the archive promises with the room it has."""
    if not member.filename.endswith(".npy") or "/" in member.filename or "\\" in member.filename:
        raise ValueError(f"{path} holds {member.filename[:60]!r}, which no NumPy archive does")
    with archive.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version)
        if read_header is None:
            raise ValueError(f"{path}: {member.filename} has the unknown version {version}")
        shape, _, dtype = read_header(stream)
    if dtype.hasobject:
        raise ValueError(f"{path}: {member.filename} holds pickled objects, which are never loaded; save plain numbers")
    if any(length < 0 for length in shape) or math.prod(shape) * dtype.itemsize > member.file_size:
        raise ValueError(f"{path}: {member.filename} promises the shape {shape}, more than it holds")


def _all_of(values: list[Any], kind: type) -> bool:
    return all(type(value) is kind for value in values)
