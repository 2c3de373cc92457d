"""What the program does between reading arguments and printing: keep a run in a folder, judge it, make its page.

A run's folder is a saved model plus ``embedding.parquet`` (one row per node, under its own id), ``nodes.parquet`` (ids and
labels) and ``run.json`` (what the graph was, how it was read, how it went).
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ccassg.datasets import DATASETS, load_dataset
from ccassg.estimator import CCASSG
from ccassg.evaluate import ProbeResult, cluster_score, diagnose, knn_score, linear_probe
from ccassg.graph import Array, Graph
from ccassg.graph.dataset import random_split
from ccassg.graph.scaling import check_scaling
from ccassg.io.atomic import atomic_path, write_bytes_atomic
from ccassg.io.embeddings import id_array, read_embeddings, write_embeddings
from ccassg.io.graphs import LoadedGraph
from ccassg.io.open_graph import Opened
from ccassg.io.store import location as store_of
from ccassg.model.presets import PROBES
from ccassg.report import ReportData

EMBEDDING, NODES, RUN = "embedding.parquet", "nodes.parquet", "run.json"
# What may stand in run.json, where it is not null: others may have written it.
_RUN_TYPES: dict[str, type] = {
    **dict.fromkeys(("source", "dataset"), str),
    **dict.fromkeys(("graph", "provenance"), dict),
    **dict.fromkeys(("notes", "feature_names", "class_names"), list),
}


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """``name=value`` strings as a dict; values as JSON where they are, text otherwise, ``a,b`` as a pair of numbers."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise ValueError(f"a setting is written NAME=VALUE, got {pair!r}")
        if re.fullmatch(r"[\d.eE+-]+,[\d.eE+-]+", text):
            settings[name] = tuple(float(part) for part in text.split(","))
            continue
        try:
            settings[name] = json.loads(text.replace("None", "null").replace("True", "true").replace("False", "false"))
        except json.JSONDecodeError:
            settings[name] = text
    return settings


def settings_of(cls: type) -> list[tuple[str, Any, str]]:
    """Name, default and description of each parameter of a method, read off its class."""
    texts: dict[str, str] = {}
    body = (cls.__doc__ or "").partition("Parameters\n    ----------\n")[2].partition("\n\n    Attributes")[0]
    for names, description in re.findall(r"^    (\w[\w, ]*) : .*\n((?:        .*\n?|\n)+)", body + "\n", re.MULTILINE):
        for name in names.split(", "):
            texts[name] = " ".join(description.split())
    return [(name, default, texts.get(name, "")) for name, default in cls().get_params(deep=False).items()]


def probe(z: Array | list[Array], opened: Opened, n_seeds: int) -> ProbeResult:
    """The paper's linear evaluation over ``n_seeds`` seeds (and splits, where they are random)."""
    y, data = opened.loaded.y, opened.dataset
    assert y is not None
    if data is not None:
        splits = [data.split(seed) for seed in range(n_seeds)]
        rates = PROBES[str(data.name)]
        return linear_probe(z, y, splits, seeds=range(n_seeds), **rates)  # type: ignore[arg-type]
    if (y >= 0).sum() < 10:
        raise ValueError(f"a linear probe needs at least 10 labelled nodes, got {(y >= 0).sum()}; label more of them")
    return linear_probe(z, y, [random_split(y, seed) for seed in range(n_seeds)], seeds=range(n_seeds))


def split_to_choose_on(opened: Opened, seed: int) -> Any:
    """A dataset's own split, a random one otherwise; with too few labels, ValueError."""
    y = opened.loaded.y
    assert y is not None
    if opened.dataset is not None:
        return opened.dataset.split(seed)
    if (y >= 0).sum() < 40:
        raise ValueError(f"choosing by labels needs at least 40, got {(y >= 0).sum()}; search with --without-labels")
    return random_split(y, seed)


def evaluate(z: Array, y: Array | None, n_seeds: int) -> dict[str, Any]:
    """All scores of an embedding: diagnostics always, the rest where there are labels."""
    result: dict[str, Any] = {"nodes": len(z), "dimensions": z.shape[1], "diagnostics": diagnose(z)}
    if y is not None and len(np.unique(y[y >= 0])) > 1:
        result["probe"] = probe(z, Opened(LoadedGraph(_edgeless(len(y)), y)), n_seeds).as_dict()
        labelled = y >= 0
        result["clustering"] = cluster_score(z[labelled], y[labelled]).as_dict()
        result["knn"] = knn_score(z[labelled], y[labelled])
    return result


