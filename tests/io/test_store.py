"""The graph store: round trips, laziness, and everything that must be refused."""

import hashlib
import json
import os

import numpy as np
import pytest
import scipy.sparse as sp

from ccassg import Dataset, as_graph
from ccassg.io import hashes, store
from ccassg.io.manifest import MANIFEST, is_store, part_bounds
from ccassg.io.store import open_store
from ccassg.io.storewriter import write_store
from saved_models import rewrite

N = 60


def same_features(one, other):
    if one is None or other is None:
        return one is other
    dense = [x.toarray() if sp.issparse(x) else np.asarray(x) for x in (one, other)]
    return sp.issparse(one) == sp.issparse(other) and np.array_equal(*dense)


def assert_same(one, other):
    for name in ("indptr", "indices", "weights", "ids"):
        a, b = getattr(one, name), getattr(other, name)
        assert (a is None) == (b is None), name
        assert a is None or np.array_equal(a, b), name
    assert same_features(one.features, other.features)
    assert (one.directed, one.notes) == (other.directed, other.notes)


def is_mapped(array):
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


def test_round_trip(graph, tmp_path):
    y = np.arange(N) % 3
    write_store(tmp_path / "s", Dataset(graph, y, ("a", "b", "c")))
    opened = open_store(tmp_path / "s")
    assert_same(opened.graph, graph)
    assert np.array_equal(opened.y, y)
    assert opened.class_names == ("a", "b", "c")
    assert opened.feature_names is None
    assert part_bounds(tmp_path / "s") == (0, N)
    assert is_store(tmp_path / "s")
    assert not is_store(tmp_path)
    assert store.location(opened.graph) == tmp_path / "s"
    assert store.location(graph) is None
    # A store is an input like any other.
    write_store(tmp_path / "again", opened)
    for file in (tmp_path / "s").iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


def test_opening_maps_and_does_not_read(graph, tmp_path, monkeypatch):
    write_store(tmp_path / "s", graph)
    monkeypatch.setattr(store, "ALWAYS_VERIFY", 0)
    monkeypatch.setattr(store, "is_unchanged", lambda *_: pytest.fail("a large store was read in full"))
    opened = open_store(tmp_path / "s").graph
    assert isinstance(opened.indices, np.memmap)
    features = opened.features
    if features is not None:
        mapped = np.load(tmp_path / "s" / ("features_data.npy" if sp.issparse(features) else "features.npy"))
        held = features.data if sp.issparse(features) else features
        assert is_mapped(held)
        assert np.array_equal(held, mapped)
        store.release(features)
        assert np.array_equal(held, mapped)


def test_the_file_survives_writes_to_the_arrays(tmp_path):
    write_store(tmp_path / "s", as_graph(np.array([[0], [1]]), np.ones((2, 3))))
    open_store(tmp_path / "s").graph.features[:] = 5
    assert (open_store(tmp_path / "s", verify=True).graph.features == 1).all()


def test_release_leaves_private_copies_of_others_alone(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((3, 2), np.float32))
    private = np.load(tmp_path / "x.npy", mmap_mode="c")
    private[:] = 1
    store.release(private)
    store.release(sp.csr_array(private))
    store.release(np.ones(3))
    assert (private == 1).all()


def test_truncated_and_altered_files_are_refused(small):
    for file in sorted(small.glob("*.npy")):
        content = file.read_bytes()
        file.write_bytes(content[:-1])
        with pytest.raises(ValueError, match="cut off or altered"):
            open_store(small, verify=False)
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        with pytest.raises(ValueError, match=f"{file.name} was altered"):
            open_store(small)
        file.write_bytes(b"\x93NUMPY" + b"\xff" * (len(content) - 6))
        with pytest.raises(ValueError, match="not an array that can be mapped"):
            open_store(small, verify=False)
        file.unlink()
        with pytest.raises(ValueError, match="missing or not a regular file"):
            open_store(small)
        file.write_bytes(content)
    assert open_store(small, verify=True).graph.n_nodes == 4


def test_links_and_foreign_files_are_refused(small, tmp_path):
    target = tmp_path / "elsewhere.npy"
    os.replace(small / "indices.npy", target)
    (small / "indices.npy").symlink_to(target)
    with pytest.raises(ValueError, match="not a regular file"):
        open_store(small)


@pytest.mark.parametrize("header", [b"{'descr': '|u1', 'shape': (1, [", b"{'descr': (((", b"\xff" * 40, b""])
def test_a_forged_header_is_refused_in_a_sentence(small, header):
    """Whose hash fits; NumPy's parser raises TokenError and others on such headers."""
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    (small / "indices.npy").write_bytes(content)
    manifest = json.loads((small / MANIFEST).read_text())
    entry = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    rewrite(small, arrays=manifest["arrays"] | {"indices": manifest["arrays"]["indices"] | entry})
    with pytest.raises(ValueError, match=r"indices\.npy is not an array that can be mapped"):
        open_store(small)


def test_pickles_are_never_loaded(small):
    np.save(small / "labels.npy", np.array([{"a": 1}] * 4, dtype=object), allow_pickle=True)
    manifest = json.loads((small / MANIFEST).read_text())
    manifest["arrays"]["labels"] |= {"bytes": (small / "labels.npy").stat().st_size, "dtype": "|O"}
    rewrite(small, arrays=manifest["arrays"])
    with pytest.raises(ValueError, match="not an array that can be mapped"):
        open_store(small, verify=False)


