import json
import os
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ccassg import Dataset
from ccassg.datasets import stochastic_block_graph
from ccassg.evaluate import summary
from ccassg.io import folders
from ccassg.io.embeddings import read_embeddings
from ccassg.io.labels import EMBEDDING, NODES
from ccassg.run import FILES, RUN, Run, page, read_run, save_run
from ccassg.systems import make


@pytest.fixture
def saved(tmp_path):
    drawn = stochastic_block_graph(60, n_classes=3, n_features=6, seed=0)
    y = np.where(np.arange(60) < 5, -1, drawn.y)
    data = Dataset(drawn.graph, y, ("b", "a", "c"), feature_names=("u", "v=1", "v=2", "w#0", "w#1", "t"), notes=("hm",))
    model = make("raw-features").fit(data)
    z = model.transform(data)
    save_run(tmp_path / "r", model, data, z, source="mine.csv", provenance={"seed": 3})
    return tmp_path / "r", data, z


def test_what_was_saved_comes_back(saved):
    folder, data, z = saved
    run = read_run(folder)
    assert (run.source, run.dataset, run.notes, run.provenance) == ("mine.csv", None, ("hm",), {"seed": 3})
    assert (run.graph, run.class_names) == (data.graph.counts(), data.class_names)
    assert run.labels() == data.labels
    assert (read_embeddings(folder / EMBEDDING)[0] == z).all()
    assert [run.had_feature(name) for name in ("u", "v", "w", "x", "t#")] == [True, True, True, False, False]


def test_the_page_of_a_run_has_its_labels_probed(saved):
    folder, data, z = saved
    found = page(folder, n_seeds=2)
    assert found.title == "mine.csv"
    assert (found.embedding == z).all()
    assert found.labels == data.labels
    assert found.probe["classes"] == ["b", "a", "c"]
    assert found.probe["n_runs"] == 2
    assert page(folder, probe={"accuracy": 1}).probe == {"accuracy": 1, "classes": ["b", "a", "c"]}


def test_a_pipe_in_place_of_a_file_is_refused_at_once(saved, bounded):
    folder, *_ = saved
    for name, read in ((RUN, read_run), (NODES, lambda folder: Run(folder).labels()), (EMBEDDING, page)):
        whole = (folder / name).rename(folder / "whole")
        os.mkfifo(folder / name)
        bounded()
        with pytest.raises(ValueError, match=f"{name} is (not a regular file|missing, or not as this run wrote it)"):
            read(folder)
        whole.rename(folder / name)


def test_labels_that_would_fill_the_memory_are_refused(saved):
    folder, *_ = saved
    labels = pa.DictionaryArray.from_arrays(pa.array(np.zeros(500_000, np.int32)), ["x" * 1000])
    pq.write_table(pa.table({"id": np.arange(500_000), "label": labels}), folder / NODES)
    sealed(folder)
    with pytest.raises(ValueError, match=r"nodes\.parquet grows beyond"):
        page(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ([], "not an object"),
        ({"notes": "a"}, "notes is a str"),
        ({"class_names": [1]}, "class_names must hold text only"),
        ({"graph": 3}, "graph is a int"),
    ],
)
def test_a_forged_record_is_refused(saved, change, message):
    folder, *_ = saved
    record = json.loads((folder / RUN).read_text())
    (folder / RUN).write_text(json.dumps(record | change if isinstance(change, dict) else change))
    with pytest.raises(ValueError, match=rf"run\.json cannot be read: {message}"):
        read_run(folder)


def test_a_folder_without_a_run_says_how_to_make_one(tmp_path):
    with pytest.raises(ValueError, match=r"holds no run .* make one with: ccassg fit GRAPH -o"):
        read_run(tmp_path)


def sealed(folder, **changes):
    """Make the hashes of a run fit what is in its folder now."""
    record = json.loads((folder / RUN).read_text()) | changes
    folders.write_index(folder, RUN, {name: record[name] for name in record if name not in ("files", "sha256")})


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


def test_a_run_of_mixed_files_is_refused(saved, tmp_path):
    """As a copy that was cut off leaves it, or an embedding of another model."""
    folder, data, z = saved
    save_run(tmp_path / "other", make("raw-features").fit(data), data, z + 1, source="other.csv", provenance={})
    whole = (folder / EMBEDDING).read_bytes()
    for content in ((tmp_path / "other" / EMBEDDING).read_bytes(), whole[:-9], None):
        (folder / EMBEDDING).unlink()
        if content is not None:
            (folder / EMBEDDING).write_bytes(content)
        with pytest.raises(ValueError, match=r"embedding\.parquet is missing, or not as this run wrote it; fit again"):
            page(folder)
        (folder / EMBEDDING).write_bytes(whole)
    assert (page(folder, 1).embedding == z).all()


def test_a_run_without_hashes_is_of_an_earlier_version(saved):
    folder, data, z = saved
    record = json.loads((folder / RUN).read_text())
    (folder / RUN).write_text(json.dumps({name: record[name] for name in record if name not in ("files", "sha256")}))
    with pytest.raises(ValueError, match=r"holds no run \(run\.json is damaged, altered or of an earlier version\)"):
        page(folder)
    with pytest.raises(ValueError, match="holds files that ccassg is not known to have written"):
        save_run(folder, make("raw-features").fit(data), data, z, source="", provenance={})


def test_only_files_of_a_run_are_written(saved):
    folder, *_ = saved
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
