"""Tables of every kind behind one interface."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from ccassg.io.files import Limits, within
from ccassg.io.graphs import read_graph
from ccassg.io.open_table import open_json, open_table


def test_kinds_of_tables(tmp_path):
    data = pd.DataFrame({"id": ["a", "b"], "x": [1, 2]})
    data.to_csv(tmp_path / "t.csv", index=False)
    data.to_parquet(tmp_path / "t.parquet")
    for source in (tmp_path / "t.csv", str(tmp_path / "t.parquet"), data):
        table = open_table(source)
        assert table.names == ("id", "x")
        assert table.read(["x", "id"]).to_pydict() == {"x": [1, 2], "id": ["a", "b"]}
    assert open_table(tmp_path / "t.csv").place(1) == "line 3"
    assert open_table(tmp_path / "t.parquet").place(1) == "row 2"
    assert open_table(data).place(1) == "row 1 (counted from 0)"


def test_other_suffixes_are_refused(tmp_path):
    (tmp_path / "t.docx").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"no reader for the suffix '\.docx'; tables are \.csv, \.tsv"):
        open_table(tmp_path / "t.docx")


EDGES = "0,1\n1,2\n2,3\n"
LISTS = {"0": [3, 17], "2": [17], "1": [], "7": [3]}
NODES = pd.DataFrame(
    {"id": [2, 0, 1, 3], "age": [0.5, 0.25, 0.75, 1.5], "kind": ["x", "y", "x", "x"], "label": list("abab")}
)


@pytest.mark.parametrize("packed", [False, True])
def test_lists_of_features(write, packed):
    text = json.dumps(LISTS).encode()
    path = write("f.json.gz", gzip.compress(text)) if packed else write("f.json", text)
    data = read_graph(write("e.csv", EDGES), path)
    assert data.ids.tolist() == [0, 1, 2, 3, 7]
    assert data.feature_names == ("3", "17")
    assert data.graph.features.toarray().tolist() == [[1, 1], [0, 0], [0, 1], [0, 0], [1, 0]]
    assert "learns from 2 features: '3', '17'; a row lists one of a node" in data.notes[0]
    assert any("2 nodes have no feature" in note for note in data.notes)


def test_lists_of_names_and_vectors(write):
    edges = write("e.csv", "source,target\na,b\n")
    words = read_graph(edges, write("w.json", json.dumps({"a": ["graph", "node"], "b": ["node"]})))
    assert words.feature_names == ("graph", "node")
    vectors = read_graph(edges, write("v.json", json.dumps({"b": [0.5, 1], "a": [2, 0.25]})))
    assert vectors.feature_names == ("vector[0]", "vector[1]")
    assert vectors.graph.features.tolist() == [[0.5, 1], [2, 0.25]]


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("n.jsonl", {"orient": "records", "lines": True}),
        ("n.ndjson", {"orient": "records", "lines": True}),
        ("n.json", {"orient": "records"}),
        ("i.json", {"orient": "index"}),
    ],
)
def test_rows_of_pandas(write, name, how):
    frame = NODES.set_index("id") if how["orient"] == "index" else NODES
    data = read_graph(write("e.csv", EDGES), write(name, frame.to_json(**how)))
    assert data.ids.tolist() == [2, 0, 1, 3]
    assert data.feature_names == ("age", "kind=x", "kind=y")
    assert data.graph.features[:, 0].tolist() == [0.5, 0.25, 0.75, 1.5]
    assert data.labels == ["a", "b", "a", "b"]


def test_edges_a_line_each(write):
    path = write(
        "e.jsonl", '{"source": "a", "target": "b", "weight": 2}\n\n{"target": "c", "source": "b", "weight": 1}\n'
    )
    graph = read_graph(path).graph
    assert graph.node_ids.tolist() == ["a", "b", "c"]
    assert sorted(graph.weights.tolist()) == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("x.json", "[1, 2]", 'expected features as {"ann"'),
        ("x.json", "{}", "expected features as"),
        ("x.json", '{"0": [1, [2]]}', "the lists must hold numbers or names of features"),
        ("x.json", '{"0": [1, "a"]}', "x.json"),
        ("x.json", '{"0": [1.5], "1": [2, 3]}', "1.5 cannot be an id"),
        ("x.json", '{"0": [3', "cannot be read"),
        ("x.json", '{"0": [99999999999999999999]}', "does not fit 64 bits"),
        ("x.json", "[" * 100_000, "x.json"),
        (
            "x.json",
            '{"8": [3], "9": [4]}',
            "lists no feature of the nodes that the edges name, such as 0, but those of 8",
        ),
        ("x.jsonl", '{"id": 0}\n{"id": 1', "line 2: .*each line is one object"),
        ("x.jsonl", '{"id": 0}\n[1]\n', "line 2: expected an object"),
        ("x.jsonl", "\n\n", "x.jsonl has no columns"),
        (
            "x.jsonl",
            '{"id": 0, "x": 1}\n{"id": 0, "x": 2}\n',
            "the id 0 was there before; call the columns node_id,feature",
        ),
    ],
)
def test_bad_files_get_their_sentence(write, name, content, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        read_graph(write("e.csv", EDGES), write(name, content))
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_column_is_left_out_with_a_note(write):
    table = open_json(write("x.jsonl", '{"id": 0, "at": {"lat": 1}, "none": null, "age": 3}\n'))
    assert table.names == ("id", "age")
    assert "left out 'at', 'none'" in table.notes[0]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.jsonl", "".join(f'{{"x{i}": 1}}\n' for i in range(300))),
        ("x.json", json.dumps({"x" * 2000: list(range(300)), "1": [1]})),
        ("x.json", json.dumps({"0": np.zeros(20_000, int).tolist()})),
        ("x.jsonl.gz", gzip.compress(b'{"id": 1}\n' * 20_000)),
    ],
)
def test_what_it_becomes_stays_within_the_budget(write, name, content):
    tight = within(Limits(growth=1, growth_floor=400_000))
    with tight, pytest.raises(ValueError, match=r"grows beyond 400,000 bytes when (made a table of|parsed)"):
        open_json(write(name, content))
