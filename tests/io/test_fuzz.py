"""Damaged files of every format: a result or one sentence, never another error, a hang or a heap of memory."""

import gzip
import io
import os
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp

from ccassg.io.embeddings import read_embeddings, write_embeddings
from ccassg.io.graphs import read_graph

# `make soak` raises this; every file is a fresh mutation.
N_FILES = int(os.environ.get("CCASSG_FUZZ_FILES", "60"))
SEED = int(os.environ.get("CCASSG_FUZZ_SEED", "0"))
PIECES = [
    b"\x00",
    b"\xff\xff\xff\xff",
    b"nan",
    b"inf",
    b"1e999",
    b"-1",
    b'"',
    b"\n",
    b",",
    b"\t",
    b" ",
    b"<",
    b"&x;",
    b"9" * 30,
]


def parquet(table):
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def npy(array):
    sink = io.BytesIO()
    np.save(sink, array)
    return sink.getvalue()


def npz(matrix):
    sink = io.BytesIO()
    sp.save_npz(sink, matrix)
    return sink.getvalue()


def mtx():
    sink = io.BytesIO()
    scipy.io.mmwrite(sink, sp.coo_array(np.eye(4)[[1, 2, 3, 0]]))
    return sink.getvalue()


GRAPHML = b"""<?xml version="1.0"?><graphml><key id="k" for="node" attr.name="age" attr.type="double"/>
<graph edgedefault="directed"><node id="0"><data key="k">1.5</data></node><node id="1"><data key="k">2</data></node>
<edge source="0" target="1"/></graph></graphml>"""
GEXF = b"""<?xml version="1.0"?><gexf version="1.2"><graph defaultedgetype="directed"><attributes class="node">
<attribute id="0" title="age" type="double"><default>1</default></attribute></attributes><nodes><node id="0" label="a">
<attvalues><attvalue for="0" value="1.5"/></attvalues></node><node id="1" label="b"/></nodes>
<edges><edge source="0" target="1" weight="2"/></edges></graph></gexf>"""
GML = b"""Creator "me"
graph [ directed 1
  node [ id 0 label "a" age 1.5 graphics [ x 1 y 2 ] ]
  node [ id 1 label "b &#38; c" ]
  edge [ source 0 target 1 weight 2.5 ]
]"""


def benchmark():
    a, x = sp.csr_array(np.eye(4)[[1, 2, 3, 0]]), sp.csr_array(np.eye(4, 3))
    parts = {
        f"{name}_{part}": getattr(m, part)
        for name, m in (("adj", a), ("attr", x))
        for part in ("data", "indices", "indptr", "shape")
    }
    sink = io.BytesIO()
    np.savez(sink, labels=np.arange(4), **parts)
    return sink.getvalue()


def cells():
    anndata, pandas = pytest.importorskip("anndata"), pytest.importorskip("pandas")
    obs = pandas.DataFrame({"label": pandas.Categorical(["a", "b", "a"])}, index=["u", "v", "w"])
    data = anndata.AnnData(sp.csr_matrix(np.eye(3, 2, dtype=np.float32)), obs=obs)
    data.obsp["connectivities"] = sp.csr_matrix(np.eye(3)[[1, 2, 0]])
    with tempfile.TemporaryDirectory() as folder:
        data.write_h5ad(f"{folder}/a.h5ad")
        return Path(f"{folder}/a.h5ad").read_bytes()


EDGES = {
    "csv": b"source,target,weight\n0,1,2.5\n1,2,1\n2,0,3\n",
    "tsv": b"source\ttarget\n0\t1\n1\t2\n",
    "txt": b"# edges\n0 1\n1  2\n2 3\n",
    "csv.gz": gzip.compress(b"source,target\n0,1\n1,2\n", mtime=0),
    "parquet": parquet(pa.table({"source": ["0", "1", "2"], "target": ["1", "2", "0"], "weight": [1.0, 2.0, 3.0]})),
    "graphml": GRAPHML,
    "mtx": mtx(),
    "jsonl": b'{"source": 0, "target": 1, "weight": 2}\n{"source": 1, "target": 2, "weight": 1.5}\n',
    "gexf": GEXF,
    "gml": GML,
    "npz": benchmark(),
    "h5ad": None,
}
FEATURES = {
    "csv": b"id,age,kind,label\n0,1.5,a,x\n1,2,b,y\n2,3,a,\n",
    "parquet": parquet(pa.table({"id": [0, 1, 2], "v": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "k": ["a", "b", "a"]})),
    "npy": npy(np.eye(3, dtype=np.float32)),
    "npz": npz(sp.csr_array(np.eye(3))),
    "mtx": b"%%MatrixMarket matrix coordinate real general\n3 2 2\n1 1 0.5\n3 2 -1\n",
    "list.csv": b"node_id,feature_id,value\n0,3,1\n0,5,2\n1,3,1\n2,7,0.5\n",
    "json": b'{"0": [3, 17], "1": [3], "2": []}',
    "jsonl": b'{"id": 0, "age": 1.5, "kind": "a"}\n{"id": 1, "age": 2, "kind": "b"}\n{"id": 2, "age": null}\n',
}


