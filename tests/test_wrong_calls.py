"""Wrong arguments to everything public: one sentence, soon, and without taking memory."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import ccassg
from ccassg import systems
from ccassg.evaluate import clustering, diagnostics, information, links, summary

HUGE = 10**30
N = 40
# What no argument below takes, but where it says so.
ODD: dict[str, Any] = {
    "None": None,
    "minus one": -1,
    "half": 0.5,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "huge": HUGE,
    "no text": "",
    "text": "nonsense",
    "surrogate": "\ud800",
    "bytes": b"bytes",
    "list": [],
    "ragged": [1, [2, 3]],
    "dict": {"a": 1},
    "object": object(),
    "function": len,
    "no rows": np.zeros((0, 3)),
    "NaNs": np.full((N, 4), np.nan),
    "words": np.array(["a", "b"]),
    "objects": np.array([object()]),
    "four dimensions": np.zeros((2, 2, 2, 2)),
    "complex": 1j,
}
# Which of these an argument may take.
OPTIONAL = ("None",)
PATH = ("no text", "text", "surrogate")  # other tests are about paths
NUMBER = ("half",)
LARGE = ("huge",)


@functools.cache
def world() -> SimpleNamespace:
    """Right arguments, made once."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(N, 4)).astype(np.float32)
    edges = rng.integers(0, N, (2, 100))
    y = np.arange(N) % 2
    graph = ccassg.as_graph(edges, z)
    data = ccassg.Dataset(graph, y=y)
    small = {"n_steps": 1, "hidden_dim": 4, "embedding_dim": 4}
    return SimpleNamespace(
        z=z,
        y=y,
        edges=edges,
        graph=graph,
        data=data,
        split=ccassg.Split(np.arange(10), np.arange(10, 20), np.arange(20, N)),
        small=small,
        model=ccassg.CCASSG(random_state=0).fit(graph),
        grace=functools.partial(systems.make, "grace", projector_dim=4),
        classifier=systems.make("gcn", n_steps=1, hidden_dim=4).fit(graph, y),
        embedder=ccassg.NodeEmbedder(ccassg.CCASSG(encoder="gcn", **small), graph).fit(np.arange(3)),
    )


def fit(**parameters: Any) -> Any:
    return ccassg.CCASSG(**{"encoder": "gcn", **world().small, **parameters}).fit(world().graph)


def fit_grace(**parameters: Any) -> Any:
    return world().grace(**{**world().small, **parameters}).fit(world().graph)


