"""Whole graphs from files: matching by id, folders, labels, and what does not match."""

import json
import re
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from ccassg import Dataset, as_graph
from ccassg.graph import FeatureSpace
from ccassg.io import store
from ccassg.io.graphs import open_graph, open_object, read_graph
from ccassg.io.storewriter import write_store

EDGES = "source,target\nann,bob\nbob,cid\n"
NODES = "id,age,kind,label\nbob,1,x,red\ncid,2,y,\nann,3,x,blue\ndan,4,y,red\n"


def neighbours(graph):
    names = graph.node_ids
    return {
        names[i]: {names[j] for j in graph.indices[graph.indptr[i] : graph.indptr[i + 1]]} for i in range(graph.n_nodes)
    }


def test_two_csv_files(write):
    loaded = read_graph(write("e.csv", EDGES), write("n.csv", NODES))
    graph = loaded.graph
    assert graph.node_ids.tolist() == ["bob", "cid", "ann", "dan"]
    assert neighbours(graph) == {"bob": {"ann", "cid"}, "cid": {"bob"}, "ann": {"bob"}, "dan": set()}
    assert loaded.feature_names == ("age", "kind=x", "kind=y")
    assert graph.features.tolist() == [[1, 1, 0], [2, 0, 1], [3, 1, 0], [4, 0, 1]]
    assert loaded.y.tolist() == [1, -1, 0, 1]
    assert loaded.class_names == ("blue", "red")
    assert not loaded.structural
    assert any("labels in 'label'" in note for note in loaded.notes)
    assert any("1 node has no edge" in note for note in loaded.notes)


def test_folder_finds_its_files(write, tmp_path):
    write("edges.csv", EDGES)
    write("nodes.csv", NODES)
    write("labels.tsv", "ann\tone\nbob\ttwo\n")
    write("README.md", "nothing")
    loaded = read_graph(tmp_path)
    assert loaded.graph.n_nodes == 4
    assert loaded.y.tolist() == [1, -1, 0, -1]
    assert "label=red" in loaded.feature_names  # labels came from their own file, so this is a feature like any other
    write("edges.tsv", "a\tb\n")
    with pytest.raises(ValueError, match=r"several edges.* \(edges.csv, edges.tsv\)"):
        read_graph(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="holds no edges"):
        read_graph(tmp_path / "empty")


def test_directions_and_weights(write):
    path = write("e.csv", "source,target,weight\na,b,2\nb,c,0.5\n")
    graph = read_graph(path, directed=True).graph
    assert graph.directed
    assert neighbours(graph) == {"a": {"b"}, "b": {"c"}, "c": set()}
    assert graph.weights.tolist() == [2, 0.5]
    assert read_graph(path).graph.n_edges == 4


