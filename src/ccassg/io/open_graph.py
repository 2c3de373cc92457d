"""Open a graph from wherever it is: a dataset's name, a graph store, a folder or an edge file."""

import warnings
from os import PathLike
from pathlib import Path
from typing import Any

from ccassg.datasets import DATASETS, load_dataset
from ccassg.graph import Dataset
from ccassg.graph.checks import choose_from
from ccassg.io import tables
from ccassg.io.folders import is_output
from ccassg.io.graphs import read_graph
from ccassg.io.manifest import is_store
from ccassg.io.objects import holds_graph
from ccassg.io.store import open_store
from ccassg.io.tables import Learned


def open_graph(graph: Any, *, data_dir: Path | None = None, verify: bool = True, **options: Any) -> Dataset:
    """Open a dataset by its name, a store, or whatever `read_graph` takes (``verify``: see `open_store`, the rest: `read_graph`).

    A store is read against its hashes: whatever a command does with it takes longer, and a wrong index could crash it.
    """
    if isinstance(graph, str) and not graph.strip():
        raise ValueError("the name of the graph is empty; name a file, a folder or a dataset")
    if tables.is_path(graph):
        if names_dataset(graph) and options.get("features") is None:
            if options.get("scale") is True:
                raise ValueError(f"{graph} has its features as the paper has them; leave `scale` out")
            return load_dataset(str(graph), data_dir=data_dir)
        if is_store(graph) or (Path(graph) / "indptr.npy").is_file():  # the latter has lost its manifest
            return _open_store(graph, verify, options)
        require_there(graph)
    if "like" in options and options.get("scale") is None:
        options["scale"] = False  # new nodes for a model, which brings them to its own scale, even if it has no names
    return read_graph(graph, **options)


def require_there(graph: str | PathLike[str]) -> None:
    """Refuse a graph that is neither a file or folder nor a dataset: ValueError."""
    if not (names_dataset(graph) or Path(graph).exists()):
        raise ValueError(
            f"{graph} is neither a file or folder here nor a dataset's name; {choose_from(graph, DATASETS)}"
        )


def names_dataset(graph: Any) -> bool:
    """Whether it is the name of a dataset: a file or a folder of that name comes first, unless ccassg itself made it for a model."""
    return str(graph) in DATASETS and (not Path(graph).exists() or is_output(Path(graph)))


def open_object(data: Any, *, stacklevel: int = 3, **options: Any) -> Any:
    """Open what `open_graph` can, alone or in a pair with its features; return anything else, arrays and graphs, as it is.

    What the program prints as notes are warnings here, at the line of the caller's caller, or as ``stacklevel`` says.
    """
    graph, features = data if isinstance(data, tuple) and len(data) == 2 else (data, None)
    if not (holds_graph(graph) or (features is not None and tables.is_frame(graph))):
        return data
    found = open_graph(graph, **({} if features is None else {"features": features}), **options)
    for note in found.notes:
        if not isinstance(note, Learned):
            warnings.warn(note, stacklevel=stacklevel)
    return found


def _open_store(path: str, verify: bool, options: dict[str, Any]) -> Dataset:
    """Open a store; ValueError if options ask for what it cannot give, rather than passing over them."""
    usual = {"encoding": "utf-8", "directed": False, "like": options.get("like")}
    for name, value in options.items():
        if value != usual.get(name):
            raise ValueError(
                f"{path} is a store, which holds its own edges, features, labels and ids; leave `{name}` out here and give it "
                f"to ccassg convert"
            )
    return open_store(path, verify=verify)
