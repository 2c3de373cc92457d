import json
import os
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from ccassg import CCASSG, Dataset, scoring
from ccassg.evaluate import summary
from ccassg.io.graphs import read_graph
from ccassg.io.results import NODES
from ccassg.run import save_run
from ccassg.scoring import SCORES, judge, page, score
from ccassg.systems import make
from saved_models import sealed


def test_the_page_of_a_run_has_its_labels_probed(saved):
    folder, data, z = saved
    found = page(folder, n_seeds=2)
    assert found.title == "mine.csv"
    assert (found.embedding == z).all()
    assert found.labels == data.labels
    assert found.probe["classes"] == ["b", "a", "c"]
    assert found.probe["n_runs"] == 2
    assert page(folder, probe={"accuracy": 1}).probe == {"accuracy": 1, "classes": ["b", "a", "c"]}


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (
            pa.array([{"a": i} for i in range(60)]),
            "struct<a: int64> cannot be a class, an id or a feature; leave it out",
        ),
        (pa.array([[i] for i in range(60)]), "list<element: int64> cannot be a class; labels are integers or names"),
        (pa.array([b"x"] * 60), "binary cannot be a class; labels are integers or names"),
    ],
    ids=["structs", "lists", "bytes"],
)
def test_labels_that_are_no_classes_are_refused(saved, labels, sentence):
    folder, data, _ = saved
    pq.write_table(pa.table({"id": data.ids, "label": labels}), folder / NODES)
    sealed(folder)
    with pytest.raises(ValueError, match=rf"nodes\.parquet, column 'label': {re.escape(sentence)}"):
        page(folder)


def test_labels_of_other_nodes_are_refused(saved):
    folder, *_ = saved
    pq.write_table(pa.table({"id": [1, 2], "label": ["a", "b"]}), folder / NODES)
    sealed(folder)
    with pytest.raises(ValueError, match=r"nodes\.parquet has 2 labels for 60 nodes; fit the model again"):
        page(folder)


def test_the_page_says_that_labels_are_ids(saved):
    folder, data, _ = saved
    pq.write_table(pa.table({"id": data.ids, "label": [f"name {i}" for i in range(60)]}), folder / NODES)
    sealed(folder, class_names=None)
    found = page(folder)
    assert found.probe is None
    assert "the labels have 60 different values on 60 nodes" in found.notes[-1]


def test_the_page_says_which_classes_were_scored(saved, monkeypatch):
    folder, *_ = saved
    monkeypatch.setattr(summary, "MAX_CLASSES", 2)
    found = page(folder, n_seeds=1)
    assert len(found.probe["classes"]) == len(found.probe["confusion"]) == 2
    assert found.probe["classes"] == [name for name in ("b", "a", "c") if name in found.probe["classes"]]
    assert found.notes[0] == "hm"
    assert found.notes[-1].startswith("of 3 classes the 2 with most nodes were scored")


