"""NumPy and SciPy files: matrices in, pickles and lies out."""

import io
import json
import pickle
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from ccassg.io.arrays import read_matrix, read_vector
from ccassg.io.files import Limits, within


class Payload:
    """Would make a file if it were ever unpickled."""

    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return (open, (self.marker, "w"))


def test_matrices_round_trip(tmp_path):
    x = np.arange(6, dtype=np.float64).reshape(3, 2)
    np.save(tmp_path / "x.npy", x)
    assert (read_matrix(tmp_path / "x.npy") == x).all()
    np.savez(tmp_path / "d.npz", features=x)
    assert (read_matrix(tmp_path / "d.npz") == x).all()
    for kind in (sp.csr_array, sp.csc_matrix, sp.coo_array):
        sp.save_npz(tmp_path / "s.npz", kind(x))
        read = read_matrix(tmp_path / "s.npz")
        assert read.format == "csr"
        assert read.dtype == np.float32
        assert (read.toarray() == x).all()


def test_pickles_never_run(tmp_path):
    marker = tmp_path / "marker"
    evil = np.array([Payload(marker)], dtype=object)
    np.save(tmp_path / "a.npy", evil, allow_pickle=True)
    np.savez(tmp_path / "b.npz", x=evil)
    (tmp_path / "c.npy").write_bytes(pickle.dumps(Payload(marker)))
    (tmp_path / "d.npz").write_bytes(pickle.dumps(Payload(marker)))
    sp.save_npz(tmp_path / "e.npz", sp.csr_array(np.eye(2)))
    sink = io.BytesIO()
    np.save(sink, evil, allow_pickle=True)
    with zipfile.ZipFile(tmp_path / "e.npz", "a") as archive:
        archive.writestr("extra.npy", sink.getvalue())
    for name in ("a.npy", "b.npz", "c.npy", "d.npz", "e.npz"):
        with pytest.raises(ValueError, match=name):
            read_matrix(tmp_path / name)
        if name.endswith(".npy"):
            with pytest.raises(ValueError, match=name):
                read_vector(tmp_path / name)
    assert not marker.exists()


def craft(path, shape=(3, 3), **parts):
    """A SciPy .npz whose parts may lie."""
    good = sp.csr_array(np.eye(3))
    content = {
        "indices": good.indices,
        "indptr": good.indptr,
        "data": good.data,
        "shape": shape,
        "format": b"csr",
        **parts,
    }
    np.savez(path, **{name: np.asarray(value) for name, value in content.items()})
    return path


@pytest.mark.parametrize(
    "lie",
    [
        {"indices": np.array([0, 1, 10**6], np.int32)},
        {"indices": np.array([0, 1, -7], np.int32)},
        {"indptr": np.array([0, 1, 2, 10**6], np.int32)},
        {"indptr": np.array([0, 2, 1, 3], np.int32)},
        {"shape": (10**12, 3)},
        {"shape": (3, 2)},
        {"shape": (-3, 3)},
        {"format": b"bsr"},
        {"format": b"coo", "row": np.array([0, 1, 9]), "col": np.array([0, 1, 2])},
        {"format": b"coo", "row": np.array([0, 1]), "col": np.array([0, 1, 2])},
        {"format": b"coo", "row": np.array([0, 1, 2]), "col": np.array([0, 1, 2]), "shape": (10**12, 3)},
        {"format": b"csc", "shape": (10**13, 3)},
        {"data": np.array([1, np.nan, 1])},
        {"data": np.array(["a", "b", "c"])},
    ],
)
def test_lying_sparse_files_are_refused(tmp_path, lie):
    path = craft(tmp_path / "x.npz", **lie)
    with pytest.raises(ValueError, match=r"x\.npz"):
        read_matrix(path)


def test_sizes_beyond_the_file_are_refused(tmp_path):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000), }".ljust(117) + "\n"
    lying = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + b"\x00" * 64
    (tmp_path / "x.npy").write_bytes(lying)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("x.npy", lying)
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", bytes(3 * 2**20))
    with zipfile.ZipFile(tmp_path / "path.npz", "w") as archive:
        archive.writestr("../x.npy", lying)
    for name in ("x.npy", "x.npz", "bomb.npz", "path.npz"):
        with within(Limits(growth_floor=1 << 20)), pytest.raises(ValueError, match=name):
            read_matrix(tmp_path / name)


