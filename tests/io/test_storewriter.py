"""Writing a store: every byte hashed, in pieces or at once, whole or not at all."""

import hashlib
import json
import os

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from ccassg import Dataset, as_graph
from ccassg.graph.scaling import Scaling
from ccassg.io import storewriter
from ccassg.io.manifest import MANIFEST, aside, is_store, manifest_hash, part_bounds
from ccassg.io.store import open_store
from ccassg.io.storewriter import StoreWriter, write_store

N = 60
PAIR = np.array([[0], [1]])


def to_dense(features):
    return features.toarray() if sp.issparse(features) else np.asarray(features)


def read_manifest(path):
    return json.loads((path / MANIFEST).read_text())


@pytest.mark.parametrize("chunk", [64, 2**24])
def test_parts_are_ranges_and_the_graph_stays_the_same(graph, tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(storewriter, "CHUNK_BYTES", chunk)
    parts = np.random.default_rng(2).integers(0, 4, N)
    write_store(tmp_path / "s", Dataset(graph, np.arange(N)), parts=parts)
    opened = open_store(tmp_path / "s")
    order = opened.y  # the labels were the old numbers
    assert np.array_equal(parts[order], np.repeat(np.arange(4), np.diff(part_bounds(tmp_path / "s"))))
    assert np.array_equal(opened.graph.node_ids, graph.node_ids[order])
    expected = graph.adjacency()[order][:, order]
    assert (opened.graph.adjacency() != expected).nnz == 0
    rows = np.split(opened.graph.indices, opened.graph.indptr[1:-1])
    assert all((np.diff(row) > 0).all() for row in rows)
    if graph.features is not None:
        assert sp.issparse(opened.graph.features) == sp.issparse(graph.features)
        assert np.array_equal(to_dense(opened.graph.features), to_dense(graph.features[order]))


def test_a_path_in_two_parts_by_hand(tmp_path):
    """0 - 1 - 2 - 3 with the odd nodes first: 1 3 | 0 2 are now 0 1 | 2 3."""
    adjacency = np.zeros((4, 4))
    adjacency[[0, 1, 2], [1, 2, 3]] = [5, 6, 7]
    graph = as_graph(sp.csr_array(adjacency), np.arange(8).reshape(4, 2))
    write_store(tmp_path / "s", Dataset(graph, np.array([10, 11, 12, 13])), parts=np.array([1, 0, 1, 0]))
    stored = {file.stem: np.load(file).tolist() for file in (tmp_path / "s").glob("*.npy")}
    assert stored == {
        "indptr": [0, 2, 3, 4, 6],
        "indices": [2, 3, 3, 0, 0, 1],
        "weights": [5, 6, 7, 5, 6, 7],
        "features": [[2, 3], [6, 7], [0, 1], [4, 5]],
        "ids": [1, 3, 0, 2],  # the old numbers
        "labels": [11, 13, 10, 12],
    }
    assert part_bounds(tmp_path / "s") == (0, 2, 4)


def test_the_manifest_says_what_is_in_the_files(graph, tmp_path):
    names = None if graph.features is None else tuple("abcdefg")
    scaling = None if graph.features is None else Scaling((0.5,) * 7, (2.0,) * 7)
    write_store(tmp_path / "s", Dataset(graph, np.arange(N) % 2, ("x", "y"), feature_names=names, scaling=scaling))
    manifest = read_manifest(tmp_path / "s")
    assert manifest["sha256"] == manifest_hash(manifest)
    assert (manifest["n_nodes"], manifest["n_edges"], manifest["n_features"]) == (N, graph.n_edges, graph.n_features)
    assert manifest["directed"] == graph.directed
    assert manifest["notes"] == list(graph.notes)
    assert manifest["class_names"] == ["x", "y"]
    assert manifest["feature_names"] == (None if names is None else list(names))
    assert manifest["scaling"] == (None if scaling is None else {"means": [0.5] * 7, "deviations": [2.0] * 7})
    files = {file.stem: file for file in (tmp_path / "s").glob("*.npy")}
    assert files.keys() == manifest["arrays"].keys()
    for name, entry in manifest["arrays"].items():
        content = files[name].read_bytes()
        array = np.load(files[name])
        assert entry["sha256"] == [hashlib.sha256(content).hexdigest()]
        assert entry["bytes"] == len(content)
        assert entry["shape"] == list(array.shape)
        assert np.dtype(entry["dtype"]) == array.dtype


def test_small_chunks_write_the_same_bytes(graph, tmp_path, monkeypatch):
    write_store(tmp_path / "whole", graph)
    monkeypatch.setattr(storewriter, "CHUNK_BYTES", 8)
    write_store(tmp_path / "pieces", graph)
    for file in (tmp_path / "whole").iterdir():
        assert file.read_bytes() == (tmp_path / "pieces" / file.name).read_bytes(), file.name


def test_pieces_are_one_array_in_little_endian(tmp_path):
    pieces = [np.array([[1, 2], [3, 4]], dtype=">f4"), np.empty((0, 2)), np.asfortranarray([[5.0, 6.0]])]
    with StoreWriter(tmp_path / "s") as writer:
        writer.add_pieces("features", ">f4", (3, 2), iter(pieces))
        writer.finish(3, 0, 2)
    stored = np.load(tmp_path / "s" / "features.npy")
    assert stored.dtype.str == "<f4"
    assert stored.tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize("ids", [[7, 3], [5, 2**40], np.array([7, 3], np.uint8)], ids=str)
def test_ids_that_are_numbers_are_one_array(tmp_path, ids):
    write_store(tmp_path / "s", as_graph(PAIR, node_ids=ids))
    stored = np.load(tmp_path / "s" / "ids.npy", allow_pickle=False)
    assert stored.dtype == np.int64
    assert stored.tolist() == list(ids)


@pytest.mark.parametrize(
    "kind",
    [list, np.array, lambda ids: np.array(ids, object), pa.array],
    ids=["list", "fixed width", "objects", "arrow"],
)
def test_ids_that_are_strings_take_the_room_of_their_text(tmp_path, kind):
    ids = ["é" * 1000, "", "b\0c", "d"]
    graph = as_graph(np.array([[0, 1], [1, len(ids) - 1]]), node_ids=kind(ids))
    write_store(tmp_path / "s", graph)
    assert np.load(tmp_path / "s" / "ids_text.npy").tobytes().decode() == "".join(ids)
    opened = open_store(tmp_path / "s")
    assert opened.ids.tolist() == opened.graph.ids.tolist() == graph.node_ids.tolist() == ids
    parts = np.arange(len(ids)) % 2
    write_store(tmp_path / "t", opened, parts=parts)
    assert open_store(tmp_path / "t").ids.tolist() == [ids[i] for i in np.argsort(parts, kind="stable")]


@pytest.mark.parametrize(("ids", "named"), [([(1, 2), (3, 4)], r"\(1, 2\)"), (["a", 1.5], "1.5"), (["a", 1], "'a'")])
def test_ids_of_other_kinds_are_refused(tmp_path, ids, named):
    sentence = f"node ids must all be strings or all be integers to be stored, got {named}; rename the nodes"
    with pytest.raises(ValueError, match=sentence):
        write_store(tmp_path / "s", as_graph(PAIR, node_ids=ids))


def test_what_is_there_stays_unless_it_is_a_store_to_overwrite(tmp_path):
    graph = as_graph(np.array([[0], [1]]), np.ones((2, 3)))
    write_store(tmp_path / "s", as_graph(np.array([[0, 1, 2], [1, 2, 3]])))
    with pytest.raises(ValueError, match="exists already; pass `overwrite=True`"):
        write_store(tmp_path / "s", graph)
    write_store(tmp_path / "s", graph, overwrite=True)
    assert open_store(tmp_path / "s").graph.n_nodes == 2
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("do not delete")
    with pytest.raises(ValueError, match="exists already; choose another name"):
        write_store(tmp_path / "mine", graph, overwrite=True)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "do not delete"
    with pytest.raises(ValueError, match="does not exist; make it first"):
        write_store(tmp_path / "no" / "s", graph)


def test_a_link_is_never_replaced(tmp_path):
    write_store(tmp_path / "s", as_graph(PAIR))
    (tmp_path / "link").symlink_to(tmp_path / "s")
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    for name in ("link", "broken"):
        with pytest.raises(ValueError, match=f"{name} exists already"):
            write_store(tmp_path / name, as_graph(PAIR), overwrite=True)
        assert (tmp_path / name).is_symlink()


def test_a_failed_write_leaves_the_old_store(tmp_path):
    write_store(tmp_path / "s", as_graph(PAIR, np.ones((2, 3))))
    with pytest.raises(ValueError, match="strings or all be integers"):
        write_store(tmp_path / "s", as_graph(PAIR, node_ids=[(1, 2), (3, 4)]), overwrite=True)
    assert (open_store(tmp_path / "s", verify=True).graph.features == 1).all()
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_without_finish_or_after_an_error_there_is_no_store(tmp_path):
    with StoreWriter(tmp_path / "s") as writer:
        writer.add("indptr", np.zeros(3, np.int64))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyboardInterrupt), StoreWriter(tmp_path / "s") as writer:  # noqa: PT012 - it comes after `finish`
        writer.finish(2, 0, 0)
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_nothing(tmp_path):
    graph = as_graph(np.array([[0], [1]]), np.ones((2, 3)), node_ids=[(1, 2), (3, 4)])
    with pytest.raises(ValueError, match="strings or all be integers"):
        write_store(tmp_path / "s", graph)
    with pytest.raises(ValueError, match="announced with 5 rows"), StoreWriter(tmp_path / "s") as writer:
        writer.add_pieces("labels", np.int64, (5,), iter([np.zeros(3)]))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["manifest.json", "notes.txt", "folder", "labels.npy"])
