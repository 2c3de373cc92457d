"""From a name to a dataset: where the files lie, and who reads them. Nothing here opens a connection."""

import os
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ccassg.datasets.benchmark import read_benchmark
from ccassg.datasets.cards import CARDS, DATASETS, FILES
from ccassg.datasets.planetoid import normalize_rows, read_planetoid
from ccassg.graph import as_graph
from ccassg.graph.checks import choose_from
from ccassg.graph.dataset import Dataset, Split


def load_dataset(name: str, *, data_dir: str | os.PathLike[str] | None = None) -> Dataset:
    """Load one of the seven graphs of the paper.

    Parameters
    ----------
    name : str
        ``cora``, ``citeseer``, ``pubmed``, ``computers``, ``photo``, ``cs`` or ``physics``.
    data_dir : path, optional
        A folder with the files: ``NAME/ind.NAME.*`` for Planetoid's, ``*.npz`` for the others. By default the
        environment variable ``CCASSG_DATA``. Cora is part of the package; what is not in the folder is taken from the
        cache (see `cache_folder`).

    Returns
    -------
    Dataset
        Features sparse; rows of Cora, Citeseer and Pubmed sum to 1, those of the others are raw.

    Raises
    ------
    ValueError
        For an unknown name or a file that is not what it should be.
    FileNotFoundError
        If the files are nowhere; it says how to get them. Loading never downloads.

    Examples
    --------
    >>> import ccassg
    >>> data = ccassg.load_dataset("cora")
    >>> data
    Dataset(cora: Graph(nodes: 2,708, edges: 5,278 (undirected), sparse features: 1,433), classes: 7)
    >>> data.labels[:2]
    ['Neural_Networks', 'Probabilistic_Methods']
    """
    check_name(name)
    if name == "cora":
        return read_cora()
    folder = find_folder(name, data_dir)
    if folder is None:
        looked = " and ".join(str(place) for place in search_path(data_dir))
        raise FileNotFoundError(f"{name} is not in {looked}; get it with: ccassg datasets fetch {name}")
    first = folder / FILES[name][0].path
    return read_benchmark(first, name) if first.suffix == ".npz" else read_planetoid(first.parent, name)


def find_folder(name: str, data_dir: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the first folder of `search_path` with every file of the dataset; None for an embedded or missing one."""
    files = FILES[name]
    for folder in search_path(data_dir):
        if files and all((folder / file.path).is_file() for file in files):
            return folder
    return None


def search_path(data_dir: str | os.PathLike[str] | None = None) -> list[Path]:
    """Return the folders where files are looked for: ``data_dir`` or else ``CCASSG_DATA``, then the cache."""
    given = data_dir if data_dir is not None else os.environ.get("CCASSG_DATA")
    return ([expanded(given)] if given else []) + [cache_folder()]


def cache_folder() -> Path:
    """Return where fetched files are kept: the environment variable ``CCASSG_CACHE``, else the system's cache for ccassg."""
    if given := os.environ.get("CCASSG_CACHE"):
        return expanded(given)
    import pooch  # not needed by those who only use Cora or their own graph

    try:
        return Path(pooch.os_cache("ccassg"))
    except RuntimeError:
        raise ValueError("there is no home folder to keep datasets in; name a folder in CCASSG_CACHE") from None


def expanded(path: str | os.PathLike[str]) -> Path:
    """Return a path with ``~`` written out; ValueError if nobody knows that home."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise ValueError(f"{path}: whose home folder ~ stands for is not known; write the folder in full") from None


def check_name(name: Any) -> None:
    """Raise ValueError unless it is the name of a dataset."""
    if name not in DATASETS:
        raise ValueError(f"there is no dataset {name!r}; {choose_from(name, DATASETS)}")


def embedded_file() -> resources.abc.Traversable:
    """Return the file of Cora, carried inside the package, so that a first run needs no network."""
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