@contextmanager
def tensorboard_log(folder: Path | None) -> Iterator[Callable[[int, Any], None]]:
    """A function of (step, terms) that writes the loss and its parts for TensorBoard; does nothing without a folder."""
    if folder is None:
        yield lambda step, terms: None
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ImportError("TensorBoard is not installed; install it with: pip install 'ccassg[log]'") from None
    with SummaryWriter(str(folder)) as writer:

        def log(step: int, terms: Any) -> None:
            for name, value in terms._asdict().items():
                writer.add_scalar(name, float(value), step)

        yield log


def provenance(seed: int, seconds: float) -> dict[str, Any]:
    """Where a run's numbers come from."""
    import torch

    from ccassg.provenance import commit, machine, peak_memory, versions

    return {
        "seed": seed,
        "seconds": seconds,
        "peak_memory": peak_memory(),
        "versions": versions(),
        "commit": commit(),
        "machine": machine(torch.get_num_threads()),
    }


@contextmanager
def embedding(model: Any, graph: Graph, folder: Path) -> Iterator[Array]:
    """A model's embedding of a graph, for as long as the block lasts.

    That of a store is computed in blocks and lies in a temporary file in ``folder``, so that neither activations nor
    embedding need fit into memory; systems other than CCA-SSG know no blocks and embed at once.
    """
    if store_of(graph) is None or not isinstance(model, CCASSG):
        yield model.transform(graph)
        return
    with tempfile.TemporaryDirectory(prefix=".ccassg-", suffix=".tmp", dir=folder) as name:
        yield model.transform(graph, out=Path(name) / "embedding.npy")


def save_run(folder: Path, model: Any, opened: Opened, z: Array, *, source: str, provenance: dict[str, Any]) -> None:
    """Write a fitted model with its embedding, ids and labels, and how it came about.

    All of it is written in full before any of it takes an earlier run's place: a disk that is full changes nothing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".ccassg-", suffix=".tmp", dir=folder) as name:
        staged = Path(name)
        _write_run(staged, model, opened, z, source=source, provenance=provenance)
        # The two that vouch for the others go last.
        for file in sorted(staged.iterdir(), key=lambda file: (file.name in ("config.json", RUN), file.name)):
            os.replace(file, folder / file.name)


def _write_run(folder: Path, model: Any, opened: Opened, z: Array, *, source: str, provenance: dict[str, Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    graph, loaded = opened.loaded.graph, opened.loaded
    model.save(folder)
    write_embeddings(folder / EMBEDDING, z, graph.node_ids)
    names = label_names(loaded)
    columns: dict[str, Any] = {"id": id_array(graph.node_ids)}
    if names is not None:
        columns["label"] = pa.array(names)
    with atomic_path(folder / NODES) as path:
        pq.write_table(pa.table(columns), path)
    record = {
        "source": source,
        "dataset": None if opened.dataset is None else opened.dataset.name,
        "graph": counts(graph),
        "notes": list(loaded.notes),
        "structural": loaded.structural,
        "feature_names": None if loaded.feature_names is None else list(loaded.feature_names),
        "scaling": None if loaded.scaling is None else loaded.scaling._asdict(),
        "class_names": None if loaded.class_names is None else list(loaded.class_names),
        "provenance": provenance,
    }
    write_bytes_atomic(folder / RUN, (json.dumps(record, indent=1) + "\n").encode())


def read_run(folder: Path) -> dict[str, Any]:
    """What ``run.json`` says; ValueError if the folder is not a run's."""
    path = folder / RUN
    try:
        record = json.loads(path.read_bytes())
        if not isinstance(record, dict):
            raise TypeError("not an object")
        for key, kind in _RUN_TYPES.items():
            if not isinstance(record.get(key), kind | None):
                raise TypeError(f"{key} is a {type(record[key]).__name__}")
            if kind is list and not all(isinstance(text, str) for text in record.get(key) or ()):
                raise TypeError(f"{key} must hold text only")
        names = record.get("feature_names")
        record["scaling"] = check_scaling(record.get("scaling"), None if names is None else len(names))
        return {key: value for key, value in record.items() if value is not None}
    except FileNotFoundError:
        raise ValueError(
            f"{folder} holds no run ({RUN} is not there); make one with: ccassg fit GRAPH -o {folder}"
        ) from None
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None