def test_overwriting_spares_what_is_not_a_stores(tmp_path, name):
    """A folder with a manifest of something else, a store with other files in it, a link in place of an array."""
    store = tmp_path / "s"
    if name == "manifest.json":
        store.mkdir()
        (store / name).write_text('{"manifest_version": 3}')
    else:
        write_store(store, Dataset(as_graph(PAIR), np.zeros(2, int)))
        if name == "folder":
            (store / name).mkdir()
        elif name == "notes.txt":
            (store / name).write_text("mine")
        else:
            (store / name).replace(tmp_path / name)
            (store / name).symlink_to(tmp_path / name)
    before = sorted(os.listdir(store))
    with pytest.raises(ValueError, match=r"s is not replaced: .*; choose another name, or remove it first"):
        write_store(store, as_graph(PAIR), overwrite=True)
    assert sorted(os.listdir(store)) == before


@pytest.mark.parametrize("change", ["a value", "the size"])
def test_a_store_that_somebody_changed_is_not_replaced(tmp_path, change):
    store = tmp_path / "s"
    write_store(store, as_graph(PAIR, np.ones((2, 3))))
    if change == "a value":
        mine = np.load(store / "features.npy", mmap_mode="r+")
        mine[0, 0] = 7
        mine.flush()
    else:
        np.save(store / "features.npy", np.zeros((5, 3), np.float32))
    content = (store / "features.npy").read_bytes()
    with pytest.raises(ValueError, match=r"s is not replaced: .*features\.npy .* altered"):
        write_store(store, as_graph(PAIR), overwrite=True)
    assert (store / "features.npy").read_bytes() == content


def test_a_store_set_aside_comes_back(tmp_path):
    """As a kill between the two renames leaves it; `tests/trust/test_kill_writes.py` has the real kills."""
    write_store(tmp_path / "s", as_graph(PAIR, np.ones((2, 3))))
    for come_back in (open_store, is_store, part_bounds):
        (tmp_path / "s").rename(aside(tmp_path / "s"))
        assert come_back(tmp_path / "s")
        assert os.listdir(tmp_path) == ["s"]
    (tmp_path / "s").rename(aside(tmp_path / "s"))
    with pytest.raises(ValueError, match="s exists already; pass `overwrite=True`"):
        write_store(tmp_path / "s", as_graph(PAIR))
    write_store(aside(tmp_path / "s"), as_graph(PAIR))  # as a kill after both leaves it
    write_store(tmp_path / "s", as_graph(PAIR, np.zeros((2, 3))), overwrite=True)
    assert os.listdir(tmp_path) == ["s"]
    assert (open_store(tmp_path / "s").graph.features == 0).all()