def damaged(content, rng):
    """The content with a few bytes changed, cut, doubled or put in."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        at = int(rng.integers(0, len(data) + 1))
        length = int(rng.integers(0, 9))
        match rng.integers(0, 5):
            case 0:
                data[at : at + 1] = bytes(rng.integers(0, 256, 1, np.uint8))
            case 1:
                del data[at : at + length]
            case 2:
                data[at:at] = data[max(0, at - 20) : at]
            case 3:
                data[at:at] = PIECES[rng.integers(len(PIECES))]
            case _:
                data = data[:at] if rng.random() < 0.2 else data
    return bytes(data)


def n_files(suffix):
    """How many to try: AnnData takes ten times as long as all others."""
    return max(1, N_FILES // 10) if suffix == "h5ad" else N_FILES


def try_reading(read):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return read()
        except ValueError as error:
            message = str(error)
    assert message
    assert "\n" not in message
    assert len(message) < 1500
    return None


@pytest.mark.parametrize("suffix", EDGES)
def test_damaged_edges(tmp_path, bounded, suffix):
    rng = np.random.default_rng([SEED, len(suffix)])
    path = tmp_path / f"edges.{suffix}"
    n_read, content = 0, EDGES[suffix] or cells()
    for _ in range(n_files(suffix)):
        bounded()
        path.write_bytes(damaged(content, rng))
        loaded = try_reading(lambda: read_graph(path, n_components=2))
        n_read += loaded is not None
        values = 0 if loaded is None else loaded.graph.features
        assert np.isfinite(values.data if sp.issparse(values) else values).all()
    path.write_bytes(content)
    assert read_graph(path, n_components=2).graph.n_edges > 0
    assert n_read < N_FILES


@pytest.mark.parametrize("suffix", FEATURES)
def test_damaged_features(tmp_path, bounded, suffix):
    rng = np.random.default_rng([SEED, len(suffix)])
    edges, path = tmp_path / "edges.csv", tmp_path / f"nodes.{suffix}"
    edges.write_bytes(b"source,target\n0,1\n1,2\n")
    for _ in range(N_FILES):
        bounded()
        path.write_bytes(damaged(FEATURES[suffix], rng))
        loaded = try_reading(lambda: read_graph(edges, path))
        if loaded is not None:
            values = loaded.graph.features
            assert np.isfinite(values.data if sp.issparse(values) else values).all()
    path.write_bytes(FEATURES[suffix])
    assert read_graph(edges, path).graph.n_nodes == 3


@pytest.mark.parametrize("suffix", ["parquet", "csv", "npy", "vec", "h5ad"])
def test_damaged_embeddings(tmp_path, bounded, suffix):
    rng = np.random.default_rng([SEED, len(suffix)])
    path = tmp_path / f"z.{suffix}"
    write_embeddings(path, np.arange(6).reshape(3, 2), ["a", "b", "c"])
    content = path.read_bytes()
    for _ in range(n_files(suffix)):
        bounded()
        path.write_bytes(damaged(content, rng))
        loaded = try_reading(lambda: read_embeddings(path))
        assert loaded is None or (np.isfinite(loaded[0]).all() and len(loaded[0]) == len(loaded[1]))
    path.write_bytes(content)
    z, ids = read_embeddings(path)
    assert (z.tolist(), ids.tolist()) == ([[0, 1], [2, 3], [4, 5]], ["a", "b", "c"])
