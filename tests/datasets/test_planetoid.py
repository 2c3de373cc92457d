import os
import pickle
import shutil
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from ccassg.datasets.planetoid import normalize_rows, read_planetoid, unpickle


class Payload:
    """Unpickled by the ordinary reader, this would create a file."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


@pytest.mark.parametrize("wrap", [lambda p: p, lambda p: [1, {"x": p}], lambda p: np.array([p], dtype=object)])
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_payload_is_refused_and_not_run(tmp_path, wrap, protocol):
    marker, path = tmp_path / "ran", tmp_path / "ind.cora.graph"
    path.write_bytes(pickle.dumps(wrap(Payload(marker)), protocol))
    with pytest.raises(ValueError, match=r"ind\.cora\.graph was refused: it names .* has no place in a dataset"):
        unpickle(path)
    assert not marker.exists()
    pickle.loads(pickle.dumps(Payload(marker)))  # the payload does work where nobody refuses it
    assert marker.is_dir()


@pytest.mark.parametrize("name", ["builtins eval", "__builtin__ eval", "numpy load", "os system", "builtins getattr"])
def test_names_outside_the_six_are_refused(tmp_path, name):
    path = tmp_path / "forged"
    path.write_bytes(f"c{name.replace(' ', chr(10))}\n(S'1'\ntR.".encode())
    with pytest.raises(ValueError, match=f"it names {name.replace(' ', '.')}"):
        unpickle(path)


@pytest.mark.parametrize("content", [b"", b"\x80", b"garbage", b"\x80\x02}q\x00(K", b"\x80\x02\x85."])
def test_broken_pickle_is_a_value_error(tmp_path, content):
    path = tmp_path / "broken"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="was refused"):
        unpickle(path)


@pytest.fixture
def citeseer_copy(data_dir, tmp_path):
    source = data_dir / "citeseer"
    if not source.is_dir():
        pytest.skip("the Planetoid files of Citeseer are not here")
    folder = tmp_path / "citeseer"
    folder.mkdir()
    for file in source.iterdir():
        shutil.copyfile(file, folder / file.name)
    return folder


def test_citeseer_nodes_without_label_or_features(citeseer_copy):
    data = read_planetoid(citeseer_copy, "citeseer")
    missing = np.flatnonzero(data.y == -1)
    assert len(missing) == 15
    assert data.graph.features[missing].nnz == 0
    assert data.graph.features.sum(axis=1)[data.y >= 0].min() > 0
    # They do have edges, which are among the 9,104; the 48 isolated nodes are others, all labelled.
    assert np.diff(data.graph.indptr)[missing].tolist().count(1) == 14
    assert data.graph.n_isolated == 48
    assert not np.isin(missing, np.concatenate([data.split().train, data.split().val, data.split().test])).any()


@pytest.mark.parametrize("name", ["citeseer", "pubmed"])
def test_features_are_row_normalised(name, dataset):
    sums = dataset(name).graph.features.sum(axis=1)
    np.testing.assert_allclose(sums[sums > 0], 1, rtol=1e-5)


def test_class_sizes_identify_the_names(dataset):
    citeseer, pubmed = dataset("citeseer"), dataset("pubmed")
    sizes = np.bincount(citeseer.y[citeseer.y >= 0])
    assert dict(zip(citeseer.class_names, sizes.tolist(), strict=True)) == {
        "Agents": 596,
        "AI": 249,
        "DB": 701,
        "IR": 668,
        "ML": 590,
        "HCI": 508,
    }
    assert np.bincount(pubmed.y).tolist() == [4103, 7739, 7875]


def test_files_are_read_without_warnings(citeseer_copy):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_planetoid(citeseer_copy, "citeseer")


def test_files_that_do_not_fit_together(citeseer_copy):
    index = citeseer_copy / "ind.citeseer.test.index"
    index.write_text("\n".join(index.read_text().split()[:-1]))
    with pytest.raises(ValueError, match="do not fit together"):
        read_planetoid(citeseer_copy, "citeseer")


def test_wrong_kind_of_content(citeseer_copy):
    shutil.copyfile(citeseer_copy / "ind.citeseer.graph", citeseer_copy / "ind.citeseer.allx")
    with pytest.raises(ValueError, match="must hold a csr_matrix, got defaultdict"):
        read_planetoid(citeseer_copy, "citeseer")


def test_matrix_with_an_index_out_of_range(citeseer_copy):
    path = citeseer_copy / "ind.citeseer.tx"
    matrix = unpickle(path)
    matrix.indices[0] = 10**6
    # Under the module names of the originals.
    content = pickle.dumps(matrix, 3).replace(b"scipy.sparse._csr", b"scipy.sparse.csr")
    path.write_bytes(content.replace(b"numpy._core.multiarray", b"numpy.core.multiarray"))
    with pytest.raises(ValueError, match="valid sparse matrix"):
        read_planetoid(citeseer_copy, "citeseer")


def test_normalize_rows_by_hand():
    matrix = sp.csr_array(np.array([[1.0, 3.0], [0.0, 0.0], [0.0, 5.0]]))
    expected = np.array([[0.25, 0.75], [0, 0], [0, 1]], np.float32)
    np.testing.assert_array_equal(normalize_rows(matrix).toarray(), expected)
    assert matrix[0, 1] == 3
