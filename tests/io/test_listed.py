"""Features listed one by one, as karateclub and MUSAE publish them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import ccassg
from ccassg.io.graphs import read_graph

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
