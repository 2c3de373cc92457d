"""Files made to run code, to lie about their size, to name other files or to be of the wrong type: refused, in one sentence."""

import hashlib
import json
import os
import pickle
import struct
import subprocess
import sys
import zipfile
from contextlib import nullcontext, suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import torch
from chores import SEED, SOAK
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ccassg import CCASSG, as_graph
from ccassg.datasets.planetoid import unpickle
from ccassg.experiments.records import read
from ccassg.io.embeddings import read_embeddings
from ccassg.io.graphs import read_graph
from ccassg.io.labels import encode_labels, read_labels
from ccassg.io.store import open_store
from ccassg.io.storewriter import write_store
from ccassg.run import Run, read_run

GRAPH = as_graph(sp.random(12, 12, density=0.3, random_state=0), np.eye(12, 5))


class Payload:
    """Unpickling it writes a file."""

    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return Path.write_text, (Path(self.marker), "ran")


@pytest.fixture
def model(tmp_path):
    CCASSG(encoder="gcn", n_steps=1, hidden_dim=4, embedding_dim=3, random_state=0).fit(GRAPH).save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def edges(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n1,2\n")
    return tmp_path / "edges.csv"


def test_pickles_never_run(tmp_path, edges, model, figure):
    marker = tmp_path / "marker"
    payload = np.array([[Payload(marker)]], dtype=object)
    np.save(tmp_path / "x.npy", payload, allow_pickle=True)
    np.savez(tmp_path / "x.npz", payload)
    torch.save({"x": Payload(marker)}, tmp_path / "x.pt")
    plain = pickle.dumps(Payload(marker))
    for name in ("allx", "y.npy", "y.npz", "y.parquet", "y.csv", "y.pt"):
        (tmp_path / name).write_bytes(plain)
    store = tmp_path / "store"
    write_store(store, GRAPH)
    (store / "features.npy").write_bytes((tmp_path / "x.npy").read_bytes())
    attempts = [lambda p=tmp_path / name: read_graph(edges, p) for name in ("x.npy", "x.npz", "x.pt", "y.npy", "y.npz")]
    attempts += [lambda p=tmp_path / name: read_graph(p) for name in ("x.pt", "y.pt", "y.csv", "y.parquet", "x.npz")]
    attempts += [lambda p=tmp_path / name: read_embeddings(p) for name in ("x.npy", "y.parquet", "y.csv")]
    attempts += [
        lambda: unpickle(tmp_path / "allx"),
        lambda: open_store(store, verify=False),
        lambda: open_store(store),
    ]
    for content in (plain, (tmp_path / "x.pt").read_bytes()):
        (model / "model.safetensors").write_bytes(content)
        with pytest.raises(ValueError, match="hash differs"):
            CCASSG.load(model)
    for attempt in attempts:
        with pytest.raises(ValueError, match=r"\w"):
            attempt()
    assert not marker.exists()
    pickle.loads(plain)  # the payload does work, where it is let
    assert marker.exists()
    figure("pickles", payloads=len(attempts) + 2, ran=0)


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def lies():
    entry = {"dtype": "F32", "shape": [2**20, 2**20], "data_offsets": [0, 2**42]}
    yield "more than there is", safetensors({"weights.0": entry}, b"1234")
    yield "offsets past the end", safetensors({"weights.0": entry | {"shape": [1], "data_offsets": [4, 8]}}, b"1234")
    yield "offsets backwards", safetensors({"weights.0": entry | {"shape": [1], "data_offsets": [4, 0]}}, b"1234")
    yield "shape and bytes differ", safetensors({"weights.0": entry | {"data_offsets": [0, 4]}}, b"1234")
    yield "a header without end", struct.pack("<Q", 2**62) + b"{"
    yield "deep nesting", safetensors(b'{"a":' * 5000)
    yield "overflow", safetensors({"weights.0": entry | {"shape": [2**63, 2**63], "data_offsets": [0, 0]}})


@pytest.mark.parametrize(("name", "content"), list(lies()))
def test_weights_that_lie_about_their_size(model, name, content):
    config = json.loads((model / "config.json").read_text()) | {"weights_sha256": hashlib.sha256(content).hexdigest()}
    (model / "config.json").write_text(json.dumps(config))
    (model / "model.safetensors").write_bytes(content)
    with pytest.raises(ValueError, match=r"safetensors|config"):
        CCASSG.load(model)


def test_parquet_that_lies_about_its_size(tmp_path, edges):
    path = tmp_path / "nodes.parquet"
    pq.write_table(pa.table({"id": ["0", "1", "2"], "x": [1.0, 2.0, 3.0]}), path)
    content = path.read_bytes()
    footer = struct.unpack("<I", content[-8:-4])[0]
    for wrong in (0, footer - 3, footer + 3, 2**31 - 1, 2**32 - 1):
        path.write_bytes(content[:-8] + struct.pack("<I", wrong) + content[-4:])
        with pytest.raises(ValueError, match=r"nodes\.parquet"):
            read_graph(edges, path)


def test_archives_that_grow_or_name_other_places(tmp_path, edges):
    bomb = tmp_path / "bomb.npz"
    header = (
        b"\x93NUMPY\x01\x00v\x00"
        + b"{'descr': '|u1', 'fortran_order': False, 'shape': (1, 314572800), }".ljust(117)
        + b"\n"
    )
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("x.npy", "w") as file:
        file.write(header)
        for _ in range(300):
            file.write(bytes(2**20))
    assert bomb.stat().st_size < 2**19
    with pytest.raises(ValueError, match="times its size"):
        read_graph(edges, bomb)
    for name in ("../x.npy", "/tmp/x.npy", "a/../../x.npy", "..\\x.npy", "x.txt"):
        path = tmp_path / "paths.npz"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, header)
        with pytest.raises(ValueError, match="which no NumPy archive does"):
            read_graph(edges, path)
    assert not (tmp_path.parent / "x.npy").exists()


