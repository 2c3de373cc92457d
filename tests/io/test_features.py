"""Node tables and matrices: whose rows are whose, and bounds that reach every reader."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ccassg.io.embeddings import read_embeddings
from ccassg.io.features import read_nodes
from ccassg.io.files import Limits, within
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
