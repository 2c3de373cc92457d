import os

import numpy as np
import pytest
import scipy.sparse as sp

from ccassg.datasets import CARDS
from ccassg.datasets.benchmark import read_benchmark


def write(path, **changes):
    """A file in the layout of gnn-benchmark: 4 nodes, edges 0>1, 1>0, 1>2, a loop at 3, and a stored zero."""
    adjacency = sp.csr_array((np.array([1, 1, 1, 0, 1], np.float32), ([0, 1, 1, 2, 3], [1, 0, 2, 0, 3])), shape=(4, 4))
    features = sp.csr_array(np.array([[2, 0, 0], [0, 1, 1], [0, 0, 0], [1, 0, 3]], np.float32))
    parts = {"labels": np.array([0, 1, 1, 0], np.int32)}
    for prefix, matrix in (("adj", adjacency), ("attr", features)):
        parts |= {f"{prefix}_{part}": getattr(matrix, part) for part in ("data", "indices", "indptr")}
        parts[f"{prefix}_shape"] = np.array(matrix.shape)
    np.savez(path, **{key: value for key, value in (parts | changes).items() if value is not None})
    return path


def test_small_file(tmp_path):
    data = read_benchmark(write(tmp_path / "a.npz", class_names=np.array(["no", "yes"])), "photo")
    expected = np.zeros((4, 4))
    expected[[0, 1, 1, 2], [1, 0, 2, 1]] = 1
    np.testing.assert_array_equal(data.graph.adjacency().toarray(), expected)
    np.testing.assert_array_equal(data.graph.features.toarray()[3], [1, 0, 3])
    assert data.y.dtype == np.int64
    assert data.class_names == ("no", "yes")
    assert any("reverse of 1 " in note for note in data.graph.notes)


def test_names_from_the_card_where_the_file_has_none(tmp_path):
    assert read_benchmark(write(tmp_path / "a.npz"), "photo").class_names == CARDS["photo"].class_names


class Payload:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


def test_pickled_names_are_not_read(tmp_path):
    marker = tmp_path / "ran"
    names = np.array([Payload(marker)], dtype=object)
    data = read_benchmark(write(tmp_path / "a.npz", class_names=names, node_names=names), "photo")
    assert data.class_names == CARDS["photo"].class_names
    assert not marker.exists()
    with np.load(tmp_path / "a.npz", allow_pickle=True) as parts:
        assert parts["class_names"].dtype == object
    assert marker.is_dir()  # whoever does read them runs them


def test_pickled_labels_are_refused(tmp_path):
    marker = tmp_path / "ran"
    path = write(tmp_path / "a.npz", labels=np.array([Payload(marker)] * 4, dtype=object))
    with pytest.raises(ValueError, match="run: ccassg datasets fetch photo"):
        read_benchmark(path, "photo")
    assert not marker.exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"adj_data": None},
        {"labels": None},
        {"labels": np.zeros(3, int)},
        {"attr_indices": np.array([0, 1, 2, 0, 99])},
        {"adj_indptr": np.array([0, 1, 2])},
        {"attr_shape": np.array([5, 3])},
        {"adj_shape": np.array([4, 5])},
        {"attr_data": np.array([1, 2, np.nan, 1, 1])},
    ],
)
def test_wrong_content_is_a_value_error(tmp_path, changes):
    with pytest.raises(ValueError):  # noqa: PT011  the messages are those of the part that noticed
        read_benchmark(write(tmp_path / "a.npz", **changes), "photo")


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 cut short"])
def test_not_an_npz_file(tmp_path, content):
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.npz is not a gnn-benchmark file"):
        read_benchmark(tmp_path / "a.npz", "photo")


def test_missing_file_stays_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_benchmark(tmp_path / "a.npz", "photo")


@pytest.mark.parametrize("name", ["computers", "photo"])
def test_amazon_files_are_symmetrised(name, dataset):
    adjacency = dataset(name).graph.adjacency()
    assert (adjacency != adjacency.T).nnz == 0
    assert any("reverse" in note for note in dataset(name).graph.notes)


def test_features_stay_raw(dataset):
    assert dataset("physics").graph.features.max() > 1
    assert set(np.unique(dataset("photo").graph.features.data)) == {1.0}
