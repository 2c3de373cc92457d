"""What a run is worth: its scores beside those of raw features, what speaks against it, and all that its page shows."""

import json
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ccassg.datasets import DATASETS
from ccassg.evaluate.diagnostics import diagnose
from ccassg.evaluate.summary import Solver, glance, summarize
from ccassg.evaluate.verdict import verdict
from ccassg.graph import Array, Dataset
from ccassg.io.atomic import write_bytes_atomic
from ccassg.io.embedding_formats import encoder_of
from ccassg.io.embeddings import read_embeddings
from ccassg.io.files import read_json
from ccassg.io.folders import require_whole
from ccassg.io.ids import id_array
from ccassg.io.results import EMBEDDING, NODES, read_columns, read_labelled, read_names
from ccassg.report.data import ReportData, about_model
from ccassg.run import RUN, Run, read_run
from ccassg.systems import load

SCORES = "scores.json"
# Of what is kept there; another one is made again.
FORMAT = 2
# Columns x nodes on a page: ten columns of the most nodes that it draws, up to 4 MB.
PAGE_CELLS = 1_000_000


def judge(model: Any, data: Dataset, z: Array) -> list[str]:
    """Say what speaks against an embedding that a model has just made: of labels it looks at one small probe."""
    probe = None if data.y is None else glance(z, data.y, data.class_names)
    return _verdict(about_model(model), data.graph.counts(), diagnose(z), probe)


