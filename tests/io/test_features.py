"""Node tables and matrices: whose rows are whose, and bounds that reach every reader."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ccassg
from ccassg.io.embeddings import read_embeddings
from ccassg.io.features import read_nodes
from ccassg.io.files import Limits, within
from ccassg.io.graphs import read_graph
from ccassg.io.labels import read_labels

TIGHT = Limits(growth=1, growth_floor=1000)


def test_first_column_holds_ids_if_edges_name_them(write):
    path = write("n.csv", "key,x\nann,1\nbob,2\n")
    nodes = read_nodes(path, edge_ids=pa.array(["ann"]))
    assert nodes.ids.to_pylist() == ["ann", "bob"]
    assert nodes.feature_names == ("x",)
    assert "took its first column, 'key', as ids" in nodes.notes[-1]
    with pytest.raises(ValueError, match="no column holds the ids that the edges name, such as 'zoe'"):
        read_nodes(path, edge_ids=pa.array(["zoe"]))


def test_what_is_learned_from_is_said_first(write):
    path = write("n.csv", "id,age,kind,born\na,1,x,2020-01-01\nb,2,y,2020-01-02\n")
    learned = f"{path}: learns from 3 features: 'age', 'kind' (2 values); ids in 'id'"
    left_out = f"{path}: left out 'born' (dates); `keep` takes a column all the same"
    hint = "; what you want to predict must not be among them: name it with `label_column`"
    assert read_nodes(path).notes == [learned + hint, left_out]
    assert read_nodes(path, guess_labels=False).notes == [learned, left_out]
    assert read_nodes(path, feature_columns=["born"]).notes == [f"{path}: learns from 1 feature: 'born'; ids in 'id'"]
    assert read_nodes(path, label_column="kind", keep="born").notes[0] == (
        f"{path}: learns from 2 features: 'age', 'born'; ids in 'id'; labels in 'kind'"
    )
    bare = read_nodes(path, feature_columns=[])
    assert bare.features is None
    assert bare.notes == [f"{path}: learns from none of its columns; ids in 'id'"]


def test_ids_do_not_span_lines_and_text_may(write):
    path = write("n.csv", 'id,x,t\n1,2,"a\nb"\n2,3,c\n')
    assert read_nodes(path).features.shape == (2, 3)
    with pytest.raises(ValueError, match=r"column 'id', line 2: the quote that opens here closes on another line"):
        read_nodes(write("n.csv", 'id,x\n"1\n3",2\n2,3\n'))
    rows = read_nodes(write("n.csv", 't,x\n"a\nb",2\nc,3\n'), edge_ids=pa.array([0, 1]))
    assert rows.ids is None, "text in the first column is no reason to refuse it"


def test_rows_stand_in_order_if_no_column_holds_ids(write):
    nodes = read_nodes(write("n.csv", "x,z\n0.5,1\n0.6,2\n"), edge_ids=pa.array([0, 1]))
    assert nodes.ids is None
    assert nodes.features.tolist() == np.float32([[0.5, 1], [0.6, 2]]).tolist()


def test_ids_of_a_matrix_come_from_a_file(write, tmp_path):
    np.save(tmp_path / "x.npy", np.eye(2))
    nodes = read_nodes(tmp_path / "x.npy", ids=write("ids.txt", "b\na\n"))
    assert nodes.ids.to_pylist() == ["b", "a"]
    with pytest.raises(ValueError, match=r"ids\.txt has 1 ids, but .*x\.npy has 2 rows"):
        read_nodes(tmp_path / "x.npy", ids=write("ids.txt", "b\n"))


def test_rows_that_hold_nothing_are_believed_in_proportion(tmp_path):
    path = tmp_path / "n.parquet"
    pq.write_table(pa.table({"x": np.zeros(1_100_000, np.int8)}), path)
    with pytest.raises(ValueError, match=r"n\.parquet claims 1,100,000 rows, out of proportion to its size"):
        read_nodes(path)


def test_limits_reach_every_reader(write, tmp_path):
    table = write("n.csv.gz", gzip.compress(b"id,label\n" + b"".join(b"%d,1\n" % i for i in range(9_000))))
    np.savez_compressed(tmp_path / "x.npz", x=np.zeros((1000, 10)))
    np.save(tmp_path / "y.npy", np.zeros((1, 2)))
    for read in (
        lambda: read_nodes(table),
        lambda: read_nodes(tmp_path / "y.npy", ids=table),
        lambda: read_nodes(tmp_path / "x.npz"),
        lambda: read_labels(table),
    ):
        with within(TIGHT), pytest.raises(ValueError, match=r"grows (beyond|to)"):
            read()
    with pytest.raises(ValueError, match="grows beyond"):
        read_embeddings(table, limits=TIGHT)


EDGES = "id1,id2\n0,1\n1,2\n2,3\n"
TRIPLETS = "node_id,feature_id,value\n0,3,1.0\n0,17,2.0\n2,17,0.5\n7,3,1.0\n"


@pytest.mark.parametrize("suffix", ["csv", "txt", "parquet"])
def test_triplets(write, suffix):
    path = write(f"f.{suffix}", TRIPLETS if suffix == "csv" else TRIPLETS.replace(",", " "))
    if suffix == "parquet":
        pd.read_csv(write("f.csv", TRIPLETS)).to_parquet(path)
    data = read_graph(write("e.csv", EDGES), path)
    assert data.ids.tolist() == [0, 1, 2, 3, 7]
    assert data.feature_names == ("3", "17")
    assert data.graph.features.toarray().tolist() == [[1, 2], [0, 0], [0, 0.5], [0, 0], [1, 0]]
    assert "a row lists one of a node ('node_id', 'feature_id', value 'value')" in data.notes[0]
    assert read_graph(write("e.csv", EDGES), path, id_column="node_id").feature_names == ("3", "17")


def test_pairs_and_names(write):
    edges = write("e.csv", "source,target\nann,bob\n")
    data = read_graph(edges, write("f.csv", "node,word_id\nann,graph\nbob,node\nann,node\n"))
    assert data.feature_names == ("graph", "node")
    assert data.graph.features.toarray().tolist() == [[1, 1], [0, 1]]


def test_new_nodes_have_the_features_of_training(write):
    edges, features = str(write("e.csv", EDGES)), str(write("f.csv", TRIPLETS))
    with pytest.warns(UserWarning, match="nodes have no feature"):
        model = ccassg.CCASSG(random_state=0).fit(edges, features=features)
    with pytest.warns(UserWarning, match="nodes have no feature"):
        same = model.transform(edges, features=features)
    more = write("g.csv", TRIPLETS.replace("2.0\n", "2.0\n0,99,5\n"))
    with pytest.warns(UserWarning, match="left out 1 feature unknown in training"):
        assert (model.transform(edges, features=str(more)) == same).all()
    fewer = read_graph(edges, write("h.csv", "node_id,feature_id\n0,17\n"), like=model)
    assert fewer.feature_names == ("3", "17")
    assert fewer.graph.features.toarray().tolist() == [[0, 1], [0, 0], [0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        # Rows of node, feature, value that nothing says are such: taken as rows of nodes they would be nonsense.
        (
            "0 3 1\n0 17 1\n1 3 1\n2 3 1\n3 3 1\n",
            "names nodes of the edges, some of them in several rows; call the columns",
        ),
        (
            "paper,topic\n0,3\n0,17\n1,3\n2,3\n3,3\n",
            "call the columns node_id,feature_id,value if a row is one feature",
        ),
        ("id,topic\n0,3\n0,17\n", "the id 0 was there before; call the columns node_id,feature_id,value if"),
        ("id,topic,size,age\n0,3,1,1\n0,17,2,2\n", "the id 0 was there before; keep one row"),
        ("node_id,feature_id,value\n0,3,x\n", "line 2: 'x' where a feature's value must be a number"),
        ("node_id,feature_id,value\n0,3,1e300\n", "features"),
        ("node_id,feature_id,value\n8,3,1\n", "lists no feature of the nodes that the edges name, such as 0"),
        ("node_id,feature_id,value\n0,,1\n", "line 2: an id is empty"),
    ],
)
def test_what_is_not_obvious_is_refused_with_the_way_out(write, content, sentence):
    edges = write("e.csv", EDGES)
    with pytest.raises(ValueError, match=sentence):
        read_graph(edges, write("f.csv" if "," in content else "f.txt", content))


def test_a_feature_of_each_node_is_no_list(write):
    data = read_graph(write("e.csv", EDGES), pa.table({"id": np.arange(4), "feature": [0.5, 1.5, 2.5, 3.5]}))
    assert data.feature_names == ("feature",)
    assert data.graph.features.ravel().tolist() == [0.5, 1.5, 2.5, 3.5]
