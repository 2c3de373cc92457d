"""Labels: names and numbers to classes, -1 where there is none."""

import numpy as np
import pyarrow as pa
import pytest

from ccassg.io.graphs import read_graph
from ccassg.io.labels import encode_labels, match_labels, read_labels
from ccassg.io.tables import FrameTable, NodeRows

EDGES = pa.table({"u": ["a", "b"], "v": ["b", "c"]})


def labels_of(values, **options):
    return classes_of(pa.table({"id": range(len(values)), "label": values}), **options)


def classes_of(source, **options):
    return encode_labels(read_labels(source, **options).labels)


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
    assert classes_of(tmp_path / "l.csv", label_column="q")[1] == ("2",)


@pytest.mark.parametrize("bad", ["--5", "-5-", "9" * 5000])
def test_what_looks_like_a_number_and_is_none_is_refused_with_its_place(write, bad):
    path = write("l.csv", f"id,label\na,1\nb,{bad}\nc,-1\n")
    if bad == "-5-":
        assert classes_of(path)[1] == ("-5-", "1")
        return
    with pytest.raises(ValueError, match=r"l\.csv, column 'label', line 3: '(--5'|999.*) cannot be a class") as caught:
        classes_of(path)
    assert len(str(caught.value)) < 300
    assert classes_of(write("l.csv", f"id,label\na,x\nb,{bad}\n"))[1] == tuple(sorted(["x", bad]))


def test_classes_do_not_span_lines(write):
    with pytest.raises(
        ValueError, match=r"l\.csv, column 'label', line 3: the quote that opens here closes on another"
    ):
        classes_of(write("l.csv", 'id,label\na,x\nb,"x\nc,y\nd,z"\n'))


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


def rows(names, ids=None):
    table = FrameTable(pa.table({"label": names}), "l")
    ids = None if ids is None else pa.array(ids)
    return NodeRows("l", len(names), ids, labels=table.columns(["label"])["label"])


def test_labels_come_to_their_nodes():
    y, *said = match_labels(rows(["v", "u", "v"], ["c", "a", "z"]), pa.array(["a", "b", "c"]))
    assert (y.tolist(), said) == ([0, -1, 1], [("u", "v"), 1])
    assert match_labels(rows(["v", "u"]), pa.array(["a", "b"]))[0].tolist() == [1, 0]


def test_labels_of_other_nodes():
    with pytest.raises(ValueError, match="l has 1 labels without ids, but the graph has 2 nodes"):
        match_labels(rows(["v"]), pa.array(["a", "b"]))
    with pytest.raises(ValueError, match="l labels no node of the graph: it names 'z', the graph 'a'"):
        match_labels(rows(["v"], ["z"]), pa.array(["a", "b"]))