def replace_array(folder, name, array):
    """Put another array in the place of one, or no array, with a hash that fits."""
    arrays = json.loads((folder / MANIFEST).read_text())["arrays"]
    arrays.pop(name, None)
    if array is not None:
        np.save(folder / f"{name}.npy", array)
        content = (folder / f"{name}.npy").read_bytes()
        arrays[name] = {
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
    rewrite(folder, arrays=arrays)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("ids_indptr", np.array([0, 2, 1, 3, 4]), "ids_indptr decreases somewhere"),
        ("ids_indptr", np.array([0, -5, 2, 3, 4]), "ids_indptr decreases somewhere"),
        ("ids_indptr", np.array([0, 1, 2, 3, 10**9]), "ids_indptr does not end where ids_text does"),
        ("ids_indptr", np.array([0, 1, 2, 4]), r"ids_indptr has shape \(4,\), but the store needs \(5,\)"),
        ("ids_text", np.zeros(4, np.uint32), r"ids_text has shape \(4,\), but the store needs \(16,\)"),
        ("ids_text", None, "ids need ids_indptr and ids_text, or are numbers, got ids_indptr"),
        ("ids", np.arange(4), "got ids, ids_indptr, ids_text"),
    ],
)
@pytest.mark.parametrize("verify", [True, False])
def test_forged_pointers_into_the_text_of_ids_are_refused(small, name, array, message, verify):
    replace_array(small, name, array)
    with pytest.raises(ValueError, match=message):
        open_store(small, verify=verify)


def test_text_of_ids_is_utf8_and_pointers_of_any_width_serve(small):
    replace_array(small, "ids_indptr", np.arange(5, dtype=np.int32))
    assert open_store(small).ids.tolist() == list("abcd")
    replace_array(small, "ids_text", np.full(4, 255, np.uint8))
    with pytest.raises(ValueError, match=r"ids_text is no text .*UTF8"):
        open_store(small)


def test_a_store_of_the_second_version_is_read(small):
    manifest = json.loads((small / MANIFEST).read_text())
    for name, entry in manifest["arrays"].items():
        entry["sha256"] = hashlib.sha256((small / f"{name}.npy").read_bytes()).hexdigest()
    rewrite(small, version=2, arrays=manifest["arrays"])
    assert open_store(small, verify=True).ids.tolist() == list("abcd")
    store.verify_rows(small, 1, 2, names=True)
    content = (small / "indices.npy").read_bytes()
    (small / "indices.npy").write_bytes(content[:-1] + b"\7")
    for refused in (lambda: open_store(small), lambda: store.verify_rows(small, 0, 1, names=False)):
        with pytest.raises(ValueError, match=r"indices\.npy was altered"):
            refused()


@pytest.fixture
def by_rows(graph, tmp_path, monkeypatch):
    """A store whose hashes are of 16 bytes each, so that there are blocks between the rows."""
    monkeypatch.setattr(hashes, "BLOCK", 16)
    write_store(tmp_path / "s", Dataset(graph, np.arange(N) % 3, ("a", "b", "c")))
    return tmp_path / "s"


def altered_at(file, position):
    content = bytearray(file.read_bytes())
    content[position] ^= 1
    file.write_bytes(content)


def test_the_rows_of_some_nodes_are_checked_alone(by_rows):
    whole = {file.name: file.read_bytes() for file in by_rows.glob("*.npy")}
    for name, content in whole.items():
        rows = name.removesuffix(".npy") in ("indices", "weights", "features", "features_indices", "features_data")
        # Of the last node, and of the first; the ends of pointers are looked at in any case.
        for position in (136,) if "indptr" in name else (-1, 130):
            altered_at(by_rows / name, position)
            with pytest.raises(ValueError, match=f"{name} was altered"):
                open_store(by_rows)
            if rows:
                store.verify_rows(by_rows, N // 3, N // 2, names=True)
            named = name.startswith(("ids", "labels"))
            start, stop = (0, N // 3) if position > 0 else (N // 3, N)
            if named:
                store.verify_rows(by_rows, start, stop, names=False)
            with pytest.raises(ValueError, match=f"{name} was altered"):
                store.verify_rows(by_rows, start, stop, names=named)
            (by_rows / name).write_bytes(content)
    store.verify_rows(by_rows, 0, N, names=True)
    store.verify_rows(by_rows, 5, 5, names=True)


def test_forged_indices_among_the_rows_are_refused(small):
    opened = open_store(small).graph
    indices = np.array(opened.indices)
    indices[-1] = 99
    replace_array(small, "indices", indices)
    store.verify_rows(small, 0, 1, names=False)
    with pytest.raises(ValueError, match=r"indices points outside 0 \.\. 3"):
        store.verify_rows(small, 1, 4, names=False)
    replace_array(small, "indptr", np.array(opened.indptr)[[0, 3, 2, 1, 4]])
    with pytest.raises(ValueError, match="indptr decreases somewhere"):
        store.verify_rows(small, 0, 1, names=False)


def test_hashes_of_an_array_are_those_of_its_file(graph, by_rows, monkeypatch):
    stored, entries = open_store(by_rows).graph, json.loads((by_rows / MANIFEST).read_text())["arrays"]
    expected = entries["indices"]["sha256"]
    assert store.hashes_of(graph.indices) == expected
    own = np.array(stored.indices)
    monkeypatch.setattr(store, "BlockHashes", lambda: pytest.fail("the manifest knows them"))
    assert store.hashes_of(stored.indices) == expected
    monkeypatch.undo()
    monkeypatch.setattr(hashes, "BLOCK", 16)
    for other in (stored.indices[::-1], stored.indices[1:], stored.indices + 1, own[::-1]):
        assert store.hashes_of(other) == store.hashes_of(np.array(other)) != expected


def test_a_store_of_the_first_version_is_read(small):
    for name, array in (("ids_indptr", None), ("ids_text", None), ("ids", np.array(["a", "bcd", "e", "f"]))):
        replace_array(small, name, array)
    rewrite(small, version=1)
    assert open_store(small).ids.tolist() == ["a", "bcd", "e", "f"]