def test_links_in_a_store_are_refused(tmp_path):
    write_store(tmp_path / "store", GRAPH)
    array = tmp_path / "store" / "features.npy"
    array.rename(tmp_path / "elsewhere.npy")
    array.symlink_to(tmp_path / "elsewhere.npy")
    with pytest.raises(ValueError, match="not a regular file"):
        open_store(tmp_path / "store")


DEEP = "[" * 100_000
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
LIMITED = settings(
    max_examples=4000 if SOAK else 40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
# Cells that a table may hold, and text that no table should.
CELL = st.sampled_from(
    ["0", "1", "2", "a", "", " ", "nan", "-1", "1e999", "9" * 30, '"', "\x00", "é", "\ud7ff"]
) | st.text(max_size=4)
ROWS = st.lists(st.lists(CELL, max_size=5), max_size=6)


@pytest.mark.parametrize(
    "text", [DEEP, '{"a":' * 100_000, "9" * 5000, '{"notes": 1e999}', "nul", '"\\ud800', "[1]", "{"]
)
def test_texts_that_are_no_config(tmp_path, model, text):
    for path, attempt in (
        (model / "config.json", lambda: CCASSG.load(model)),
        (model / "run.json", lambda: read_run(model)),
        (tmp_path / "a.jsonl", lambda: read(tmp_path / "a.jsonl")),
    ):
        path.write_text(text + "\n")
        with pytest.raises(ValueError, match=path.name):
            attempt()


@LIMITED
@given(
    change=st.dictionaries(
        st.sampled_from(["parameters", "features", "state", "history", "fit_seconds", "method", "format"]), JSON
    ),
    state=st.dictionaries(st.sampled_from(["settings", "reasons", "encoder"]), JSON),
    encoder=st.dictionaries(st.sampled_from(["dims", "propagate", "batch_norm", "n_features", "widths", "hops"]), JSON),
)
@example(change={}, state={}, encoder={})
def test_any_config_is_a_model_or_a_value_error(tmp_path_factory, bounded, count, change, state, encoder):
    bounded()
    count("property tests", files=1)
    folder = tmp_path_factory.getbasetemp() / "any-config"
    if not folder.exists():
        CCASSG(encoder="gcn", n_steps=1, hidden_dim=4, embedding_dim=3, random_state=0).fit(GRAPH).save(folder)
        (folder / "config.json").rename(folder / "good.json")
    good = json.loads((folder / "good.json").read_text())
    good["state"]["encoder"] |= encoder
    good["state"] |= state
    (folder / "config.json").write_text(json.dumps(good | change))
    try:
        loaded = CCASSG.load(folder)
    except ValueError:
        assert change or state or encoder  # what was saved is taken
        return
    assert np.isfinite(loaded.transform(GRAPH)).all()


RECORD = {"run": {"task": "toy", "dataset": "set0"}, "result": {}, "seconds": {"total": 1.5}}
RUN = {"source": "edges.csv", "graph": {"nodes": 3}, "notes": ["a note"], "class_names": ["a", "b"], "provenance": {}}


@LIMITED
@given(content=JSON | st.dictionaries(st.sampled_from([*RECORD, *RUN]), JSON))
@example(content={})
def test_any_record_and_any_run_is_taken_or_a_value_error(tmp_path, bounded, count, content):
    bounded()
    count("property tests", files=2)
    for name, good, attempt, kind in (
        ("a.jsonl", RECORD, lambda: read(tmp_path / "a.jsonl"), list),
        ("run.json", RUN, lambda: read_run(tmp_path), Run),
    ):
        changed = good | content if isinstance(content, dict) else content
        (tmp_path / name).write_text(json.dumps(changed) + "\n")
        is_good = isinstance(content, dict) and not content.keys() & good.keys()
        with nullcontext() if is_good else suppress(ValueError):
            assert isinstance(attempt(), kind)


# Tables that must be read, and as what.
PLAIN = {
    "source,target": ([["0", "1"], ["1", "2"]], {"edges"}),
    "id,x,label": ([["0", "1", "a"], ["1", "2.5", "b"], ["2", "0", "a"]], {"nodes", "labels"}),
}


@LIMITED
@given(header=st.sampled_from(["", *PLAIN, "a,b,c"]), rows=ROWS, ending=st.sampled_from("\n\r"))
@example(header="source,target", rows=PLAIN["source,target"][0], ending="\n")
@example(header="id,x,label", rows=PLAIN["id,x,label"][0], ending="\r")
def test_any_table_is_read_or_a_value_error(tmp_path, edges, bounded, count, header, rows, ending):
    bounded()
    count("property tests", files=3)
    path = tmp_path / "table.csv"
    path.write_bytes(ending.join([header, *(",".join(row) for row in rows)]).encode())
    good, must = PLAIN.get(header, (None, set()))
    taken = set()
    for kind, nodes in (("edges", (path, None)), ("nodes", (edges, path))):
        with suppress(ValueError):
            assert np.isfinite(read_graph(*nodes, n_components=1).graph.features).all()
            taken.add(kind)
    with suppress(ValueError):
        codes, names = encode_labels(read_labels(path).labels)
        assert codes.max() < len(names)
        taken.add("labels")
    assert rows != good or taken >= must


def test_forged_files_under_a_limit_of_memory(nursery, tmp_path, scale, figure):
    counts = nursery.call("fuzz:campaign", str(tmp_path), scale(25, 2500), SEED)
    assert all(count["taken"] < count["files"] for count in counts.values()), (
        "nothing was refused: is it damaged at all?"
    )
    figure("forged files", files=sum(count["files"] for count in counts.values()), kinds=len(counts), findings=0)


def test_forged_runs_harm_nobody(nursery, tmp_path, scale, figure):
    n = scale(20, 2000)
    counts = nursery.call("fuzz:forge_runs", str(tmp_path), n, SEED)
    assert counts["refused"] > n
    figure("forged runs", runs=n, harmed=0, **counts)


def test_coverage_guided_fuzzing(tmp_path, scale, figure):
    n = scale(0, 15_000)
    if not n:
        pytest.skip("only in full (make soak)")
    pytest.importorskip("atheris")
    script = str(Path(__file__).with_name("fuzz_atheris.py"))
    options = [f"-runs={n}", "-rss_limit_mb=4096", "-timeout=30", "-max_len=4096", f"-seed={SEED + 1}"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    command = [sys.executable, script, *options]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-3000:]
    figure("coverage-guided", files=n, findings=0)
