"""The Planetoid files of Cora, Citeseer and Pubmed, read without running anything they contain.

The files are pickles, and a pickle is a program. The reader admits the six names these files use and refuses
every other, so the worst a forged file can do is to be a wrong dataset.
"""

import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ccassg.datasets.cards import CARDS
from ccassg.graph import as_graph
from ccassg.graph.dataset import Dataset, Split

N_VAL = 500

# The names as written by Python 2, NumPy 1 and an old SciPy, and what they are today. NumPy's function to rebuild an
# array has moved between modules; an array's own recipe names it wherever it lies.
_ADMITTED: dict[tuple[str, str], Any] = {
    ("__builtin__", "list"): list,
    ("collections", "defaultdict"): defaultdict,
    ("numpy", "dtype"): np.dtype,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
    ("scipy.sparse.csr", "csr_matrix"): sp.csr_matrix,
}


def read_planetoid(folder: Path, name: str) -> Dataset:
    """Read the eight files ``ind.NAME.*`` in ``folder``.

    Test nodes are stored apart and out of order. Nodes that only the graph mentions (15 of Citeseer, each with an edge
    or two) have no features and no label.
    """
    x, tx = (_features(folder / f"ind.{name}.{part}") for part in ("allx", "tx"))
    y, ty = (_labels(folder / f"ind.{name}.{part}") for part in ("ally", "ty"))
    n_train = len(_labels(folder / f"ind.{name}.y"))
    test = np.array((folder / f"ind.{name}.test.index").read_text(encoding="ascii").split(), dtype=np.int64)
    if len(y) != x.shape[0] or len(ty) != tx.shape[0] or len(test) != len(ty) or x.shape[1] != tx.shape[1]:
        raise ValueError(f"the files of {name} in {folder} do not fit together; delete and fetch them again")

    n_nodes = int(test.max()) + 1
    # Row i of the graph is row source[i] of (x, tx, an empty row).
    source = np.full(n_nodes, x.shape[0] + tx.shape[0])
    source[: x.shape[0]] = np.arange(x.shape[0])
    source[test] = x.shape[0] + np.arange(len(test))
    empty = sp.csr_array((1, x.shape[1]), dtype=x.dtype)
    features = sp.vstack([x, tx, empty], format="csr")[source]
    labels = np.concatenate([y, ty, [-1]])[source]
    graph = as_graph(_edge_index(folder / f"ind.{name}.graph"), normalize_rows(features))
    return Dataset(
        graph,
        y=labels,
        class_names=CARDS[name].class_names,
        notes=graph.notes,
        name=name,
        card=CARDS[name],
        public_split=Split(np.arange(n_train), np.arange(n_train, n_train + N_VAL), np.sort(test)),
    )


def normalize_rows(features: sp.csr_array) -> sp.csr_array:
    """Divide every row by its sum, in 32 bit; empty rows stay empty."""
    sums = np.asarray(features.sum(axis=1), dtype=np.float32)
    scale = np.divide(1, sums, out=np.zeros_like(sums), where=sums > 0)
    values = features.data.astype(np.float32) * np.repeat(scale, np.diff(features.indptr))
    return sp.csr_array((values, features.indices, features.indptr), shape=features.shape)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ADMITTED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which has no place in a dataset") from None


def unpickle(path: Path) -> Any:
    """Read a pickle of lists, dicts, arrays and CSR matrices; ValueError on one that contains anything else."""
    with path.open("rb") as file:
        try:
            # The files were written by Python 2: their byte strings hold array data, one byte per character.
            return _Unpickler(file, encoding="latin1").load()
        except Exception as error:  # a broken pickle can raise almost anything
            raise ValueError(f"{path} was refused: {error}; delete it and fetch the dataset again") from error


def _features(path: Path) -> sp.csr_array:
    matrix = _expect(unpickle(path), sp.csr_matrix, path)
    try:
        rebuilt = sp.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
        rebuilt.check_format(full_check=True)
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"{path} does not hold a valid sparse matrix: {error}; fetch the dataset again") from error
    return rebuilt


def _labels(path: Path) -> Any:
    one_hot = _expect(unpickle(path), np.ndarray, path)
    if one_hot.ndim != 2 or one_hot.dtype.kind not in "iuf":
        raise ValueError(f"{path} must hold one row per node and one column per class, got shape {one_hot.shape}")
    return np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), -1).astype(np.int64)


def _edge_index(path: Path) -> Any:
    neighbours = _expect(unpickle(path), dict, path)
    sources = np.repeat(np.fromiter(neighbours, np.int64), [len(targets) for targets in neighbours.values()])
    targets = np.fromiter((target for row in neighbours.values() for target in row), np.int64)
    return np.stack([sources, targets])


def _expect(value: Any, kind: type, path: Path) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{path} must hold a {kind.__name__}, got {type(value).__name__}; fetch the dataset again")
    return value