def score(
    path: Path,
    *,
    labels: Path | None = None,
    id_column: str | None = None,
    label_column: str | None = None,
    graph: Dataset | None = None,
    n_seeds: int = 5,
    solver: Solver = "logistic",
    on_part: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Score the embedding of a run's folder, or of a file, as `summarize` does, with ``class_names`` and ``warnings``.

    Labels are those of the file ``labels``, else the run's own; raw features are those of ``graph``, else of the graph that the run
    was made of, where it is still there. What a run scores on its own labels is kept in its folder.
    """
    run = read_run(path) if (path / RUN).is_file() else None
    if run is None or labels is not None:
        z, ids, y, names, n_unknown = read_labelled(path, labels, id_column=id_column, label_column=label_column)
        encoder = encoder_of(path) if run is None and path.is_file() else None
        scores = _scores(run, z, ids, y, names, graph, n_seeds, solver, on_part, encoder)
        return scores | ({} if labels is None else {"unknown_ids": n_unknown})
    z, ids = read_embeddings(path / EMBEDDING)
    return _own_scores(run, z, ids, n_seeds, solver, on_part, graph)


def page(folder: Path, n_seeds: int = 5, probe: dict[str, Any] | None = None) -> ReportData:
    """Read all that the page of a run shows: its model's history and settings, its embedding, and a probe of its labels.

    ``probe`` is the result of one that has been made already; else what `score` has kept, or makes now.
    """
    run = read_run(folder)
    require_whole(folder)
    model = load(folder)
    z, ids = read_embeddings(folder / EMBEDDING)
    labels, notes = run.labels(), list(run.notes)
    if labels is not None and probe is not None:
        probe = probe | {"classes": list(run.class_names or _classes(labels))}
    elif labels is not None:
        scores = _own_scores(run, z, ids, n_seeds, "logistic")
        probe, notes = _of_page(scores), notes + scores.get("notes", [])
    degrees, source = run.degrees(), Path(run.source or folder)
    columns, left_out = read_columns(folder, ids, PAGE_CELLS // max(len(z), 1))
    return ReportData(
        # The name of a folder, or of a file in one, without what leads there.
        title="/".join(source.parts[-2:] if source.suffix else source.parts[-1:]),
        embedding=z,
        node_ids=ids,
        names=read_names(folder, ids),
        labels=labels,
        columns=({} if degrees is None else {"degree": degrees}) | columns,
        probe=probe,
        provenance=run.provenance,
        notes=notes + left_out,
        graph=run.graph,
        **about_model(model),
    )


def _own_scores(
    run: Run,
    z: Array,
    ids: Array,
    n_seeds: int,
    solver: Solver,
    on_part: Callable[[str], None] | None = None,
    graph: Dataset | None = None,
) -> dict[str, Any]:
    """Score a run on its own labels, or read what was found before for the same embedding, labels and settings."""
    labels = run.labels()
    y, names = None, None
    if labels is not None:
        if len(labels) != len(z):
            raise ValueError(
                f"{run.folder / NODES} has {len(labels):,} labels for {len(z):,} nodes; fit the model again"
            )
        names = run.class_names or _classes(labels)
        place = {name: i for i, name in enumerate(names)}
        y = np.array([-1 if label is None else place.get(label, -1) for label in labels])
    file = run.folder / SCORES
    parts = (z, np.frombuffer(repr(names).encode(), np.uint8), np.zeros(0) if y is None else y)
    of = {
        "format": FORMAT,
        "seeds": n_seeds,
        "solver": solver,
        "crc32": [zlib.crc32(np.ascontiguousarray(part).data) for part in parts],
    }
    if graph is None and (kept := _kept(file)) is not None and kept.get("of") == of:
        return dict(kept["scores"])
    scores = _scores(run, z, ids, y, names, graph, n_seeds, solver, on_part)
    if "raw_features" in scores and (_kept(file) is not None or not file.exists()):  # somebody else's file stays
        with suppress(OSError):  # nobody need be able to write where a model is
            write_bytes_atomic(file, json.dumps({"of": of, "scores": scores}).encode())
    return scores


def _kept(file: Path) -> dict[str, Any] | None:
    """Return what was kept of scores, None where the file is not there or not ours."""
    try:
        kept = read_json(file)
    except (OSError, ValueError):
        return None
    return kept if isinstance(kept, dict) and isinstance(kept.get("scores"), dict) else None


def _scores(
    run: Run | None,
    z: Array,
    ids: Array,
    y: Array | None,
    names: tuple[str, ...] | None,
    graph: Dataset | None,
    n_seeds: int,
    solver: Solver,
    on_part: Callable[[str], None] | None,
    encoder: str | None = None,
) -> dict[str, Any]:
    data, notes = (graph, []) if y is None else _graph_of(run, ids, graph)
    # The split that came with a dataset is the one that others report.
    splits = (
        None if data is None or data.public_split is None or data.labels != _texts(y, names) else [data.public_split]
    )
    features = None if data is None else data.graph.features
    scores = summarize(
        z, y, n_seeds=n_seeds, class_names=names, features=features, splits=splits, solver=solver, on_part=on_part
    )
    scores["asides"] = notes
    if y is not None:
        scores["labels"] = int((y >= 0).sum())
    if names is not None and "classes" in scores:
        scores["class_names"] = [names[c] for c in scores["classes"]]
    model = None if run is None else load(run.folder)
    known = (
        {"settings": {"encoder": encoder}} if encoder == "canonical" else {} if model is None else about_model(model)
    )
    scores["warnings"] = _verdict(known, {} if run is None else run.graph, scores["diagnostics"], _of_page(scores))
    return scores


def _graph_of(run: Run | None, ids: Array, graph: Dataset | None) -> tuple[Dataset | None, list[str]]:
    """Open the graph that a run was made of, unless one is given; None, and why, where there is none with these nodes."""
    try:
        if graph is None and run is not None and (run.read_from or run.dataset in DATASETS):
            graph = run.open_graph()
    except (ValueError, OSError, ImportError) as error:
        return None, [f"the raw features cannot be scored beside the embedding: {error}"]
    if graph is None:
        return None, ["name the graph to see what its raw features score (`graph`)"]
    if not id_array(graph.ids).equals(id_array(ids)):
        return None, ["the graph has other nodes than the embedding, so that its raw features were not scored"]
    if graph.graph.features is None:
        return None, ["the graph has no features to score beside the embedding"]
    return graph, ["the graph has no features of its own: the raw features are made from its edges"] * graph.structural


def _verdict(
    known: dict[str, Any], counts: dict[str, Any], found: dict[str, Any], probe: dict[str, Any] | None
) -> list[str]:
    about = {name: value for name, value in known.items() if name != "choices"}
    return verdict(found, graph=counts, probe=probe, **about)


def _of_page(scores: dict[str, Any]) -> dict[str, Any] | None:
    """Return the probe with what it is worth beside it, None where nothing was scored."""
    if "regression" in scores:
        raw = {"raw_features": scores["raw_features"]["r2s"]} if "raw_features" in scores else {}
        return scores["regression"] | raw
    if "probe" not in scores:
        return None
    raw = {"raw_features": scores["raw_features"]["accuracies"]} if "raw_features" in scores else {}
    names = {"classes": scores["class_names"]} if "class_names" in scores else {}
    beside = {"largest_class": scores["largest_class"]["accuracy"]}
    beside |= {} if scores["knn"] is None else {"nearest_neighbours": scores["knn"]}
    return scores["probe"] | raw | beside | names


def _classes(labels: list[str | None]) -> tuple[str, ...]:
    return tuple(sorted({label for label in labels if label is not None}))


def _texts(y: Array | None, names: tuple[str, ...] | None) -> list[str | None] | None:
    return None if y is None or names is None else [names[c] if c >= 0 else None for c in y.tolist()]
