"""One door for names, stores, folders and files; what the place cannot give is refused."""

import re
import warnings

import numpy as np
import pytest

from ccassg import Dataset, as_graph
from ccassg.io import store
from ccassg.io.open_graph import open_graph, open_object
from ccassg.io.storewriter import write_store

EDGES = "source,target\na,b\nb,c\n"
NODES = "id,age,size\na,1,2\nb,2,3\nc,4,5\n"


@pytest.fixture
def stored(tmp_path):
    """The folder of a store of three nodes."""
    graph = as_graph(np.array([[0, 1], [1, 2]]), np.arange(6).reshape(3, 2), node_ids=list("xyz"))
    write_store(tmp_path / "s", Dataset(graph, np.array([0, 1, 0]), ("even", "odd")))
    return str(tmp_path / "s")


def test_a_datasets_name():
    data = open_graph("cora")
    assert (data.graph.n_nodes, data.graph.n_edges, data.graph.n_features) == (2708, 10556, 1433)
    assert len(data.class_names) == 7


def test_a_file_goes_before_a_dataset_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cora").mkdir()
    (tmp_path / "cora" / "edges.csv").write_text(EDGES)
    assert open_graph("cora").graph.node_ids.tolist() == ["a", "b", "c"]


def test_a_dataset_is_not_scaled(program, tmp_path):
    with pytest.raises(ValueError, match=r"^cora has its features as the paper has them; leave `scale` out$"):
        open_graph("cora", scale=True)
    for scale in (None, False):
        data = open_graph("cora", scale=scale)
        assert data.graph.n_nodes == 2708
        assert data.scaling is None
    code, _, err = program("fit", "cora", "--scale", "-o", tmp_path / "m")
    assert code == 2
    assert "leave --scale out" in err


def test_an_edge_file_with_the_options_of_read_graph(write):
    data = open_graph(str(write("edges.csv", EDGES)), features=write("nodes.csv", NODES), directed=True)
    assert data.graph.adjacency().toarray().tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert data.graph.features.tolist() == [[1, 2], [2, 3], [4, 5]]
    assert data.feature_names == ("age", "size")


def test_what_is_read_for_a_model_is_left_to_its_scale(write, tmp_path):
    edges = str(write("edges.csv", "source,target\n0,1\n1,2\n"))
    np.save(tmp_path / "x.npy", [[1, 1000], [2, 3000], [3, 2000]])
    assert open_graph(edges, features=tmp_path / "x.npy").scaling is not None
    # A model of a matrix knows no names.
    new = open_graph(edges, features=tmp_path / "x.npy", like=None, scale=None)
    assert new.scaling is None
    assert new.graph.features.tolist() == [[1, 1000], [2, 3000], [3, 2000]]


def test_a_folder(tmp_path, write):
    write("edges.csv", EDGES)
    assert open_graph(str(tmp_path)).graph.n_edges == 4


def test_a_store(stored):
    data = open_graph(stored)
    assert data.graph.node_ids.tolist() == ["x", "y", "z"]
    assert data.graph.features.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert data.y.tolist() == [0, 1, 0]
    assert data.class_names == ("even", "odd")


USUAL = {"features": None, "labels": None, "encoding": "utf-8", "directed": False, "scale": None}


def test_a_store_takes_options_at_their_defaults(stored):
    assert open_graph(stored, **USUAL, like=("age", "size")).graph.n_nodes == 3


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("features", "nodes.csv"),
        ("labels", "nodes.csv"),
        ("keep", ["age"]),
        ("encoding", "latin-1"),
        ("directed", True),
        ("scale", True),
        ("scale", False),
        ("source", "from"),
    ],
)
def test_a_store_refuses_what_it_cannot_heed(stored, name, value):
    sentence = (
        f"{stored} is a store, which holds its own edges, features, labels and ids; leave `{name}` out here and give it to "
        "ccassg convert"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        open_graph(stored, **(USUAL | {name: value}))


def test_a_store_is_read_against_its_hashes_unless_told_otherwise(stored, monkeypatch):
    monkeypatch.setattr(store, "ALWAYS_VERIFY", 0)  # as if it were large
    features = np.load(f"{stored}/features.npy", mmap_mode="r+")
    features[0, 0] = 9
    features.flush()
    with pytest.raises(ValueError, match=r"features\.npy was altered: its hash differs"):
        open_graph(stored)
    assert open_graph(stored, verify=False).graph.features[0, 0] == 9


def test_a_store_without_its_manifest_is_not_taken_for_a_folder(stored, tmp_path):
    (tmp_path / "s" / "manifest.json").unlink()
    with pytest.raises(ValueError, match=r"there is no manifest\.json in it"):
        open_graph(stored)


@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        ("nowhere.csv", "choose from cora, citeseer, pubmed, computers, photo, cs, physics"),
        ("kora", "did you mean 'cora'?"),
    ],
)
def test_what_is_nowhere_is_named_with_what_there_is(tmp_path, monkeypatch, name, way_out):
    monkeypatch.chdir(tmp_path)
    sentence = f"{name} is neither a file or folder here nor a dataset's name; {way_out}"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        open_graph(name)


def test_what_is_learned_from_is_no_warning_and_all_else_is_whatever_its_words(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\nc,a\n")
    (tmp_path / "nodes.csv").write_text("id,x,learns from\na,1,\nb,2,\nc,3,\n")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = open_object(str(tmp_path))
    said = [str(warning.message) for warning in told]
    assert any("left out 'learns from'" in text for text in said)
    (learned,) = set(found.notes) - set(said)
    assert learned.endswith("nodes.csv: learns from 1 feature: 'x'; ids in 'id'")