@pytest.fixture
def folder(tmp_path):
    """A run of a graph in files, two classes told by its features and its edges."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    edges = [f"{i},{j}" for i in range(300) for j in range(i) if rng.random() < (0.04 if y[i] == y[j] else 0.01)]
    x = rng.normal(size=(300, 4)) + 0.7 * y[:, None]
    (tmp_path / "edges.csv").write_text("source,target\n" + "\n".join(edges))
    rows = [f"{i},{','.join(f'{v:.3f}' for v in x[i])},{'ab'[y[i]]}" for i in range(300)]
    (tmp_path / "nodes.csv").write_text("id,p,q,r,s,label\n" + "\n".join(rows))
    data = read_graph(tmp_path)
    model = CCASSG(random_state=0).fit(data)
    read = {"graph": str(tmp_path)}
    save_run(tmp_path / "m", model, data, model.transform(data), source="mine", provenance={}, read_from=read)
    return tmp_path / "m"


def test_raw_features_of_the_graph_that_was_fitted_stand_beside_the_embedding(folder):
    found = score(folder, n_seeds=3)
    features = read_graph(folder.parent).graph.features
    alone = summary.linear_probe(
        features, read_graph(folder.parent).y, seeds=range(3), solver="logistic", tolerance=1e-2
    )
    assert found["raw_features"]["accuracies"] == alone.accuracies
    assert found["largest_class"]["accuracy"] == 0.5
    assert found["class_names"] == ["a", "b"]
    assert found["notes"] == found["asides"] == []
    table = folder.parent / "nodes.csv"
    assert score(folder, labels=table, n_seeds=3)["raw_features"]["accuracies"] == alone.accuracies
    bare = score(folder / "embedding.parquet", labels=table, n_seeds=3)
    assert "raw_features" not in bare
    assert bare["asides"] == ["name the graph to see what its raw features score (`graph`)"]
    given = score(folder / "embedding.parquet", labels=table, n_seeds=3, graph=read_graph(folder.parent))
    assert given["raw_features"]["accuracies"] == alone.accuracies


def test_the_page_has_the_columns_of_the_node_table_and_degrees(folder, monkeypatch):
    data = read_graph(folder.parent)
    found = page(folder, 1)
    assert found.title == "mine"
    assert list(found.columns) == ["degree", "p", "q", "r", "s"]
    np.testing.assert_array_equal(found.columns["degree"], data.graph.degrees())
    np.testing.assert_allclose(found.columns["q"], _column(folder, "q")[[int(i) for i in found.node_ids]])
    assert found.names is None
    monkeypatch.setattr(scoring, "PAGE_CELLS", 700)
    found = page(folder, 1)
    assert list(found.columns) == ["degree", "p", "q"]
    assert found.notes[-1].endswith("nodes.csv: these columns colour no map: 'r', 's'")
    table = folder.parent / "nodes.csv"
    table.write_text(table.read_text().replace("id,p,", "id,name,"))
    assert page(folder, 1).names[0] == f"{_column(folder, 'name')[int(found.node_ids[0])]:.3f}"
    table.unlink()
    assert list(page(folder, 1).columns) == ["degree"]


@pytest.mark.parametrize(
    ("source", "title"), [("cora", "cora"), ("/home/me/acm", "acm"), ("/home/me/acm/edges.csv", "acm/edges.csv")]
)
def test_the_page_is_named_after_the_graph_without_its_path(saved, source, title):
    folder, data, z = saved
    save_run(folder, make("raw-features").fit(data), data, z, source=source, provenance={})
    assert page(folder, probe={}).title == title


def _column(folder, name):
    return csv.read_csv(folder.parent / "nodes.csv")[name].to_numpy()


def test_a_graph_that_is_gone_or_another_is_named(folder):
    table = folder.parent / "edges.csv"
    table.write_text(table.read_text() + "\n900,1")
    (folder.parent / "nodes.csv").write_text((folder.parent / "nodes.csv").read_text() + "\n900,1,1,1,1,a")
    (note,) = score(folder, n_seeds=1)["asides"]
    assert note == "the graph has other nodes than the embedding, so that its raw features were not scored"
    table.unlink()
    (note,) = score(folder, n_seeds=1)["asides"]
    assert note.startswith("the raw features cannot be scored beside the embedding: ")
    assert "holds no edges" in note
    assert not (folder / SCORES).exists()


def test_scores_are_made_once_and_again_where_something_changed(folder, monkeypatch):
    found = score(folder, n_seeds=2)
    made = []
    monkeypatch.setattr(scoring, "summarize", lambda *_, **__: made.append(1) or dict(found))
    assert score(folder, n_seeds=2) == json.loads(json.dumps(found))
    assert page(folder, 2).probe["accuracy"] == found["probe"]["accuracy"]
    assert made == []
    score(folder, n_seeds=1)
    assert made == [1]
    kept = json.loads((folder / SCORES).read_text())
    (folder / SCORES).write_text(json.dumps(kept | {"of": kept["of"] | {"format": 0}}))  # of another version
    score(folder, n_seeds=1)
    score(folder, n_seeds=1)
    assert made == [1, 1]
    pq.write_table(pa.table({"id": np.arange(300), "label": ["a", "b", "b"] * 100}), folder / NODES)
    score(folder, n_seeds=1)
    assert made == [1, 1, 1]


def test_a_file_of_that_name_that_is_not_ours_stays(folder):
    (folder / SCORES).write_text("mine")
    score(folder, n_seeds=1)
    assert (folder / SCORES).read_text() == "mine"


def test_scores_that_are_a_file_of_holes_are_not_read_into_memory(folder, bounded):
    score(folder, n_seeds=1)
    os.truncate(folder / SCORES, 2**34)
    bounded()
    assert score(folder, n_seeds=1)["probe"]


def test_the_public_split_of_a_dataset_is_the_one_that_counts(tmp_path):
    from ccassg.datasets import load_dataset

    data = load_dataset("cora")
    model = make("raw-features").fit(data)
    save_run(tmp_path, model, data, model.transform(data)[:, :50].copy(), source="cora", provenance={})
    found = score(tmp_path)
    assert found["probe"]["n_runs"] == 1
    assert sum(map(sum, found["probe"]["confusion"])) == 1000


def test_fit_and_page_and_evaluate_say_the_same(folder):
    data = read_graph(folder.parent)
    shuffled = Dataset(data.graph, np.random.default_rng(1).permutation(data.y), ("a", "b"))
    model = CCASSG(random_state=0).fit(shuffled)
    z = model.transform(shuffled)
    (said,) = (text for text in judge(model, shuffled, z) if "chance" in text)
    assert said.startswith("The embedding knows no more of the labels than chance: its linear probe is right in ")
    save_run(folder, model, shuffled, z, source="mine", provenance={}, read_from={"graph": str(folder.parent)})
    found = score(folder)
    (evaluated,) = (text for text in found["warnings"] if "chance" in text)
    from ccassg.report.payload import build_payload

    assert evaluated in build_payload(page(folder))["warnings"]
    assert not [text for text in judge(CCASSG(random_state=0).fit(data), data, z) if "hardly" in text]


def test_a_loss_that_rose_is_said_where_it_is_made(folder):
    data = read_graph(folder.parent)
    model = CCASSG(random_state=0, encoder="gcn", n_steps=2, hidden_dim=8, embedding_dim=4).fit(data)
    model.history_ = {"loss": [1.0, 2.0]}
    (said,) = (text for text in judge(model, data, model.transform(data)) if "loss" in text)
    assert "ended above its start (1 to 2)" in said
    assert f"lower learning_rate (it was {model.settings_['learning_rate']:g})" in said
