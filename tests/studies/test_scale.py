"""The large synthetic graph, end to end."""

import json
from dataclasses import replace

import numpy as np
import torch

from ccassg.io.store import open_store
from studies import scale as module
from studies.scale import DEFAULT, Scale, draw, main, run_scale, write_synthetic

SMALL = Scale(
    n_nodes=600, n_edges=6000, n_features=12, n_classes=3, n_nuisance=2, trace=2.0, n_steps=3, batch_nodes=100,
    max_neighbors=5, hidden_dim=16, embedding_dim=8, labels_per_class=10, n_scored=400,
)  # fmt: skip


def test_the_graph_is_what_it_says(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 1000)  # several pieces
    write_synthetic(tmp_path / "s", SMALL)
    store = open_store(tmp_path / "s", verify=True)
    adjacency = store.graph.adjacency()
    assert (adjacency != adjacency.T).nnz == 0
    assert adjacency.diagonal().sum() == 0
    assert 0.9 * 12000 < store.graph.n_edges <= 12000
    assert all((np.diff(row) > 0).all() for row in np.split(store.graph.indices, store.graph.indptr[1:-1]))
    senders = np.repeat(np.arange(600), np.diff(store.graph.indptr))
    same = (store.y[senders] == store.y[store.graph.indices]).mean()
    assert 0.6 < same < 0.73  # half by choice, and a third of the rest by chance
    assert store.graph.features.shape == (600, 12)
    write_synthetic(tmp_path / "again", SMALL)
    for file in (tmp_path / "s").iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


def test_every_stage_is_recorded(tmp_path):
    lines = []
    result = run_scale(SMALL, folder=tmp_path, say=lines.append)
    assert set(result["stages"]) == {"convert", "open", "verify", "train", "embed", "probe", "embed untrained"}
    assert all(stage["peak_rss_bytes"] > 1e7 and stage["seconds"] >= 0 for stage in result["stages"].values())
    assert set(result["accuracy"]) == {"raw features", "trained", "untrained"}
    assert all(0.2 < value <= 1 for value in result["accuracy"].values())
    assert len(result["loss"]) == 3
    assert (DEFAULT.n_nodes, DEFAULT.n_edges, DEFAULT.default) == (10_000_000, 100_000_000, True)
    assert result["store_bytes"]["features.npy"] > 600 * 12 * 4
    assert len(lines) == len(result["stages"]) + 1
    assert list(tmp_path.iterdir()) == []  # nothing is left behind


def test_with_nothing_named_the_stages_are_the_defaults(tmp_path):
    lines = []
    result = run_scale(replace(SMALL, default=True), folder=tmp_path, say=lines.append)
    assert set(result["stages"]) == {"convert", "open", "verify", "fit", "embed", "probe"}
    assert set(result["accuracy"]) == {"raw features", "default"}
    assert result["embedding_dim"] == 12 + 4 * (12 + 12)
    provenance = {"commit": None, "versions": {"torch": "2"}, "machine": {"cpus": 2, "processor": "p", "threads": 1}}
    text = draw(result | {"provenance": provenance})
    assert "12 features; nothing named, 108 dimensions. Accuracy" in text
    assert "| fit " in text


def test_the_command_keeps_and_draws_its_figures(tmp_path, capsys):
    record, document = tmp_path / "scale.json", tmp_path / "large.md"
    document.write_text("<!-- begin: bench-scale -->\n<!-- end: bench-scale -->\n")
    before = torch.get_num_threads()
    main(nodes=3000, threads=1, json_file=record)
    torch.set_num_threads(before)
    assert "untrained" in capsys.readouterr().out
    result = json.loads(record.read_text())
    assert result["scale"]["n_nodes"] == 3000
    assert result["scale"]["n_edges"] == round(61_859_140 * 3000 / 2_449_029)
    assert result["provenance"]["versions"]["torch"]
    main(json_file=record, docs=document, draw_only=True)
    text = document.read_text()
    assert f"raw features {100 * result['accuracy']['raw features']:.1f} %, trained" in text
    assert f"3,000 nodes, {result['stored_edges']:,} stored edges" in text
    assert "| embed untrained |" in text
