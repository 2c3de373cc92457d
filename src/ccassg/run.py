"""The folder of a run: a saved model with its embedding, ids and labels, and how it came about.

model.safetensors  config.json  README.md   the model
embedding.parquet                           one row per node, under its own id
nodes.parquet                               ids, degrees, and labels where there are any
run.json                                    what the graph was, what was noted on reading it, how it went, and the hash of every
                                            file, by which the run is known as one of ours (`ccassg.io.folders`)
scores.json                                 what `ccassg evaluate` and `ccassg report` found, where there are labels
"""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ccassg import model_file
from ccassg.graph import Array, Dataset
from ccassg.io import folders
from ccassg.io.atomic import atomic_path
from ccassg.io.embeddings import write_embeddings
from ccassg.io.files import read_json
from ccassg.io.graphs import open_graph
from ccassg.io.ids import id_array
from ccassg.io.labels import encode_labels, read_labels
from ccassg.io.results import EMBEDDING, NODES
from ccassg.io.store import location as store_of
from ccassg.io.tables import ParquetTable
from ccassg.training import distributed

RUN = folders.RUN
FILES = ("model.safetensors", "config.json", "README.md", EMBEDDING, NODES, RUN)
# What may stand in run.json, where it is not null: others may have written it.
_RUN_TYPES: dict[str, type[Any]] = {
    "source": str, "dataset": str, "graph": dict, "provenance": dict, "notes": list, "class_names": list, "read_from": dict,
}  # fmt: skip


@dataclass(frozen=True)
class Run:
    """What ``run.json`` says of a run.

    ``source`` is the graph as it was named when it was read, ``read_from`` are the arguments of `open_graph` that read it, ``dataset``
    its name if it is one of `DATASETS`; ``graph`` has the counts of `Graph.counts`, ``notes`` and ``class_names`` are as in `Dataset`,
    ``provenance`` as of `provenance.of_run`.
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
        y, names = encode_labels(read_labels(nodes, id_column="id", label_column="label").labels)
        return [names[c] if c >= 0 else None for c in y.tolist()]

    def degrees(self) -> Array | None:
        """Read how many edges touch each node; None where that was not kept."""
        nodes = ParquetTable(self.folder / NODES)
        return nodes.read(["degree"])["degree"].to_numpy() if "degree" in nodes.names else None

    def open_graph(self) -> Dataset:
        """Read its graph again, from where it was; ValueError if it does not say where, or the graph is not there."""
        where = self.read_from or {"graph": self.dataset}
        try:
            if not isinstance(where.get("graph"), str):  # anyone may have written it
                raise TypeError
            return open_graph(**where)
        except (TypeError, AttributeError):
            raise ValueError(
                f"{self.folder} does not say where its graph is; make it again with: ccassg fit GRAPH -o {self.folder}"
            ) from None

    def had_feature(self, column: str) -> bool:
        """Return whether this column of the node table was among the features that the model was trained on."""
        names = model_file.load(self.folder).features.names or ()
        return any(name == column or name.startswith((f"{column}=", f"{column}#")) for name in names)


def save_run(
    folder: Path,
    model: Any,
    data: Dataset,
    z: Array,
    *,
    source: str,
    provenance: dict[str, Any],
    read_from: dict[str, Any] | None = None,
) -> None:
    """Write a fitted model with its embedding, ids and labels, and how it came about; ``read_from``: how to open the graph again.

    All of it is written in full before any of it takes an earlier run's place: a disk that is full changes nothing. Of files that
    are not an earlier run's, none is replaced: ValueError.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with folders.replaced(folder) as staged:
        model.save(staged)
        write_embeddings(staged / EMBEDDING, z, data.ids, encoder=encoder_name(model))
        columns: dict[str, Any] = {"id": id_array(data.ids), "degree": data.graph.degrees()}
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
        record = read_json(path)
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
            if key == "graph" and not all(type(count) is int for count in value.values()):
                raise TypeError("graph must hold whole numbers only")
            given[key] = tuple(value) if kind is list else value
        return Run(folder, **given)
    except (FileNotFoundError, NotADirectoryError):
        how = f"make one with: ccassg fit GRAPH -o {folder}"
        if (folder / "config.json").exists():
            how = f"it is a model, whose page Python makes: ccassg.write_report('report.html', z, data, model=model); or {how}"
        raise ValueError(f"{folder} holds no run ({RUN} is not there); {how}") from None
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None


def encoder_name(model: Any) -> str | None:
    """Return the encoder of a fitted CCASSG by its name, None of another system."""
    name: str | None = getattr(model, "settings_", {}).get("encoder")
    return name


@contextmanager
def embedding(model: Any, data: Dataset, folder: Path) -> Iterator[Array]:
    """Give a model's embedding of a graph, for as long as the block lasts.

    That of a store is computed in blocks and lies in a temporary file in ``folder``, so that neither activations nor
    embedding need fit into memory; systems that know no blocks embed at once. In a `distributed.session` of several processes all must
    call this: each embeds its share, or the first one embeds alone where there are no blocks. The others get no row.
    """
    is_shared = model.embeds_in_blocks and distributed.is_shared()
    if not is_shared and not distributed.speaks():
        yield np.empty((0, 0), np.float32)
    elif not is_shared and not (model.embeds_in_blocks and store_of(data.graph) is not None):
        yield model.transform(data)
    else:
        with ExitStack() as files:
            if distributed.speaks():
                made = tempfile.TemporaryDirectory(prefix=".ccassg-", suffix=".tmp", dir=folder)
                folder = Path(files.enter_context(made))
            yield model.transform(data, out=folder / "embedding.npy")
