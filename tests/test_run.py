import json

import numpy as np
import pytest

from ccassg import Dataset
from ccassg.datasets import stochastic_block_graph
from ccassg.io.embeddings import read_embeddings
from ccassg.io.labels import EMBEDDING
from ccassg.run import RUN, page, read_run, save_run
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
