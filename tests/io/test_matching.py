"""Edges and nodes meet by their ids, or by the order of their rows."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import ccassg
from ccassg.io.graphs import read_graph
from ccassg.io.matching import match_nodes
from ccassg.io.tables import EdgeRows, NodeRows

CODES = np.array([[0, 1], [1, 2]])


def rows_of(ids):
    source, target = (pa.array([ids[i] for i in CODES[end]]) for end in (0, 1))
    return EdgeRows("e", source, target, None), pa.array(ids)


def nodes(n, ids=None):
    return NodeRows("n", n, None if ids is None else pa.array(ids))


def test_nodes_keep_the_order_of_their_rows():
    rows, ids = rows_of(["a", "b", "c"])
    all_ids, place = match_nodes(rows, ids, CODES, nodes(4, ["c", "x", "a", "b"]))
    assert all_ids.to_pylist() == ["c", "x", "a", "b"]
    assert place.tolist() == [2, 3, 0]
    assert match_nodes(rows, ids, CODES, None) == (ids, None)


def test_rows_without_ids_are_the_nodes_of_their_numbers():
    rows, ids = rows_of([0, 1, 3])
    all_ids, place = match_nodes(rows, ids, CODES, nodes(4))
    assert (all_ids.to_pylist(), place.tolist()) == ([0, 1, 2, 3], [0, 1, 3])
    with pytest.raises(ValueError, match=r"n has rows for the nodes 0 \.\. 2, but e names 1 others, first 3"):
        match_nodes(rows, ids, CODES, nodes(3))
    with pytest.raises(ValueError, match=r"n has no ids, but e names nodes such as 'a'"):
        match_nodes(*rows_of(["a", "b", "c"]), CODES, nodes(3))


@pytest.mark.parametrize(
    ("known", "sentence"), [(["a", "b"], "n lacks 1 of the 3 nodes that e names"), (["x"], "have no id in common")]
)
def test_nodes_that_are_lacking(known, sentence):
    with pytest.raises(ValueError, match=sentence):
        match_nodes(*rows_of(["a", "b", "c"]), CODES, nodes(len(known), known))


A = "id,age,kind,label\nbob,1,x,red\ncid,2,y,\nann,3,x,blue\n"
B = "name,height\nann,0.3\nbob,0.1\ncid,0.2\nzoe,9\n"


@pytest.fixture
def edges(write):
    return write("e.csv", "ann,bob\nbob,cid\n")


def test_tables_are_matched_by_ids(write, edges):
    data = read_graph(edges, [write("a.csv", A), write("b.csv", B)], scale=False)
    assert data.ids.tolist() == ["bob", "cid", "ann"]
    assert data.feature_names == ("age", "kind=x", "kind=y", "height")
    assert np.allclose(data.graph.features, [[1, 1, 0, 0.1], [2, 0, 1, 0.2], [3, 1, 0, 0.3]])
    assert data.labels == ["red", None, "blue"]
    assert any("left out 1 node that" in note for note in data.notes)
    other = read_graph(edges, [write("b.csv", B.replace("zoe,9\n", "")), write("a.csv", A)], scale=False)
    assert other.labels == ["blue", "red", None]
    assert other.ids.tolist() == ["ann", "bob", "cid"]
    assert np.allclose(other.graph.features[:, 0], [0.3, 0.1, 0.2])


def test_numbers_of_tables_come_to_one_scale(write, edges):
    narrow = write("b.csv", B.replace("zoe,9\n", ""))
    data = read_graph(edges, [write("a.csv", A), narrow], feature_columns=["age", "height"])
    assert np.allclose(data.graph.features.mean(0), 0, atol=1e-6)
    assert np.allclose(data.graph.features.std(0), 1)
    assert np.allclose(data.scaling.means, [2, 0.2])
    assert any("came to mean 0 and deviation 1, to stand beside others" in note for note in data.notes)


def test_matrices_stand_in_the_order_of_the_table(write, edges, tmp_path):
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.save(tmp_path / "x.npy", x)
    sp.save_npz(tmp_path / "s.npz", sp.csr_array(np.eye(3, 100)))
    table, age = write("a.csv", A), {"feature_columns": ["age"], "scale": False}
    data = read_graph(edges, [table, tmp_path / "x.npy", tmp_path / "s.npz"], **age)
    assert data.feature_names[:4] == ("age", "features 2[0]", "features 2[1]", "features 3[0]")
    assert sp.issparse(data.graph.features)
    assert data.graph.features[:, :4].toarray().tolist() == [[1, 0, 1, 1], [2, 2, 3, 0], [3, 4, 5, 0]]
    assert any("x.npy has no ids: its rows are taken to be those of" in note for note in data.notes)
    ids = write("ids.txt", "ann\nbob\ncid\n")
    assert read_graph(edges, [table, x], ids=ids, **age).graph.features.tolist() == [[1, 2, 3], [2, 4, 5], [3, 0, 1]]
    data = read_graph(edges, [x, x], ids=ids)
    assert data.graph.features.shape == (3, 4)
    assert data.ids.tolist() == ["ann", "bob", "cid"]


def test_lists_and_frames(write, edges):
    lists = write("f.json", json.dumps({"cid": ["u"], "ann": ["u", "v"]}))
    data = read_graph(edges, [pd.DataFrame({"id": ["cid", "ann", "bob"], "age": [2.0, 3, 1]}), lists], scale=False)
    assert data.feature_names == ("age", "features 2[u]", "features 2[v]")
    assert data.graph.features.tolist() == [[2, 1, 0], [3, 1, 1], [1, 0, 0]]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_model_knows_them_again(write, edges, tmp_path):
    lists = write("f.json", json.dumps({"cid": ["u"], "ann": ["u", "v"]}))
    text = write("t.jsonl", "".join(f'{{"id": "{n}", "born": {i}}}\n' for i, n in enumerate(["cid", "ann", "bob"])))
    np.save(tmp_path / "x.npy", np.arange(6, dtype=np.float32).reshape(3, 2))
    files = [write("a.csv", A), lists, tmp_path / "x.npy", text]
    model = ccassg.CCASSG(random_state=0).fit(str(edges), features=files)
    assert model.feature_names_in_[3:].tolist() == [
        "features 2[u]", "features 2[v]", "features 3[0]", "features 3[1]", "born",
    ]  # fmt: skip
    z = model.transform(str(edges), features=files)
    assert (model.transform(read_graph(edges, files)) == z).all()
    fewer = write("g.json", json.dumps({"bob": ["v", "w"]}))
    data = read_graph(edges, [files[0], fewer, *files[2:]], like=model)
    assert data.feature_names == tuple(model.feature_names_in_)
    assert any("left out 1 feature unknown in training" in note for note in data.notes)
    with pytest.raises(ValueError, match=r"lacks .* of the .* features used in training"):
        model.transform(read_graph(edges, [files[0], fewer], like=model))


@pytest.mark.parametrize(
    ("second", "options", "sentence"),
    [
        (
            "name,height\nann,0.3\nbob,0.1\n",
            {},
            r"b\.csv lacks 1 of the 3 nodes of .*a\.csv, first 'cid'; add their rows",
        ),
        ("name,age\nann,0.3\nbob,0.1\ncid,1\n", {}, "two of the features side by side are called 'age'"),
        (B, {"feature_columns": ["weight"]}, "there is no column 'weight'"),
        (B, {"label_column": "weight"}, "there is no column 'weight'"),
        (B, {"ids": "a.csv"}, "is a table and has its ids in a column"),
        (np.eye(4), {}, r"has 4 rows and .*a\.csv 3, and not both have ids"),
    ],
)
def test_what_does_not_match_is_refused(write, edges, second, options, sentence):
    second = write("b.csv", second) if isinstance(second, str) else second
    with pytest.raises(ValueError, match=sentence):
        read_graph(edges, [write("a.csv", A), second], **options)


def test_rows_whose_order_is_in_doubt_are_refused(write, tmp_path):
    np.save(tmp_path / "x.npy", np.eye(3))
    numbered = write("n.csv", "0,1\n1,2\n")
    with pytest.raises(ValueError, match=r"x\.npy has no ids, and .*a\.csv lists the nodes 0 \.\. 2 in another order"):
        read_graph(numbered, [write("a.csv", "id,age\n2,1\n0,2\n1,3\n"), tmp_path / "x.npy"])
    in_order = write("b.csv", "id,age\n0,1\n1,2\n2,3\n")
    assert read_graph(numbered, [in_order, tmp_path / "x.npy"]).graph.n_features == 4


def test_one_in_a_list_is_one(write, edges):
    assert read_graph(edges, [write("a.csv", A)]).feature_names == ("age", "kind=x", "kind=y")
