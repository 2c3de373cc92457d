"""`ccassg links` and `ccassg evaluate --links`: on a model made from files, and on what is no such model."""

import json
import re
import shutil

import numpy as np
import pytest

from ccassg import CCASSG, read_graph
from ccassg.evaluate.links import link_scores, suggest_links
from ccassg.io import folders
from ccassg.io.embeddings import read_embeddings


@pytest.fixture
def fitted(program, files, tmp_path, monkeypatch):
    """A folder with a user's files and a model of them, fitted with names as seen from there."""
    for name in ("edges.csv", "nodes.csv"):
        shutil.copy(files / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    command = ("fit", "edges.csv", "--features", "nodes.csv", "--label-column", "label", "-o", "m")
    assert program(*command)[0] == 0
    return tmp_path


def test_links_of_a_node_from_another_folder(program, fitted, monkeypatch):
    monkeypatch.chdir("/")
    code, out, err = program("links", fitted / "m", "n7", "-k", 3, "--json", fitted / "links.json")
    assert code == 0, err
    z, ids = read_embeddings(fitted / "m" / "embedding.parquet")
    data = read_graph(fitted / "edges.csv", fitted / "nodes.csv", label_column="label")
    pairs, scores = suggest_links(z, data, node=ids.tolist().index("n7"), k=3)
    rows = [line.split() for line in out.strip().splitlines()]
    assert rows[0] == ["from", "to", "score"]
    assert [row[:2] for row in rows[1:]] == ids[pairs].tolist()
    assert [float(row[2]) for row in rows[1:]] == pytest.approx(scores.tolist(), abs=1e-4)
    assert [[row["from"], row["to"]] for row in json.loads((fitted / "links.json").read_text())["rows"]] == ids[
        pairs
    ].tolist()
    known = {frozenset(line.split(",")) for line in (fitted / "edges.csv").read_text().split()}
    assert not known & {frozenset(row[:2]) for row in rows[1:]}


def test_links_of_the_whole_graph_of_a_dataset(program, tmp_path):
    assert program("fit", "cora", "--method", "propagated-features", "-o", tmp_path / "m")[0] == 0
    code, out, err = program("links", tmp_path / "m")
    assert code == 0, err
    scores = [float(line.split()[2]) for line in out.strip().splitlines()[1:]]
    assert len(scores) == 20
    assert scores == sorted(scores, reverse=True)


def test_held_out_edges_are_scored_by_the_models_own_settings(program, fitted):
    code, out, err = program("evaluate", "m", "--links", "--seeds", 2, "--json", "found.json")
    assert code == 0, err
    found = json.loads((fitted / "found.json").read_text())["rows"]
    data = read_graph("edges.csv", "nodes.csv", label_column="label")
    assert found == [link_scores(CCASSG(random_state=0), data, seed) for seed in (0, 1)]
    auc = np.mean([100 * one["embedding"]["auc"] for one in found])
    assert f"embedding          AUC {auc:.1f} ±" in out
    assert "Adamic-Adar" in out
    best = max(found[0], key=lambda name: sum(one[name]["auc"] for one in found))
    assert (f"note: {best} has a higher AUC" in out) == (best != "embedding")


def test_a_rule_that_does_better_is_named(program, tmp_path):
    """Of a graph of cliques the neighbours tell all, and features of noise nothing."""
    rng = np.random.default_rng(0)
    pairs = [(8 * c + i, 8 * c + j) for c in range(12) for i in range(8) for j in range(i)]
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"{i},{j}\n" for i, j in pairs))
    np.save(tmp_path / "x.npy", rng.normal(size=(96, 3)))
    given = ("--features", tmp_path / "x.npy", "--method", "raw-features", "-o", tmp_path / "m")
    assert program("fit", tmp_path / "edges.csv", *given)[0] == 0
    code, out, err = program("evaluate", tmp_path / "m", "--links", "--seeds", 1)
    assert code == 0, err
    assert re.search("note: (common neighbours|Adamic-Adar) has a higher AUC than the embedding's own score", out)


def test_a_graph_that_changed_or_went_is_refused(program, fitted):
    nodes = (fitted / "nodes.csv").read_text()
    (fitted / "nodes.csv").write_text(nodes.replace("n3,", "someone,"))
    (fitted / "edges.csv").write_text(
        (fitted / "edges.csv").read_text().replace("n3,", "someone,").replace(",n3\n", ",someone\n")
    )
    code, _, err = program("links", "m")
    assert code == 2
    assert "has other nodes than when m was made; make it again with: ccassg fit GRAPH -o m" in err
    (fitted / "edges.csv").unlink()
    code, _, err = program("evaluate", "m", "--links")
    assert code == 2
    assert "edges.csv is neither a file or folder here" in err


@pytest.mark.parametrize("said", [None, {}, {"graph": 3}, {"features": "x.csv"}, {"graph": "edges.csv", "nonsense": 3}])
def test_a_run_that_does_not_say_where_its_graph_is(program, fitted, said):
    record = json.loads((fitted / "m" / "run.json").read_text()) | {"read_from": said}
    folders.write_index(fitted / "m", "run.json", {k: record[k] for k in record if k not in ("files", "sha256")})
    code, _, err = program("links", "m")
    assert code == 2
    assert "m does not say where its graph is; make it again with: ccassg fit GRAPH -o m" in err


def test_no_run(program, model, tmp_path):
    code, _, err = program("links", model / "embedding.parquet")
    assert code == 2
    assert "embedding.parquet holds no run" in err
    code, _, err = program("links", model, "nobody")
    assert code == 2
    assert "no node 'nobody'" in err
    code, _, err = program("evaluate", tmp_path, "--links")
    assert code == 2
    assert "holds no run" in err
