"""NumPy archives of whole graphs, as gnn-benchmark, PyG and others publish them, and SciPy matrices as adjacencies."""

import numpy as np
import pytest
import scipy.sparse as sp

from ccassg import load_dataset
from ccassg.io.graphs import read_graph

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
def test_bad_files_get_their_sentence(tmp_path, arrays, options, sentence):
    np.savez(tmp_path / "g.npz", **arrays)
    with pytest.raises(ValueError, match=sentence) as caught:
        read_graph(tmp_path / "g.npz", **options)
    assert "g.npz" in str(caught.value)
