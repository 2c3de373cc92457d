"""The folder of a run: a saved model with its embedding, ids and labels, and how it came about.

model.safetensors  config.json  README.md   the model
embedding.parquet                           one row per node, under its own id
nodes.parquet                               ids, and labels where there are any
run.json                                    what the graph was, what was noted on reading it, how it went, and the hash of every
                                            file, by which the run is known as one of ours (`ccassg.io.folders`)
"""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ccassg import model_file
from ccassg.datasets import DATASETS, load_dataset
from ccassg.evaluate.summary import probe_twice, scorable
from ccassg.graph import Array, Dataset
from ccassg.io import folders
from ccassg.io.atomic import atomic_path
from ccassg.io.embeddings import read_embeddings, write_embeddings
from ccassg.io.files import open_regular
from ccassg.io.ids import id_array
from ccassg.io.labels import EMBEDDING, NODES, encode_labels, read_labels
from ccassg.io.store import location as store_of
from ccassg.io.tables import ParquetTable
from ccassg.report.data import ReportData, about_model

RUN = folders.RUN
FILES = ("model.safetensors", "config.json", "README.md", EMBEDDING, NODES, RUN)
# What may stand in run.json, where it is not null: others may have written it.
_RUN_TYPES: dict[str, type[Any]] = {
    "source": str, "dataset": str, "graph": dict, "provenance": dict, "notes": list, "class_names": list, "read_from": dict,
}  # fmt: skip


@dataclass(frozen=True)
class Run:
    """What ``run.json`` says of a run.

    ``source`` is the graph as it was named when it was read, ``read_from`` all that was given to read it, ``dataset`` its name if it is
    one of `DATASETS`; ``graph`` has the counts of `Graph.counts`, ``notes`` and ``class_names`` are as in `Dataset`, ``provenance`` as of `provenance.of_run`.
    """

    folder: Path
    source: str | None = None
    dataset: str | None = None
    graph: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    class_names: tuple[str, ...] | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    read_from: dict[str, Any] = field(default_factory=dict)

    def labels(self) -> list[str | None] | None:
        """Read the label of each node, None where it has none; None without any labels."""
        nodes = self.folder / NODES
        if "label" not in ParquetTable(nodes).names:
            return None
        y, names = encode_labels(read_labels(nodes, id_column="id", label_column="label"))
        return [names[c] if c >= 0 else None for c in y.tolist()]

    def had_feature(self, column: str) -> bool:
        """Return whether this column of the node table was among the features that the model was trained on."""
        names = model_file.load(self.folder).features.names or ()
        return any(name == column or name.startswith((f"{column}=", f"{column}#")) for name in names)


def save_run(
    folder: Path, model: Any, data: Dataset, z: Array, *, source: str, provenance: dict[str, Any], read_from: Any = None
) -> None:
    """Write a fitted model with its embedding, ids and labels, and how it came about.

    All of it is written in full before any of it takes an earlier run's place: a disk that is full changes nothing. Of files that
    are not an earlier run's, none is replaced: ValueError.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with folders.replaced(folder) as staged:
        model.save(staged)
        write_embeddings(staged / EMBEDDING, z, data.ids)
        columns: dict[str, Any] = {"id": id_array(data.ids)}
        if (labels := data.labels) is not None:
            columns["label"] = pa.array(labels)
        with atomic_path(staged / NODES) as path:
            pq.write_table(pa.table(columns), path)
        record = {
            "source": source,
            "dataset": data.name,
            "graph": data.graph.counts(),
            "notes": list(data.notes),
            "class_names": None if data.class_names is None else list(data.class_names),
            "provenance": provenance,
            "read_from": read_from,
        }
        folders.write_index(staged, RUN, record)


def read_run(folder: Path) -> Run:
    """Read ``run.json``; ValueError if the folder is not a run's."""
    folders.recover(folder)
    path = folder / RUN
    try:
        with open_regular(path) as file:
            record = json.loads(file.read())
        if not isinstance(record, dict):
            raise TypeError("not an object")
        given: dict[str, Any] = {}
        for key, kind in _RUN_TYPES.items():
            value: Any = record.get(key)
            if value is None:
                continue
            if not isinstance(value, kind):
                raise TypeError(f"{key} is a {type(value).__name__}")
            if kind is list and not all(isinstance(text, str) for text in value):
                raise TypeError(f"{key} must hold text only")
            given[key] = tuple(value) if kind is list else value
        return Run(folder, **given)
    except (FileNotFoundError, NotADirectoryError):
        how = f"make one with: ccassg fit GRAPH -o {folder}"
        if (folder / "config.json").exists():
            how = f"it is a model, whose page Python makes: ccassg.write_report('report.html', z, data, model=model); or {how}"
        raise ValueError(f"{folder} holds no run ({RUN} is not there); {how}") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None


@contextmanager
def embedding(model: Any, data: Dataset, folder: Path) -> Iterator[Array]:
    """Give a model's embedding of a graph, for as long as the block lasts.

    That of a store is computed in blocks and lies in a temporary file in ``folder``, so that neither activations nor
    embedding need fit into memory; systems that know no blocks embed at once.
    """
    if store_of(data.graph) is None or not model.embeds_in_blocks:
        yield model.transform(data)
        return
    with tempfile.TemporaryDirectory(prefix=".ccassg-", suffix=".tmp", dir=folder) as name:
        yield model.transform(data, out=Path(name) / "embedding.npy")


def page(folder: Path, n_seeds: int = 5, probe: dict[str, Any] | None = None) -> ReportData:
    """Read all that the page of a run shows: its model's history and settings, its embedding, and a probe of its labels.

    ``probe`` is the result of one that has been made already.
    """
    from ccassg.systems import load

    run = read_run(folder)
    folders.require_whole(folder)
    model = load(folder)
    z, ids = read_embeddings(folder / EMBEDDING)
    labels, notes = run.labels(), list(run.notes)
    if labels is not None:
        if len(labels) != len(z):
            raise ValueError(f"{folder / NODES} has {len(labels):,} labels for {len(z):,} nodes; fit the model again")
        classes = run.class_names or tuple(sorted({label for label in labels if label is not None}))
        probe = probe | {"classes": list(classes)} if probe else _probe(run, z, labels, classes, n_seeds, notes)
    return ReportData(
        title=folder.name if run.source is None else run.source,
        embedding=z,
        node_ids=ids,
        labels=labels,
        probe=probe,
        provenance=run.provenance,
        notes=notes,
        graph=run.graph,
        **about_model(model),
    )


def _probe(
    run: Run, z: Array, labels: list[str | None], classes: tuple[str, ...], n_seeds: int, notes: list[str]
) -> dict[str, Any] | None:
    """Probe the embedding again: on the splits of its dataset, else on random ones, where there is something to score."""
    if run.dataset in DATASETS:
        return probe_twice(z, load_dataset(run.dataset), n_seeds=n_seeds) | {"classes": list(classes)}
    place = {name: i for i, name in enumerate(classes)}
    part = scorable(z, np.array([-1 if label is None else place.get(label, -1) for label in labels]))
    notes += part.notes
    if not len(part.classes):
        return None
    return probe_twice(part.z, part.y, n_seeds=n_seeds) | {"classes": [classes[c] for c in part.classes]}
