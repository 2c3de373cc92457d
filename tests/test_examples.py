"""The examples run, with small settings, and give what they promise."""

import importlib.util
import json
from pathlib import Path

import pytest
from sklearn.decomposition import PCA

EXAMPLES = Path(__file__).parents[1] / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_short_and_tested():
    assert sorted(path.stem for path in EXAMPLES.glob("*.py")) == ["cora_from_csv", "digits", "single_cells"]
    for path in EXAMPLES.glob("*.py"):
        assert len(path.read_text().splitlines()) < 80, path


def test_cora_from_csv(tmp_path, capsys):
    from ccassg import load_dataset
    from ccassg.evaluate.clustering import knn_score
    from ccassg.io.embeddings import read_embeddings

    load("cora_from_csv").main(tmp_path, n_steps=3, dim=16, n_seeds=1)
    z, ids = read_embeddings(tmp_path / "embedding.parquet")
    assert z.shape == (2708, 16)
    assert knn_score(z, load_dataset("cora").y) > 0.5  # the largest of seven classes has 30 %
    assert list(ids[:2]) == ["paper-0", "paper-1"]
    assert (tmp_path / "model" / "model.safetensors").exists()
    assert "edges: 5,278" in capsys.readouterr().out


def test_digits(capsys):
    found = load("digits").main(n_steps=5, dim=16, n_images=300, n_seeds=1)
    assert set(found) == {"pixels", "ccassg"}
    assert found["ccassg"][0] > 0.4  # random clusters have about 0
    assert "reverse" in capsys.readouterr().out


def test_single_cells(tmp_path, capsys, monkeypatch):
    pytest.importorskip("scanpy")
    pytest.importorskip("matplotlib")
    # Any two coordinates do for a test of the drawing; t-SNE takes most of the example's time.
    monkeypatch.setattr("sklearn.manifold.TSNE", lambda **_: PCA(2))
    picture, record = tmp_path / "cells.png", tmp_path / "cells.json"
    found = load("single_cells").main(n_steps=3, dim=16, n_seeds=1, picture=picture, record=record)
    assert set(found) == {"PCA", "CCA-SSG"}
    assert found["CCA-SSG"]["nmi"][0] > 0.3
    assert picture.stat().st_size > 10_000
    made = json.loads(record.read_text())
    assert made["scores"] == found
    assert made["seeds"] == [0]
    assert {"torch", "scanpy"} < set(made["versions"])
    assert "nodes: 700" in capsys.readouterr().out


def test_the_page_on_single_cells_says_what_was_recorded():
    from studies.single_cells_table import DOCUMENT, RECORD, table

    record, text = json.loads(RECORD.read_text()), DOCUMENT.read_text()
    assert table(record) in text, "run: python -m studies.single_cells_table"
    assert record["seeds"] == list(range(5))
    assert not record["commit"]["modified"]
    # The page says in words that it is not better.
    means = {name: sum(scores["nmi"]) / 5 for name, scores in record["scores"].items()}
    assert means["CCA-SSG"] <= means["PCA"]
    assert "not better than PCA" in text
