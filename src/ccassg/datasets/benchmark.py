"""The files of gnn-benchmark (Amazon and Coauthor): CSR parts of adjacency and features, and labels, in one npz."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ccassg.datasets.cards import CARDS
from ccassg.graph import as_graph
from ccassg.graph.dataset import Dataset


def read_benchmark(path: Path, name: str) -> Dataset:
    """Read one npz file. Features stay raw and sparse; the directed edges of the Amazon files get their reverse.

    Only the arrays needed are touched, and pickled ones never: some public files carry names of nodes and words in
    that form.
    """
    try:
        with np.load(path, allow_pickle=False) as parts:
            adjacency = _csr(parts, "adj")
            features = _csr(parts, "attr")
            y = parts["labels"].astype(np.int64)
            class_names = _class_names(parts, name)
    except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        # Not there, not readable: nothing to do with content.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(
            f"{path} is not a gnn-benchmark file ({error}); delete it and run: ccassg datasets fetch {name}"
        ) from error
    if y.shape != (adjacency.shape[0],):
        raise ValueError(f"{path} has labels of shape {y.shape} for {adjacency.shape[0]} nodes; fetch it again")
    adjacency.eliminate_zeros()
    features.eliminate_zeros()
    # The edges carry no weights: presence is all that counts.
    graph = as_graph(adjacency.astype(bool), features)
    return Dataset(graph, y, class_names, notes=graph.notes, name=name, card=CARDS[name])


def _csr(parts: Any, prefix: str) -> sp.csr_array:
    data, indices, indptr = (parts[f"{prefix}_{part}"] for part in ("data", "indices", "indptr"))
    matrix = sp.csr_array((data, indices, indptr), shape=tuple(parts[f"{prefix}_shape"].tolist()))
    matrix.check_format(full_check=True)
    return matrix


def _class_names(parts: Any, name: str) -> tuple[str, ...]:
    """Return the file's names of its classes, or the card's where they are missing or pickled."""
    try:
        return tuple(str(class_name) for class_name in parts["class_names"])
    except (KeyError, ValueError):
        return CARDS[name].class_names