# What is called, right arguments, and for each argument that is to be wrong which odd values are not.
Call = tuple[Callable[..., Any], Callable[[SimpleNamespace], dict[str, Any]], dict[str, tuple[str, ...]]]
CALLS: dict[str, Call] = {
    "CCASSG": (
        fit,
        lambda w: {},
        {
            **dict.fromkeys(
                ("encoder", "n_layers", "hidden_dim", "embedding_dim", "second_view", "n_steps", "device"), ()
            ),
            **dict.fromkeys(("loss_nodes", "batch_nodes", "max_neighbors"), OPTIONAL),
            **dict.fromkeys(("decorrelation", "invariance", "learning_rate", "weight_decay"), NUMBER),
            **dict.fromkeys(("edge_drop_rate", "feature_mask_rate"), NUMBER),
            **dict.fromkeys(("early_stopping", "drop_both_directions"), ()),
            "augmentations": ("list",),
            "random_state": OPTIONAL,
        },
    ),
    "CCASSG of matrices": (lambda X: ccassg.CCASSG().fit(X), lambda w: {}, {"X": ()}),
    "CCASSG.preset": (ccassg.CCASSG.preset, lambda w: {}, {"name": ()}),
    "CCASSG.fit": (
        lambda **k: ccassg.CCASSG(encoder="gcn", **world().small).fit(**k),
        lambda w: {"X": w.graph},
        {"checkpoint": (*OPTIONAL, *PATH), "checkpoint_every": LARGE, "on_step": (*OPTIONAL, "function")},
    ),
    "CCASSG.fit of files": (
        ccassg.CCASSG().fit,
        lambda w: {"X": "edges.csv", "features": "nodes.csv"},
        {"X": (), "features": (*OPTIONAL, "surrogate", "no text")},
    ),
    "CCASSG.fit of a matrix and features": (
        ccassg.CCASSG().fit,
        lambda w: {"X": w.graph.adjacency(), "features": w.z},
        {"X": (), "features": OPTIONAL},
    ),
    "CCASSG.transform": (lambda X: world().model.transform(X), lambda w: {}, {"X": ()}),
    "CCASSG.transform into a file": (
        lambda out: world().model.transform(world().graph, out=out),
        lambda w: {},
        {"out": (*OPTIONAL, *PATH)},
    ),
    "CCASSG.save": (lambda folder: world().model.save(folder), lambda w: {}, {"folder": PATH}),
    "CCASSG.load": (ccassg.CCASSG.load, lambda w: {}, {"folder": ("surrogate",)}),
    "Dataset": (
        ccassg.Dataset,
        lambda w: {"graph": w.graph, "y": w.y},
        {
            "graph": (),
            **dict.fromkeys(("y", "class_names", "feature_names", "scaling"), OPTIONAL),
        },
    ),
    "Dataset.split": (
        lambda **k: world().data.split(**k),
        lambda w: {},
        {"seed": LARGE, "kind": OPTIONAL, "label_rate": (*OPTIONAL, "half")},
    ),
    "Dataset.split by rate": (
        lambda **k: world().data.split(**k),
        lambda w: {"label_rate": 0.1, "n_val": 3, "n_test": 3},
        {"n_val": (), "n_test": ()},
    ),
    "Graph": (
        ccassg.Graph,
        lambda w: {"indptr": w.graph.indptr, "indices": w.graph.indices},
        {"indptr": (), "indices": (), "weights": OPTIONAL, "features": (*OPTIONAL, "NaNs"), "ids": OPTIONAL},
    ),
    "Graph.with_features": (lambda features: world().graph.with_features(features), lambda w: {}, {"features": ()}),
    "Graph.subgraph": (lambda nodes: world().graph.subgraph(nodes), lambda w: {}, {"nodes": ("list",)}),
    "NodeEmbedder": (
        lambda **k: ccassg.NodeEmbedder(**k).fit([0, 1]),
        lambda w: {"estimator": w.model, "graph": w.graph},
        {"estimator": (), "graph": ()},
    ),
    "NodeEmbedder.fit": (lambda X: world().embedder.fit(X), lambda w: {}, {"X": ()}),
    "NodeEmbedder.transform": (lambda X: world().embedder.transform(X), lambda w: {}, {"X": ()}),
    "Split": (
        lambda **k: ccassg.linear_probe(world().z, world().y, ccassg.Split(**k), epochs=1),
        lambda w: vars(w.split),
        {"train": (), "val": (), "test": ()},
    ),
    "as_graph": (
        ccassg.as_graph,
        lambda w: {"data": w.edges, "features": w.z},
        {"data": (), **dict.fromkeys(("features", "edge_weights", "node_ids", "n_nodes"), OPTIONAL)},
    ),
    "as_graph of bare edges": (ccassg.as_graph, lambda w: {"data": w.edges}, {"data": (), "n_nodes": OPTIONAL}),
    "linear_probe": (
        ccassg.linear_probe,
        lambda w: {"z": w.z, "y": w.y, "splits": w.split, "epochs": 1},
        {
            **dict.fromkeys(("z", "y", "epochs", "choose", "solver", "device"), ()),
            "splits": OPTIONAL,
            "seeds": ("bytes",),
            "learning_rate": (*OPTIONAL, *NUMBER),
            "weight_decay": (*OPTIONAL, *NUMBER, "bytes"),
        },
    ),
    "load_dataset": (ccassg.load_dataset, lambda w: {}, {"name": ()}),
    "load_dataset from a folder": (
        ccassg.load_dataset,
        lambda w: {"name": "physics"},
        {"data_dir": ("surrogate",)},
    ),
    "most_similar": (
        ccassg.most_similar,
        lambda w: {"z": w.z, "query_index": 0},
        {"z": (), "query_index": ("list",), "k": LARGE, "metric": ()},
    ),
    "open_store": (ccassg.open_store, lambda w: {}, {"path": ("surrogate",)}),
    "read_embeddings": (ccassg.read_embeddings, lambda w: {}, {"path": ("surrogate",)}),
    "read_graph": (
        ccassg.read_graph,
        lambda w: {"edges": "edges.csv", "features": "nodes.csv"},
        {
            "edges": ("surrogate", "no text"),
            **dict.fromkeys(("features", "labels", "ids"), (*OPTIONAL, "surrogate", "no text")),
            **dict.fromkeys(("source", "target", "weight", "id_column", "label_column", "header"), OPTIONAL),
            "feature_columns": (*OPTIONAL, "no text", "list", "dict", "no rows", "words"),
            "like": (*OPTIONAL, "no text", "list", "dict", "no rows", "words"),
            "scale": OPTIONAL,
            "text": (),
            "encoding": (),
        },
    ),
    "read_graph without features": (ccassg.read_graph, lambda w: {"edges": "edges.csv"}, {"n_components": ()}),
    "structural_features": (
        ccassg.structural_features,
        lambda w: {"graph": w.graph},
        {"graph": (), "n_components": (), "seed": LARGE},
    ),
    "write_embeddings": (
        ccassg.write_embeddings,
        lambda w: {"path": "z.csv", "z": w.z},
        {"path": (), "z": ("NaNs",), "ids": OPTIONAL, "block_bytes": ()},
    ),
    "write_report": (
        ccassg.write_report,
        lambda w: {"path": "z.html", "embedding": w.z},
        {
            "path": PATH,
            "embedding": (),
            **dict.fromkeys(("data", "model", "labels", "layout"), OPTIONAL),
            "probe": (*OPTIONAL, "dict"),
            "node_ids": (*OPTIONAL, "NaNs"),
            "columns": (*OPTIONAL, "no text", "list"),
        },
    ),
    "write_store": (
        ccassg.write_store,
        lambda w: {"path": "store", "data": w.data},
        {"path": PATH, "data": (), "parts": OPTIONAL},
    ),
    "systems.make": (systems.make, lambda w: {"name": "grace"}, {"name": (), "dataset": OPTIONAL}),
    "systems.make, a network": (
        fit_grace,
        lambda w: {},
        {
            **dict.fromkeys(("n_steps", "hidden_dim", "embedding_dim", "projector_dim", "activation"), ()),
            **dict.fromkeys(("edge_drop_rate", "feature_mask_rate"), NUMBER),
            **dict.fromkeys(("learning_rate", "weight_decay", "temperature"), NUMBER),
            "loss_nodes": OPTIONAL,
            "random_state": OPTIONAL,
        },
    ),
    "systems.get_class": (systems.get_class, lambda w: {}, {"name": ()}),
    "systems.load": (systems.load, lambda w: {}, {"folder": ("surrogate",)}),
    "an embedder's fit": (
        lambda **k: world().grace(**world().small).fit(**k),
        lambda w: {"X": w.graph},
        {"X": (), "on_step": (*OPTIONAL, "function")},
    ),
    "a classifier's fit": (
        lambda **k: systems.make("gcn", n_steps=1).fit(**k),
        lambda w: {"X": w.graph, "y": w.y},
        {"X": (), "y": (), "validation": (*OPTIONAL, "list")},
    ),
    "a classifier's predict": (lambda X: world().classifier.predict(X), lambda w: {}, {"X": ()}),
    "cluster_score": (
        clustering.cluster_score,
        lambda w: {"z": w.z, "y": w.y, "seeds": 0},
        {"z": (), "y": (), "seeds": ("bytes",)},
    ),
    "knn_score": (clustering.knn_score, lambda w: {"z": w.z, "y": w.y}, {"z": (), "y": (), "k": LARGE}),
    "suggest_links": (
        links.suggest_links,
        lambda w: {"z": w.z, "graph": w.graph},
        {"z": (), "graph": (), "node": OPTIONAL, "k": (), "seed": LARGE},
    ),
    "link_scores": (
        links.link_scores,
        lambda w: {"model": systems.make("raw-features"), "data": w.graph},
        {"model": (), "data": (), "seed": LARGE},
    ),
    "diagnose": (diagnostics.diagnose, lambda w: {}, {"z": ()}),
    "correlation_matrix": (diagnostics.correlation_matrix, lambda w: {}, {"z": ()}),
    "uniformity": (diagnostics.uniformity, lambda w: {"z": w.z}, {"z": (), "n_sample": LARGE, "seed": LARGE}),
    "gaussian_information": (
        information.gaussian_information,
        lambda w: {"views": [w.z, w.z + 1]},
        {"views": (), "beta": NUMBER, "ridge": NUMBER},
    ),
    "summarize": (summary.summarize, lambda w: {"z": w.z, "y": w.y}, {"z": (), "y": OPTIONAL, "n_seeds": ()}),
}
CASES = [
    (call, argument, odd)
    for call in CALLS
    for argument in CALLS[call][2]
    for odd in ODD
    if odd not in CALLS[call][2][argument]
]


