"""Edge files: every format to the same edges, every bad file to its sentence."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from ccassg import load_dataset
from ccassg.io.edges import read_edges
from ccassg.io.files import Limits, within
from ccassg.io.graphs import read_graph
from ccassg.io.ids import settle
from ccassg.io.tables import Reading

PAIRS = [("ann", "bob"), ("bob", "cid"), ("cid", "ann")]


def pairs(edges):
    source, target = settle(edges.source, edges.target)
    return list(zip(source.to_pylist(), target.to_pylist(), strict=True))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("e.csv", "source,target\nann,bob\nbob,cid\ncid,ann\n"),
        ("e.csv", "from,to\r\nann,bob\r\nbob,cid\r\ncid,ann\r\n"),
        ("e.csv", '"src","dst"\n"ann","bob"\n\n"bob","cid"\n"cid","ann"'),
        ("e.csv", "\ufeffU;V\nann;bob\nbob; cid\ncid;ann\n"),
        ("e.csv", "# made by hand\nweight,target,source\n1,bob,ann\n1,cid,bob\n1,ann,cid\n"),
        ("e.tsv", "source\ttarget\nann\tbob\nbob\tcid\ncid\tann\n"),
        ("e.txt", "# comment\n  ann   bob\nbob\tcid\n\n% more\ncid ann"),
        ("e.edgelist", "source target\nann bob\nbob cid\ncid ann\n"),
        ("e.csv.gz", gzip.compress(b"source,target\nann,bob\nbob,cid\ncid,ann\n", mtime=0)),
        ("e.csv", gzip.compress(b"source,target\nann,bob\nbob,cid\ncid,ann\n", mtime=0)),
        ("e.txt.gz", gzip.compress(b"ann bob\nbob cid\ncid ann\n", mtime=0)),
    ],
)
def test_text_formats_agree(write, name, content):
    assert pairs(read_edges(write(name, content))) == PAIRS


def test_parquet_and_frames_agree(tmp_path):
    table = pa.table({"source": [a for a, _ in PAIRS], "target": [b for _, b in PAIRS]})
    pq.write_table(table, tmp_path / "e.parquet")
    dictionary = pa.table({name: table[name].dictionary_encode() for name in table.column_names})
    pq.write_table(dictionary, tmp_path / "d.parquet", row_group_size=1)
    views = pl.from_arrow(table)
    for edges in (tmp_path / "e.parquet", tmp_path / "d.parquet", table, table.to_pandas(), views, views.lazy()):
        assert pairs(read_edges(edges)) == PAIRS
    assert pairs(read_edges(table.to_pandas().astype("category"))) == PAIRS


def test_ids_keep_their_type(write, tmp_path):
    assert pairs(read_edges(write("e.csv", "1,2\n2,10\n"))) == [(1, 2), (2, 10)]
    assert pairs(read_edges(write("e.csv", "source,target\n007,2\n2,10\n"))) == [("007", "2"), ("2", "10")]
    assert pairs(read_edges(write("e.csv", "source,target\n1,a\n2,3\n"))) == [("1", "a"), ("2", "3")]
    assert pairs(read_edges(write("e.csv", "source,target\nNA,null\n"))) == [("NA", "null")]
    pq.write_table(pa.table({"u": ["1"], "v": ["2"]}), tmp_path / "s.parquet")
    assert pairs(read_edges(tmp_path / "s.parquet")) == [("1", "2")]
    pq.write_table(pa.table({"u": pa.array([1.0]), "v": pa.array([2], pa.uint8())}), tmp_path / "f.parquet")
    assert pairs(read_edges(tmp_path / "f.parquet")) == [(1, 2)]
    huge = pd.DataFrame({"u": np.array([2**64 - 1], np.uint64), "v": np.array([2**63], np.uint64)})
    assert pairs(read_edges(huge)) == [(str(2**64 - 1), str(2**63))]


def test_columns_by_option_and_weights(write):
    path = write("e.csv", "a,b,c,w\n1,2,3,0.5\n2,3,1,2\n")
    edges = read_edges(path, source="b", target="c")
    assert pairs(edges) == [(2, 3), (3, 1)]
    assert edges.weights.tolist() == [0.5, 2]
    assert read_edges(path, source="b", target="c", weight="a").weights.tolist() == [1, 2]
    with pytest.raises(ValueError, match="'a' is an end of the edges"):
        read_edges(path, weight="a")
    assert "first two columns, 'a' and 'b'" in read_edges(path).notes[-1]
    plain = write("e.txt", "1 2 0.5\n2 3 1\n")
    assert read_edges(plain).weights is None
    assert "weight=3" in read_edges(plain).notes[0]
    assert read_edges(plain, weight=3).weights.tolist() == [0.5, 1]


def test_first_line_that_is_an_edge_is_not_a_header(write):
    assert pairs(read_edges(write("e.csv", "ann,bob\nbob,cid\ncid,ann\n"))) == PAIRS
    loose = read_edges(write("e.csv", "p,q\nbob,cid\n"))
    assert pairs(loose) == [("bob", "cid")]
    assert "first line" in loose.notes[0]
    assert pairs(read_edges(write("e.csv", "p,q\nbob,cid\n"), reading=Reading(header=False))) == [
        ("p", "q"),
        ("bob", "cid"),
    ]


def test_a_third_column_named_like_an_id_makes_no_edge_of_the_header(write):
    path = write("e.csv", "p,q,bob\nann,bob,x\nbob,cid,y\n")
    assert pairs(read_edges(path)) == [("ann", "bob"), ("bob", "cid")]


def test_other_encodings_by_option(write):
    for encoding in ("latin-1", "utf-16"):
        assert pairs(read_edges(write("e.csv", "u,v\né,b\n".encode(encoding)), reading=Reading(encoding=encoding))) == [
            ("é", "b")
        ]
        assert pairs(read_edges(write("e.txt", "é  b\n".encode(encoding)), reading=Reading(encoding=encoding))) == [
            ("é", "b")
        ]


BAD = {
    "is empty": ("e.csv", b""),
    "no rows of data": ("e.csv", b"\n \n# nothing\n"),
    "column names but no": ("e.csv", b"source,target\n"),
    "no rows": ("e.txt", b"source target\n"),
    "line 3: 1 columns where the first line has 2": ("e.csv", b"source,target\n1,2\n3\n"),
    "line 4: 3 columns where the first line has 2": ("e.csv", b"source,target\n1,2\n\n3,4,5\n"),
    "line 3: 3 columns": ("e.txt", b"# c\n1 2\n3 4 5\n"),
    "line 2: an id is empty": ("e.csv", b"source,target\n1,\n"),
    "line 3: not utf-8": ("e.csv", b"source,target\n1,2\n\xe9,2\n"),
    "line 2: not utf-8": ("e.txt", b"1 2\n\xe9 2\n"),
    "needs two columns, this has one": ("e.csv", b"source target\n1 2\n"),
    "column 'u' appears 2 times": ("e.csv", b"u,u\n1,2\n"),
    "'x' where a weight must be a number": ("e.csv", b"u,v,weight\n1,2,3\n2,3,x\n"),
    "line 3: no value where a number": ("e.csv", b"u,v,weight\n1,2,3\n2,3,\n"),
    "line 2: no value": ("e.csv", b"u,v,weight\n1,2,nan\n2,3,1\n"),
    "line 2: -1 cannot be a weight": ("e.csv", b"u,v,weight\n1,2,-1\n2,3,1\n"),
    "line 2: inf is not a finite": ("e.csv", b"u,v,weight\n1,2,inf\n2,3,1\n"),
    "column 'target', line 3: the quote that opens here closes on another line, and no id holds a line break": (
        "e.csv",
        b'source,target\n1,2\n2,"3\n4,5\n5,6"\n6,7\n',
    ),
    "line 5: the quote that opens here closes on another": ("e.csv", b'c,v,u\n"a\nb",1,2\n"a\nb","3\n4",5\n'),
    "its content is Parquet": ("e.csv", b"PAR1...."),
    "its content is binary": ("e.csv", b"u,v\n\x00\x01"),
    "not a Parquet file: its content is text": ("e.parquet", b"u,v\n1,2\n"),
    "footer": ("e.parquet", b"PAR1 nonsense"),
    "damaged gzip": ("e.csv.gz", gzip.compress(b"u,v\n" + b"1,2\n" * 5000, mtime=0)[:-20]),
    "no reader for the suffix '.docx'; edges are .csv, .tsv, .txt, .parquet, .jsonl, .graphml, .gexf": (
        "e.docx",
        b"u,v\n1,2\n",
    ),
    "line 1: not utf-8 text; it begins like UTF-16, so name that (`encoding='utf-16'`)": (
        "e.csv",
        "u,v\na,b\n".encode("utf-16"),
    ),
    "pickle": ("e.csv", b"\x80\x04\x95\x00\x00"),
}


@pytest.mark.parametrize("sentence", BAD)
def test_bad_files_get_their_sentence(write, sentence):
    name, content = BAD[sentence]
    path = write(name, content)
    with pytest.raises(ValueError, match="e\\.") as caught:
        read_edges(path)
    assert sentence in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_options_and_paths(write, tmp_path):
    path = write("e.csv", "a,b\n1,2\n")
    for options, sentence in [
        ({"source": "x", "target": "b"}, "no column 'x' for the sources of the edges; it has 'a', 'b'"),
        ({"source": "a"}, "source was given without target"),
        ({"source": "a", "target": "a"}, "the same column 'a'"),
        ({"weight": "x"}, "no column 'x' for the weights"),
        ({"reading": Reading(encoding="klingon")}, "encoding must be one that Python knows"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            read_edges(path, **options)
    with pytest.raises(ValueError, match="no such file"):
        read_edges(tmp_path / "none.csv")
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(ValueError, match="is a folder"):
        read_edges(tmp_path / "d.csv")
    pq.write_table(pa.table({"u": [1, None], "v": [1, 2]}), tmp_path / "e.parquet")
    with pytest.raises(ValueError, match="row 2: an id is missing"):
        read_edges(tmp_path / "e.parquet")
    with pytest.raises(ValueError, match=r"row 1 .*: 0\.5 cannot be an id"):
        read_edges(pd.DataFrame({"u": [1.0, 0.5], "v": [1, 2]}))
    with pytest.raises(ValueError, match=r"list.* cannot be an id"):
        read_edges(pa.table({"u": [[1]], "v": [2]}))


def test_bombs_are_refused(write):
    limits = Limits(growth_floor=1 << 20)
    bomb = gzip.compress(b"u,v\n" + b"1,2\n" * 4_000_000)
    assert len(bomb) * limits.growth < 16_000_000
    for name in ("e.csv.gz", "e.txt.gz", "e.mtx.gz", "e.graphml.gz"):
        with within(limits), pytest.raises(ValueError, match=r"grows beyond|not a"):
            read_edges(write(name, bomb))
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"u": np.zeros(5_000_000, int), "v": np.ones(5_000_000, int)}), sink)
    with within(limits), pytest.raises(ValueError, match="grows beyond"):
        read_edges(write("e.parquet", sink.getvalue().to_pybytes()))


def test_a_million_edges_without_a_loop(tmp_path):
    rng = np.random.default_rng(0)
    u, v = rng.integers(0, 50_000, (2, 1_000_000))
    pq.write_table(pa.table({"u": u, "v": v}), tmp_path / "e.parquet")
    edges = read_edges(tmp_path / "e.parquet")
    assert (edges.source.to_numpy() == u).all()
    assert (edges.target.to_numpy() == v).all()


A = sp.csr_array(np.array([[0, 1, 0, 0], [0, 0, 2, 0], [0, 0, 0, 1], [0, 0, 0, 0]], np.float32))
X = sp.csr_array(np.array([[1, 0], [0, 2], [3, 0], [0, 0]], np.float32))
Y = np.array([1, 0, 1, 0])


def parts(prefix, matrix):
    return {f"{prefix}{part}": getattr(matrix, part) for part in ("data", "indices", "indptr", "shape")}


@pytest.mark.parametrize(
    "arrays",
    [
        parts("adj_", A) | parts("attr_", X) | {"labels": Y, "class_names": np.array(["a", "b"], object)},
        parts("adj_matrix.", A) | parts("attr_matrix.", X) | {"labels": Y},
        parts("adj_", A) | {"attr_matrix": X.toarray(), "labels": Y},
        {"edge_index": np.array(A.nonzero()), "x": X.toarray(), "y": Y[:, None], "train_masks": np.ones((10, 4), bool)},
        {"edges": np.array(A.nonzero()).T, "node_features": X.toarray(), "node_labels": Y},
    ],
)
def test_published_forms(tmp_path, arrays):
    np.savez(tmp_path / "g.npz", **arrays)
    data = read_graph(tmp_path / "g.npz", directed=True)
    features, adjacency = data.graph.features, data.graph.adjacency().toarray()
    assert ((features.toarray() if sp.issparse(features) else features) == X.toarray()).all()
    assert (adjacency == (A.toarray() > 0 if {"edges", "edge_index"} & set(arrays) else A.toarray())).all()
    assert data.y.tolist() == Y.tolist()
    assert data.graph.ids is None
    assert any("learns from 2 features" in note for note in data.notes)
    assert any("labels in" in note for note in data.notes)


def test_a_file_of_the_paper(data_dir):
    path = data_dir / "amazon_electronics_photo.npz"
    data, known = read_graph(path), load_dataset("photo", data_dir=data_dir)
    assert (data.graph.indices == known.graph.indices).all()
    assert (data.graph.features != known.graph.features).nnz == 0
    assert (data.y == known.y).all()


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_scipy_matrix_as_adjacency_with_other_files(tmp_path, write, kind):
    sp.save_npz(tmp_path / "a.npz", kind(A))
    np.save(tmp_path / "x.npy", X.toarray())
    data = read_graph(tmp_path / "a.npz", tmp_path / "x.npy", directed=True, scale=False)
    assert (data.graph.adjacency().toarray() == A.toarray()).all()
    assert (data.graph.features == X.toarray()).all()
    assert read_graph(tmp_path / "a.npz", n_components=2).structural
    nodes = write("n.csv", "id,age,label\n3,0.5,u\n2,0.25,v\n1,0.75,u\n0,1,v\n")
    assert read_graph(tmp_path / "a.npz", nodes).labels == ["u", "v", "u", "v"]


def test_the_users_own_files_go_first(tmp_path, write):
    np.savez(tmp_path / "g.npz", **parts("adj_", A), **parts("attr_", X), labels=Y, other=Y + 5)
    nodes = write("n.csv", "id,age,label\n0,0.5,u\n1,0.25,v\n2,0.75,u\n3,1,v\n")
    data = read_graph(tmp_path / "g.npz", nodes)
    assert (data.feature_names, data.class_names) == (("age",), ("u", "v"))
    assert read_graph(tmp_path / "g.npz", label_column="other").class_names == ("5", "6")
    assert read_graph(tmp_path / "g.npz", labels=nodes).class_names == ("u", "v")


@pytest.mark.parametrize(
    ("arrays", "options", "sentence"),
    [
        (parts("attr_", X), {}, "has no edges under a known name"),
        (parts("", X), {}, r"an adjacency is square, this matrix is \(4, 2\); are these features"),
        (parts("adj_", A) | {"labels": Y}, {"label_column": "venue"}, "has no array 'venue'"),
        (
            parts("adj_", A) | {"labels": np.array(["a", 1, 2, 3], object)},
            {},
            "pickled objects, which are never loaded",
        ),
        (parts("adj_", A) | {"adj_indices": np.array([0, 1, 9])}, {}, "g.npz"),
        (parts("adj_", A) | {"adj_shape": np.array([10**9, 10**9])}, {}, "claims the shape"),
        (parts("adj_", A) | {"adj_data": np.array([-1.0, 1, 1])}, {}, "weights must not be negative"),
        ({"edge_index": np.array([[0.5, 1], [1, 2]])}, {}, "edges must be whole numbers"),
        ({"edge_index": np.array([[0], [2**62]])}, {}, "claims 4,611,686,018,427,387,905 nodes"),
        ({"edge_index": np.array([[0], [-4]]), "y": Y}, {}, "g.npz"),
    ],
)
def test_bad_archives_get_their_sentence(tmp_path, arrays, options, sentence):
    np.savez(tmp_path / "g.npz", **arrays)
    with pytest.raises(ValueError, match=sentence) as caught:
        read_graph(tmp_path / "g.npz", **options)
    assert "g.npz" in str(caught.value)