def page(folder: Path, n_seeds: int = 5, result: dict[str, Any] | None = None) -> ReportData:
    """The page of a run: its model's history and settings, its embedding, and a probe where there are labels.

    ``result`` is a probe's that has been made already.
    """
    import pyarrow.parquet as pq

    from ccassg.systems import load

    record, model = read_run(folder), load(folder)
    z, ids = read_embeddings(folder / EMBEDDING)
    table = pq.read_table(folder / NODES)
    labels = table["label"].to_pylist() if "label" in table.column_names else None
    if labels is not None:
        classes = record.get("class_names") or sorted({label for label in labels if label is not None})
        result = (result or _probe_again(z, labels, classes, record, n_seeds)) | {"classes": classes}
    return ReportData(
        title=str(record.get("source", folder.name)),
        embedding=z,
        node_ids=ids,
        labels=labels,
        history=getattr(model, "history_", {}),
        probe=result,
        settings=getattr(model, "settings_", model.get_params(deep=False)),
        provenance=record.get("provenance", {}),
        choices=getattr(model, "reasons_", ()),
        notes=record.get("notes", ()),
        graph=record.get("graph", {}),
    )


def _probe_again(
    z: Array, labels: list[str | None], classes: list[str], record: dict[str, Any], n_seeds: int
) -> dict[str, Any]:
    place = {name: i for i, name in enumerate(classes)}
    y = np.array([-1 if label is None else place.get(label, -1) for label in labels])
    loaded = LoadedGraph(_edgeless(len(y)), y, tuple(classes))
    data = load_dataset(record["dataset"]) if record.get("dataset") in DATASETS else None
    return probe(z, Opened(loaded, data), n_seeds).as_dict()


def _edgeless(n: int) -> Graph:
    return Graph(np.zeros(n + 1, np.int64), np.zeros(0, np.int32))


def counts(graph: Graph) -> dict[str, int]:
    """The numbers that describe a graph."""
    return {
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "isolated": graph.n_isolated,
        "features": graph.n_features,
    }


def label_names(loaded: LoadedGraph) -> list[str | None] | None:
    """Each node's label as text, None where it has none."""
    if loaded.y is None:
        return None
    names = loaded.class_names or tuple(str(i) for i in range(int(loaded.y.max(initial=-1)) + 1))
    return [names[c] if c >= 0 else None for c in loaded.y.tolist()]


def read_labelled(
    path: Path, labels: Path | None = None, *, id_column: str | None = None, label_column: str | None = None
) -> tuple[Array, Array, Array | None, tuple[str, ...] | None]:
    """Embeddings, ids, classes and class names of an embedding file or a run's folder.

    Labels come from the file ``labels``, else from the run itself, else there are none.
    """
    import pyarrow as pa

    from ccassg.io.labels import encode_labels, read_labels

    if not path.exists():
        raise ValueError(f"{path}: there is no such file or folder; ccassg fit and ccassg embed write embeddings")
    z, ids = read_embeddings(path / EMBEDDING if path.is_dir() else path)
    if labels is None:
        if not path.is_dir() or not (path / NODES).exists():
            return z, ids, None, None
        labels = path / NODES
        import pyarrow.parquet as pq

        if "label" not in pq.read_schema(labels).names:
            return z, ids, None, None
        id_column, label_column = "id", "label"
    table = read_labels(labels, node_ids=pa.array(ids.tolist()), id_column=id_column, label_column=label_column)
    y, names = encode_labels(table)
    if table.ids is None:
        if len(y) != len(z):
            raise ValueError(f"{labels} has {len(y):,} labels without ids, but {path} has {len(z):,} nodes")
        return z, ids, y, names
    place = {str(name): i for i, name in enumerate(table.ids.to_pylist())}
    rows = np.array([place.get(str(name), -1) for name in ids.tolist()])
    if (rows < 0).all():
        raise ValueError(f"{labels} names none of the nodes in {path}; its ids are like {next(iter(place), None)!r}")
    return z, ids, np.where(rows >= 0, y[rows], -1), names


def trained_on(path: Path, column: str) -> bool:
    """Whether the embedding is of a run that had this column of its node table among the features."""
    if not (path / RUN).is_file():
        return False
    names = read_run(path).get("feature_names", ())
    return any(name == column or name.startswith((f"{column}=", f"{column}#")) for name in names)


def find_id(ids: Array, name: str) -> int:
    """Position of a node by its id, written as text."""
    found = np.flatnonzero(ids.astype(str) == name)
    if len(found) == 0:
        example = ", ".join(str(i) for i in ids[:3].tolist())
        raise ValueError(f"there is no node {name!r}; ids look like {example}")
    return int(found[0])