def test_matrix_rows_by_order_and_by_ids(write, tmp_path):
    numbered = write("e.csv", "0,1\n1,3\n")
    named = write("s.csv", EDGES)
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    np.save(tmp_path / "x.npy", x)
    sp.save_npz(tmp_path / "x.npz", sp.csr_array(x))
    for suffix in ("npy", "npz"):
        loaded = read_graph(numbered, tmp_path / f"x.{suffix}")
        assert loaded.graph.ids is None
        assert loaded.graph.n_nodes == 4
        assert loaded.feature_names is None
    for ids in (write("ids.txt", "bob\ncid\nann\ndan\n"), write("ids.json", json.dumps(["bob", "cid", "ann", "dan"]))):
        graph = read_graph(named, tmp_path / "x.npy", ids=ids).graph
        assert graph.node_ids.tolist() == ["bob", "cid", "ann", "dan"]
        assert neighbours(graph)["bob"] == {"ann", "cid"}
    for edges, options, sentence in [
        (named, {}, "has no ids, but .* names nodes such as 'ann'"),
        (write("f.csv", "1,4\n"), {}, r"rows for the nodes 0 .. 3, but .* names 1 others, first 4"),
        (named, {"ids": write("few.txt", "a\nb\n")}, "has 2 ids, but .* has 4 rows"),
        (named, {"ids": write("twice.txt", "a\nb\na\nc\n")}, "line 3: the id 'a' was there before"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            read_graph(edges, tmp_path / "x.npy", **options)


def test_ids_match_across_types(write, tmp_path):
    edges = write("e.csv", "source,target\n1,2\n2,3\n")
    pq.write_table(pa.table({"id": ["3", "1", "2"], "x": [1.0, 2, 3]}), tmp_path / "n.parquet")
    assert read_graph(edges, tmp_path / "n.parquet").graph.node_ids.tolist() == ["3", "1", "2"]
    pq.write_table(pa.table({"id": [3, 1, 2], "x": [1.0, 2, 3]}), tmp_path / "n.parquet")
    graph = read_graph(edges, tmp_path / "n.parquet").graph
    assert graph.node_ids.tolist() == [3, 1, 2]
    assert neighbours(graph) == {3: {2}, 1: {2}, 2: {1, 3}}
    mixed = read_graph(edges, write("n.csv", "id,x\n3,1\nx,2\n2,3\n1,4\n")).graph
    assert mixed.node_ids.tolist() == ["3", "x", "2", "1"]
    assert neighbours(mixed)["2"] == {"1", "3"}


def test_id_column_is_found(write):
    edges = write("e.csv", EDGES)
    for table, options in [
        ("paper,age\nbob,1\nann,2\ncid,3\n", {}),
        ("bob,1\nann,2\ncid,3\n", {}),
        ("age,key\n1,bob\n2,ann\n3,cid\n", {"id_column": "key"}),
        ("1,bob\n2,ann\n3,cid\n", {"id_column": 2}),
        (",0\nbob,1\nann,2\ncid,3\n", {}),
    ]:
        graph = read_graph(edges, write("n.csv", table), **options).graph
        assert graph.node_ids.tolist() == ["bob", "ann", "cid"]
        assert graph.features.tolist() == [[1], [2], [3]]
    with pytest.raises(ValueError, match="no column holds the ids that the edges name, such as 'ann'"):
        read_graph(edges, write("n.csv", "age,size\n1,2\n3,4\n5,6\n"))
    by_row = read_graph(write("f.csv", "0,1\n1,2\n"), write("n.csv", "age,size\n0.1,2\n0.3,4\n0.5,6\n"))
    assert by_row.graph.features.shape == (3, 2)
    assert any("row i belongs to node i" in note for note in by_row.notes)


@pytest.mark.parametrize(
    ("nodes", "sentence"),
    [
        (
            "id,age\nann,1\nbob,2\n",
            r"n\.csv lacks 1 of the 3 nodes that .*e\.csv names \(first 'cid'\), as in line \d; add",
        ),
        ("id,age\nx,1\ny,2\n", "have no id in common"),
        ("id,age\nann,1\nbob,2\nbob,3\ncid,1\n", "line 4: the id 'bob' was there before"),
        ("id,age\nann,1\nbob\n", "line 3: 1 columns"),
        ("id,age\nann,1\nbob,two\ncid,3\n", "column 'age', line 3: 'two' among numbers"),
        ("id,age\nann,1\n,2\ncid,3\n", "line 3: an id is empty"),
        ("id,age\n", r"n\.csv has column names but no rows"),
        ("", "is empty"),
    ],
)
def test_bad_node_files_get_their_sentence(write, nodes, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        read_graph(write("e.csv", EDGES), write("n.csv", nodes))
    assert "\n" not in str(caught.value)


def test_without_features_structure_speaks(write):
    loaded = read_graph(write("e.csv", EDGES), n_components=2)
    assert loaded.structural
    assert loaded.graph.node_ids.tolist() == ["ann", "bob", "cid"]
    assert loaded.graph.features.shape == (3, 7)
    assert len(loaded.feature_names) == 7
    assert "no features were given" in loaded.notes[-1]
    only_labels = read_graph(write("e.csv", EDGES), write("n.csv", "id,label\nann,1\nbob,0\ncid,1\n"))
    assert only_labels.structural
    assert only_labels.y.tolist() == [1, 0, 1]


def test_nodes_without_edges_and_features_are_few_for_their_file(write, tmp_path):
    head = "%%MatrixMarket matrix coordinate pattern general\n"
    path = write("g.mtx", head + "70000 70000 1\n1 2\n")
    with pytest.raises(
        ValueError, match=r"g\.mtx grows beyond 268,435,456 bytes when features are made from its edges"
    ):
        read_graph(path)
    assert read_graph(write("g.mtx", head + "5000 5000 1\n1 2\n"), n_components=1).graph.n_isolated == 4998
    ids = np.arange(600_001)
    kinds = dict.fromkeys("uv", "DELTA_BINARY_PACKED")
    pq.write_table(
        pa.table({"u": ids[:-1], "v": ids[1:]}), tmp_path / "g.parquet", use_dictionary=False, column_encoding=kinds
    )
    assert (tmp_path / "g.parquet").stat().st_size < 50_000
    with pytest.raises(ValueError, match=r"g\.parquet grows beyond .* leave nodes without edges out or give features"):
        read_graph(tmp_path / "g.parquet")


def test_feature_columns_and_new_nodes(write):
    edges = write("e.csv", EDGES)
    old = read_graph(edges, write("n.csv", NODES), feature_columns=["kind", "age"])
    assert old.feature_names == ("kind=x", "kind=y", "age")
    new = read_graph(
        edges, write("m.csv", "id,age,kind,extra\nann,7,y,0\nbob,8,z,0\ncid,9,y,0\n"), like=old.feature_names
    )
    assert new.feature_names == old.feature_names
    assert new.graph.features.tolist() == [[0, 1, 7], [0, 0, 8], [0, 1, 9]]
    with pytest.raises(ValueError, match="lacks 3 of the 3 features"):
        read_graph(edges, write("m.csv", "id,extra\nann,7\nbob,8\ncid,9\n"), like=old.feature_names)
    with pytest.raises(ValueError, match="no column 'shoe' for the features"):
        read_graph(edges, write("n.csv", NODES), feature_columns=["shoe"])


def test_frames_go_in_as_well(write):
    nodes = pd.DataFrame({"age": [1.0, 2, 3]}, index=["cid", "bob", "ann"])
    edges = pd.DataFrame({"u": ["ann", "bob"], "v": ["bob", "cid"]})
    assert read_graph(edges, nodes).graph.node_ids.tolist() == ["cid", "bob", "ann"]
    assert read_graph(write("e.csv", EDGES), nodes).graph.features.tolist() == [[1], [2], [3]]


EDGE_FRAME = pd.DataFrame({"source": [10, 20, 20], "target": [20, 30, 30], "weight": [1.0, 2.0, 0.5]})
NODE_FRAME = pd.DataFrame({"node_id": [30, 20, 10], "x": [0.1, 0.2, 0.3], "kind": ["p", "q", "p"]})


@pytest.mark.parametrize("library", ["pandas", "polars", "lazy", "arrow"])
def test_frames_agree(library):
    edges, nodes = EDGE_FRAME, NODE_FRAME
    if library != "pandas":
        edges, nodes = pl.from_pandas(edges), pl.from_pandas(nodes)
    if library == "lazy":
        edges, nodes = edges.lazy(), nodes.lazy()
    if library == "arrow":
        edges, nodes = edges.to_arrow(), nodes.to_arrow()
    graph = read_graph(edges, nodes).graph
    assert graph.node_ids.tolist() == [30, 20, 10]
    np.testing.assert_allclose(graph.adjacency().toarray(), [[0, 2.5, 0], [2.5, 0, 1], [0, 1, 0]])
    np.testing.assert_allclose(graph.features, [[0.1, 1, 0], [0.2, 0, 1], [0.3, 1, 0]], rtol=1e-6)


def test_index_of_a_frame_holds_ids():
    for nodes in (NODE_FRAME.set_index("node_id"), NODE_FRAME.set_index("node_id").rename_axis(None)):
        assert read_graph(EDGE_FRAME, nodes).ids.tolist() == [30, 20, 10]
    categories = NODE_FRAME.astype({"kind": "category"})
    assert read_graph(EDGE_FRAME, categories).graph.n_features == 3


def test_bad_frames_get_their_sentence():
    with pytest.raises(ValueError, match="the node table lacks 1 of the 3 nodes that the edge table names"):
        read_graph(EDGE_FRAME, NODE_FRAME.iloc[:2])
    with pytest.raises(ValueError, match=r"the node table, column 'x', row 1 \(counted from 0\): no value"):
        read_graph(EDGE_FRAME, NODE_FRAME.assign(x=[1.0, np.nan, 2.0]), scale=False)
    with pytest.raises(ValueError, match="the edge table has no rows"):
        read_graph(EDGE_FRAME.iloc[:0], NODE_FRAME)
    with pytest.raises(ValueError, match=r"the node table, column 'node_id', row 1 .*: the id 30 was there before"):
        read_graph(EDGE_FRAME, NODE_FRAME.assign(node_id=[30, 30, 10]))
    with pytest.raises(ValueError, match="the node table"):
        read_graph(EDGE_FRAME, NODE_FRAME.assign(kind=[1, "a", (2,)]))


def test_a_folder_accounts_for_all_its_files(write, tmp_path):
    write("edges.csv", "id1,id2\n0,1\n1,2\n")
    write("features.json", json.dumps({"0": [3], "1": [3, 4], "2": []}))
    write("target.csv", "id,target\n0,u\n1,v\n2,u\n")
    assert not any("and not" in note for note in read_graph(tmp_path).notes), "there is nothing to tell"
    people = write("people.csv", "id,age\n0,0.5\n1,0.25\n2,1\n")
    (tmp_path / "old").mkdir()
    write(".hidden", "x")
    data = read_graph(tmp_path)
    assert (data.feature_names, data.labels) == (("3", "4"), ["u", "v", "u"])
    said = (
        "read edges.csv, features.json, target.csv, and not 'old', 'people.csv' (`features` and `labels` name others)"
    )
    assert [note for note in data.notes if "and not" in note] == [f"{tmp_path}: {said}"]
    (note,) = [note for note in read_graph(tmp_path, people).notes if "and not" in note]
    assert "read edges.csv, people.csv, target.csv, and not 'features.json', 'old'" in note
    assert read_graph(tmp_path, [people, tmp_path / "features.json"]).feature_names[0] == "age"


def test_a_folder_of_a_collection(write, tmp_path):
    write("musae_facebook_edges.csv", "id_1,id_2\n0,1\n1,2\n")
    write("musae_facebook_features.json", json.dumps({"0": [3], "1": [3, 4], "2": [4]}))
    write(
        "musae_facebook_target.csv",
        "id,facebook_id,page_name,page_type\n0,145647,The A,tvshow\n1,19,B,company\n2,2,C,tvshow\n",
    )
    unclear = r"_target\.csv: which column holds the labels\? .* name it with `label_column`"
    data = read_graph(tmp_path)
    assert data.y is None
    assert re.search(unclear, data.notes[-1])
    with pytest.raises(ValueError, match=unclear):
        read_graph(tmp_path, labels=tmp_path / "musae_facebook_target.csv")
    assert read_graph(tmp_path, label_column="page_type").labels == ["tvshow", "company", "tvshow"]
    write("edges.tsv", "0\t1\n")
    assert read_graph(tmp_path, label_column="page_type").graph.n_edges == 2, "a whole name goes first"


ABC_EDGES = "source,target\na,b\nb,c\n"
ABC_NODES = "id,age,size\na,1,2\nb,2,3\nc,4,5\n"


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
    (tmp_path / "cora" / "edges.csv").write_text(ABC_EDGES)
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
    data = open_graph(str(write("edges.csv", ABC_EDGES)), features=write("nodes.csv", ABC_NODES), directed=True)
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
    write("edges.csv", ABC_EDGES)
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


def test_a_category_that_became_features_is_a_warning_unless_labels_are_known():
    club = nx.karate_club_graph()
    with pytest.warns(UserWarning, match=r"learns from 2 features: 'club' \(2 values\).* must not be among them"):
        found = open_object(club)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_object(club, like=FeatureSpace.of(found))  # new data for a model
        for node in club:
            club.nodes[node]["label"] = node % 3
        assert open_object(club).y is not None