def header(descr, shape):
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    ("descr", "shape", "sentence"),
    [
        ("<U0", (10**9,), "holds <U0 without any width"),
        ("<f4", (0, 10**14), r"claims the shape \(0, 100000000000000\), out of proportion"),
        ("<f4", (10**14, 0), r"claims the shape \(100000000000000, 0\), out of proportion"),
        ("|u1", (1, 1_100_000), r"claims the shape \(1, 1100000\), out of proportion"),
    ],
)
def test_arrays_that_hold_nothing_are_refused_before_they_are_made(tmp_path, descr, shape, sentence):
    content = header(descr, shape) + bytes(1_100_000)
    (tmp_path / "x.npy").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("x.npy", content)
    for name in ("x.npy", "x.npz"):
        with pytest.raises(ValueError, match=f"{name}.*{sentence}"):
            read_matrix(tmp_path / name)


def test_sparse_shapes_are_believed_in_proportion(tmp_path):
    one = np.arange(3)
    for kind, claim in (("coo", {"row": one, "col": one}), ("csr", {"indptr": one, "indices": one})):
        for shape in ((200_000_000, 3), (3, 200_000_000)):
            path = craft(tmp_path / "x.npz", format=kind.encode(), shape=shape, **claim)
            with pytest.raises(ValueError, match=r"x\.npz claims the shape .*200000000.*, out of proportion"):
                read_matrix(path)
    assert read_matrix(craft(tmp_path / "x.npz", shape=(3, 2**20))).shape == (3, 2**20)


def test_archives_of_other_compressions_are_refused(tmp_path):
    for method in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        with zipfile.ZipFile(tmp_path / "x.npz", "w", method) as archive:
            archive.writestr("x.npy", header("<f4", (3, 2)) + bytes(24))
        with pytest.raises(ValueError, match=r"x\.npy is compressed as no NumPy archive is"):
            read_matrix(tmp_path / "x.npz")


def test_integers_beyond_64_bits_name_their_file(tmp_path):
    path = tmp_path / "v.json"
    for text in ("9" * 5000, "9" * 20, "-" + "9" * 19):
        path.write_text(f"[1, {text}]")
        with pytest.raises(
            ValueError, match=r"v\.json cannot be read: the integer '-?9+.* does not fit 64 bits"
        ) as caught:
            read_vector(path)
        assert len(str(caught.value)) < 300
    path.write_text(f"[{2**63 - 1}, {-(2**63)}]")
    assert read_vector(path).to_pylist() == [2**63 - 1, -(2**63)]


def test_what_is_no_matrix_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(3))
    with pytest.raises(ValueError, match=r"x\.npy.*two dimensions"):
        read_matrix(tmp_path / "x.npy")
    np.savez(tmp_path / "x.npz", a=np.eye(2), b=np.eye(2))
    with pytest.raises(ValueError, match="holds 2 arrays"):
        read_matrix(tmp_path / "x.npz")
    (tmp_path / "t.npy").write_text("1,2\n")
    with pytest.raises(ValueError, match="its content is text"):
        read_matrix(tmp_path / "t.npy")


def test_vectors(tmp_path):
    np.save(tmp_path / "v.npy", np.array(["ä", "b"]))
    assert read_vector(tmp_path / "v.npy").to_pylist() == ["ä", "b"]
    for content, expected in [(["a", "ü"], ["a", "ü"]), ([1, 2], [1, 2]), ({"ids": ["1"]}, ["1"])]:
        (tmp_path / "v.json").write_text(json.dumps(content))
        assert read_vector(tmp_path / "v.json").to_pylist() == expected
    for bad in ('{"a": 1}', "[1, true]", '[1, "a"]', "[" * 100_000, "[1", f"[{10**30}]", "[null]"):
        (tmp_path / "v.json").write_text(bad)
        with pytest.raises(ValueError, match=r"v\.json"):
            read_vector(tmp_path / "v.json")
    np.save(tmp_path / "v.npy", np.eye(2))
    with pytest.raises(ValueError, match="one dimension"):
        read_vector(tmp_path / "v.npy")
    assert read_vector(tmp_path / "v.csv") is None