def test_every_public_name_is_called() -> None:
    assert {name for name in ccassg.__all__ if not any(call.startswith(name) for call in CALLS)} == set()
    assert len(CASES) > 300


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_wrong_arguments_get_a_sentence(call: str, bounded, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    w = world()
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in w.edges.T))
    (tmp_path / "nodes.csv").write_text("id,a,b\n" + "".join(f"{i},{i % 3},{i % 5}\n" for i in range(N)))
    function, right, _ = CALLS[call]
    for _, argument, odd in (case for case in CASES if case[0] == call):
        bounded()
        try:
            function(**{**right(w), argument: ODD[odd]})
        except (ValueError, TypeError, OSError, NotFittedError) as error:
            text = str(error)
            assert text, f"{argument}: {odd}"
            assert len(text.splitlines()) == 1, f"{argument}: {odd}: {text}"
            assert len(text) < 400, f"{argument}: {odd}: {text}"
        except Exception as error:
            pytest.fail(f"{argument}: {odd}: {type(error).__name__}: {error}")
        else:
            pytest.fail(f"{argument}: {odd} was taken")


def test_right_arguments_are_taken(tmp_path: Path, monkeypatch) -> None:
    """Or all of the above would say nothing."""
    monkeypatch.chdir(tmp_path)
    w = world()
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n1,2\n")
    (tmp_path / "nodes.csv").write_text("id,a,b\n0,1,2\n1,3,4\n2,5,6\n")
    for name, (function, right, _) in CALLS.items():
        if right(w) and name != "load_dataset from a folder":  # its files may not be here
            function(**right(w))
