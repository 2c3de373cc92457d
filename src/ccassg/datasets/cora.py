"""Cora, carried inside the package, so that a first run needs no network."""

from importlib import resources

import numpy as np
import scipy.sparse as sp

from ccassg.datasets.cards import CARDS
from ccassg.datasets.planetoid import normalize_rows
from ccassg.graph import as_graph
from ccassg.graph.dataset import Dataset, Split


def embedded_file() -> resources.abc.Traversable:
    """Return the file in the package."""
    return resources.files("ccassg.datasets") / "cora.npz"


def read_cora() -> Dataset:
    """Read the embedded Cora: the graph of the Planetoid files, node for node, with the papers' numbers as ids."""
    with embedded_file().open("rb") as file, np.load(file, allow_pickle=False) as parts:
        indptr, indices = parts["word_indptr"], parts["word_indices"].astype(np.int32)
        words = sp.csr_array(
            (np.ones(len(indices), np.float32), indices, indptr), shape=(len(indptr) - 1, CARDS["cora"].n_features)
        )
        graph = as_graph(parts["edge_index"], normalize_rows(words), node_ids=parts["paper_id"].astype(np.int64))
        return Dataset(
            graph,
            y=parts["label"].astype(np.int64),
            class_names=tuple(str(name) for name in parts["class_names"]),
            notes=graph.notes,
            name="cora",
            card=CARDS["cora"],
            public_split=Split(*(parts[part].astype(np.int64) for part in ("train", "val", "test"))),
        )
