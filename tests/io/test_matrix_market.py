"""Matrix Market: what SciPy writes comes back; damaged files do not crash."""

import gzip

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from ccassg.io.files import Limits, within
from ccassg.io.graphs import read_graph
from ccassg.io.matrix_market import read_matrix_market

HEAD = "%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
def test_scipy_files_round_trip(tmp_path, field, symmetry):
    rng = np.random.default_rng(0)
    dense = np.triu(rng.integers(0, 4, (9, 9)), 1)
    dense = dense + dense.T if symmetry == "symmetric" else dense
    scipy.io.mmwrite(tmp_path / "a.mtx", sp.coo_array(dense), field=field, symmetry=symmetry, comment="made here")
    (tmp_path / "b.mtx.gz").write_bytes(gzip.compress((tmp_path / "a.mtx").read_bytes()))
    expected = dense > 0 if field == "pattern" else dense
    for name in ("a.mtx", "b.mtx.gz"):
        graph = read_graph(tmp_path / name, directed=True).graph
        assert (graph.adjacency().toarray() == expected).all()
        assert graph.ids is None


def test_features_match_row_by_row_and_last_nodes_stay(tmp_path):
    (tmp_path / "a.mtx").write_text(HEAD + "4 4 1\n1 2 1\n")
    np.save(tmp_path / "x.npy", np.eye(4))
    assert read_graph(tmp_path / "a.mtx", tmp_path / "x.npy").graph.n_nodes == 4
    np.save(tmp_path / "x.npy", np.eye(3))
    assert read_graph(tmp_path / "a.mtx", n_components=1).graph.n_isolated == 2


def test_entries_are_counted_before_they_are_parsed(write):
    path = write("a.mtx.gz", gzip.compress((HEAD + "3 3 9\n" + "1 2 1\n" * 100_000).encode()))
    tight = within(Limits(growth=1, growth_floor=2_000_000))
    with tight, pytest.raises(ValueError, match=r"grows beyond .* when parsed"):
        read_matrix_market(path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (HEAD + "3 3 1\n4 1 1\n", r"entry 1: row 4, column 1 is outside 3 x 3"),
        (HEAD + "3 3 1\n0 1 1\n", "entry 1: row 0"),
        (HEAD + "3 3 2\n1 2 1\n", "promises 2 entries, but holds 1"),
        (HEAD + "3 3 1\n1 2 x\n", "expected row column value"),
        (HEAD + "3 3 1\n1 2\n", "expected row column value"),
        (HEAD + "3 3 1\n1 2 nan\n", "without a number|cannot be a weight"),
        (HEAD + "3 3 1\n1 2 -1\n", "entry 1: -1 cannot be a weight"),
        (HEAD + "3 4 1\n1 2 1\n", "square"),
        (HEAD + "3 3 0\n", "no entries"),
        (HEAD + "% only\n", "no line of sizes"),
        (HEAD + "3 3\n1 2 1\n", "line 2: expected rows, columns and entries"),
        (HEAD + "3 3 99999999999\n1 2 1\n", "more than the file can hold"),
        (
            HEAD + "99999999999 99999999999 1\n1 2 1\n",
            "claims 99,999,999,999 rows and 99,999,999,999 columns in line 2, out of proportion",
        ),
        (HEAD.replace("coordinate", "array") + "1 1\n1\n", "mmwrite"),
        (HEAD.replace("real", "complex") + "1 1 1\n1 1 1 1\n", "complex general matrices"),
        ("1 2 1\n", "its content is text"),
    ],
)
def test_bad_files_get_their_sentence(tmp_path, content, sentence):
    path = tmp_path / "a.mtx"
    path.write_text(content)
    with pytest.raises(ValueError, match=sentence) as caught:
        read_graph(path)
    assert "a.mtx" in str(caught.value)


@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
def test_features_of_any_width(tmp_path, field):
    x = np.array([[0, 2, 0, 1, 0], [3, 0, 0, 0, 0], [0, 0, -1, 0, 0]])
    (tmp_path / "e.csv").write_text("0,1\n1,2\n")
    scipy.io.mmwrite(tmp_path / "x.mtx", sp.coo_array(x), field=field)
    (tmp_path / "x.mtx.gz").write_bytes(gzip.compress((tmp_path / "x.mtx").read_bytes()))
    for name in ("x.mtx", "x.mtx.gz"):
        features = read_graph(tmp_path / "e.csv", tmp_path / name).graph.features
        assert features.toarray().tolist() == (x != 0 if field == "pattern" else x).tolist()
    (tmp_path / "ids.txt").write_text("2\n1\n0\n")
    assert read_graph(tmp_path / "e.csv", tmp_path / "x.mtx", ids=tmp_path / "ids.txt").ids.tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (HEAD + "3 9999999999 1\n1 2 1\n", "claims 3 rows and 9,999,999,999 columns in line 2, out of proportion"),
        (HEAD + "3 2 1\n1 3 1\n", "entry 1: row 1, column 3 is outside 3 x 2"),
        (HEAD + "3 2 1\n1 2 nan\n", "x.mtx|finite"),
        (HEAD.replace("general", "symmetric") + "3 2 1\n1 2 1\n", "3 x 2 is no size of a symmetric matrix"),
        (HEAD + "4 2 1\n1 2 1\n", None),
        (HEAD + "2 2 1\n1 2 1\n", "has rows for the nodes 0 .. 1"),
    ],
)
def test_bad_features_get_their_sentence(write, content, sentence):
    edges, path = write("e.csv", "0,1\n1,2\n"), write("x.mtx", content)
    if sentence is None:
        assert read_graph(edges, path).graph.n_nodes == 4
        return
    with pytest.raises(ValueError, match=sentence):
        read_graph(edges, path)
