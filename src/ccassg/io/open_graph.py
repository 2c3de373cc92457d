"""Open a graph from wherever it is: a dataset's name, a graph store, a folder or an edge file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ccassg.datasets import DATASETS, load_dataset
from ccassg.graph import Dataset
from ccassg.graph.scaling import Scaling
from ccassg.io.graphs import read_graph
from ccassg.io.store import is_store, open_store


def open_graph(graph: str, *, data_dir: Path | None = None, verify: bool = True, **options: Any) -> Dataset:
    """Open a dataset by its name, a store, a folder or an edge file (``verify``: see `open_store`, the rest: `read_graph`).

    A store is read against its hashes: whatever a command does with it takes longer, and a wrong index could crash it.
    """
    if graph in DATASETS and options.get("features") is None and not Path(graph).exists():
        if options.get("scale") is True:
            raise ValueError(f"{graph} has its features as the paper has them; leave `scale` out")
        return load_dataset(graph, data_dir=data_dir)
    if is_store(graph) or (Path(graph) / "indptr.npy").is_file():  # the latter has lost its manifest
        return _open_store(graph, verify, options)
    if not Path(graph).exists():
        raise ValueError(f"{graph} is neither a file or folder here nor a dataset's name ({', '.join(DATASETS)})")
    return read_graph(graph, **options)


def require_same_scale(data: Dataset, scaling: Scaling | None, graph: str) -> None:
    """Refuse features on another scale than those of training: a store holds them as they were written."""
    if data.scaling != scaling:
        raise ValueError(
            f"the features of {graph} are not scaled as those of the model; embed the files it was made from"
        )


def _open_store(path: str, verify: bool, options: dict[str, Any]) -> Dataset:
    """Open a store; ValueError if options ask for what it cannot give, rather than passing over them."""
    like = options.get("like")
    usual = {"text": "refuse", "encoding": "utf-8", "directed": False, "scale": False, "like": like}
    for name, value in options.items():
        if value != usual.get(name) and not isinstance(value, Scaling):  # a model's: `require_same_scale` compares
            raise ValueError(
                f"{path} is a store, which holds its own edges, features, labels and ids; leave `{name}` out here and give it "
                f"to ccassg convert"
            )
    data = open_store(path, verify=verify)
    names = data.feature_names
    if like is not None and names is not None and tuple(like) != names:
        i = next((i for i, pair in enumerate(zip(like, names, strict=False)) if pair[0] != pair[1]), None)
        how = (
            f"{len(names)} instead of {len(like)}" if i is None else f"column {i + 1} is {names[i]!r}, not {like[i]!r}"
        )
        raise ValueError(
            f"the features of {path} are not those of the model: {how}; convert a table with the model's columns"
        )
    return data
