"""Labels: names and numbers to classes, -1 where there is none."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ccassg.io.embeddings import write_embeddings
from ccassg.io.folders import RUN, write_index
from ccassg.io.graphs import read_graph
from ccassg.io.labels import EMBEDDING, NODES, encode_labels, find_id, read_labelled, read_labels

Z = np.arange(6, dtype=np.float32).reshape(3, 2)
EDGES = pa.table({"u": ["a", "b"], "v": ["b", "c"]})


def labels_of(values, **options):
    return encode_labels(read_labels(pa.table({"id": range(len(values)), "label": values}), **options))


def test_classes_are_numbered_in_order():
    y, names = labels_of(["b", "a", None, "", "b"])
    assert y.tolist() == [1, 0, -1, -1, 1]
    assert names == ("a", "b")
    y, names = labels_of([10, 2, -1, None, 10])
    assert y.tolist() == [1, 0, -1, -1, 1]
    assert names == ("2", "10")
    assert labels_of([0.0, 1.0, float("nan")])[0].tolist() == [0, 1, -1]
    assert labels_of([True, False])[1] == ("false", "true")


def test_fractions_are_classes_named_as_they_are():
    y, names = labels_of([1.0, 0.5, float("nan"), None, 0.5])
    assert [names[c] if c >= 0 else None for c in y] == ["1", "0.5", None, None, "0.5"]


def test_bad_labels_get_their_sentence(tmp_path):
    with pytest.raises(ValueError, match=r"row 1 .*inf cannot be a class"):
        labels_of([1.0, float("inf")])
    with pytest.raises(ValueError, match="no row has a label"):
        labels_of([None, -1])
    with pytest.raises(ValueError, match="cannot be a class"):
        labels_of([[1], [2]])
    (tmp_path / "l.csv").write_text("id,p,q\na,1,2\n")
    with pytest.raises(ValueError, match="which column holds the labels"):
        read_labels(tmp_path / "l.csv")
    assert encode_labels(read_labels(tmp_path / "l.csv", label_column="q"))[1] == ("2",)


@pytest.mark.parametrize("bad", ["--5", "-5-", "9" * 5000])
def test_what_looks_like_a_number_and_is_none_is_refused_with_its_place(write, bad):
    path = write("l.csv", f"id,label\na,1\nb,{bad}\nc,-1\n")
    if bad == "-5-":
        assert encode_labels(read_labels(path))[1] == ("-5-", "1")
        return
    with pytest.raises(ValueError, match=r"l\.csv, column 'label', line 3: '(--5'|999.*) cannot be a class") as caught:
        encode_labels(read_labels(path))
    assert len(str(caught.value)) < 300
    assert encode_labels(read_labels(write("l.csv", f"id,label\na,x\nb,{bad}\n")))[1] == tuple(sorted(["x", bad]))


def test_classes_do_not_span_lines(write):
    with pytest.raises(
        ValueError, match=r"l\.csv, column 'label', line 3: the quote that opens here closes on another"
    ):
        encode_labels(read_labels(write("l.csv", 'id,label\na,x\nb,"x\nc,y\nd,z"\n')))


def test_label_files_match_by_id_or_order(tmp_path):
    path = tmp_path / "l.csv"
    for content in ("id,label\nc,x\na,y\n", "c,x\na,y\n", "node,kind\nc,x\na,y\nz,y\n"):
        path.write_text(content)
        loaded = read_graph(EDGES, labels=path)
        assert loaded.y.tolist() == [1, -1, 0]
        assert loaded.class_names == ("x", "y")
    assert any("left out the labels of 1 id not in the graph" in note for note in loaded.notes)
    path.write_text("label\nx\ny\nx\n")
    assert read_graph(EDGES, labels=path).y.tolist() == [0, 1, 0]
    np.save(tmp_path / "l.npy", np.array([1, -1, 0]))
    assert read_graph(EDGES, labels=tmp_path / "l.npy").y.tolist() == [1, -1, 0]
    np.save(tmp_path / "l.npy", np.array([1, 0]))
    with pytest.raises(ValueError, match="has 2 labels without ids, but the graph has 3 nodes"):
        read_graph(EDGES, labels=tmp_path / "l.npy")
    path.write_text("id,label\nq,x\n")
    with pytest.raises(ValueError, match="labels no node of the graph: it names 'q', the graph 'a'"):
        read_graph(EDGES, labels=path)


@pytest.fixture
def folder(tmp_path):
    write_embeddings(tmp_path / EMBEDDING, Z, ["a", "b", "c"])
    pq.write_table(pa.table({"id": ["a", "b", "c"], "label": ["x", None, "w"]}), tmp_path / NODES)
    write_index(tmp_path, RUN, {})
    return tmp_path


def test_a_folder_has_its_own_labels(folder):
    z, ids, y, names, _ = read_labelled(folder)
    assert (z == Z).all()
    assert ids.tolist() == ["a", "b", "c"]
    assert [None if c < 0 else names[c] for c in y] == ["x", None, "w"]
    assert read_labelled(folder / EMBEDDING)[2:4] == (None, None)
    pq.write_table(pa.table({"id": ["a", "b", "c"]}), folder / NODES)
    with pytest.raises(ValueError, match=r"nodes\.parquet is missing, or not as this run wrote it"):
        read_labelled(folder)
    write_index(folder, RUN, {})
    assert read_labelled(folder)[2:4] == (None, None)


def test_a_file_of_labels_goes_first(folder, write):
    *_, y, names, n_unknown = read_labelled(
        folder, write("y.csv", "key,kind\nc,q\nz,r\na,p\n"), id_column="key", label_column="kind"
    )
    assert [None if c < 0 else names[c] for c in y] == ["p", None, "q"]
    assert n_unknown == 1
    with pytest.raises(ValueError, match="names none of the nodes"):
        read_labelled(folder, write("y.csv", "id,label\nx,1\ny,2\n"), id_column="id", label_column="label")
    with pytest.raises(ValueError, match=r"2 labels without ids, but .* has 3 nodes"):
        read_labelled(folder, write("y.txt", "1\n2\n"))
    with pytest.raises(ValueError, match="there is no such file or folder"):
        read_labelled(folder / "nothing")


def test_a_pipe_in_a_folder_is_refused_at_once(folder, bounded):
    for name in (NODES, EMBEDDING):
        (folder / name).unlink()
        os.mkfifo(folder / name)
        bounded()
        with pytest.raises(ValueError, match=f"{name} is (not a regular file|missing, or not as this run wrote it)"):
            read_labelled(folder)


def test_a_node_is_found_by_its_id_as_text():
    assert find_id(np.array([30, 20, 10]), "20") == 1
    with pytest.raises(ValueError, match="there is no node '5'; ids look like 30, 20, 10"):
        find_id(np.array([30, 20, 10]), "5")
