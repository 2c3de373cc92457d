"""Numeric columns on one scale: by hand, for new nodes, in pieces, and what is refused."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from ccassg.graph import FeatureSpace, scaling
from ccassg.graph.scaling import Scaling, check_scaling
from ccassg.io.graphs import read_graph

ROOT = np.float32(1.5**0.5)


@pytest.fixture
def edges(write):
    return write("edges.csv", "source,target\n0,1\n1,2\n")


def test_a_table_by_hand(edges, write):
    nodes = write("nodes.csv", "id,year,kind,same,share\n0,2000,x,0.1,1\n1,2001,y,0.1,3\n2,2002,x,0.1,3.5\n")
    found = read_graph(edges, nodes, scale=True, keep=["same"])
    assert found.feature_names == ("year", "kind=x", "kind=y", "same", "share")
    assert found.scaling.means == (2001.0, 0.0, 0.0, float(np.float32(0.1)), 2.5)
    assert found.scaling.deviations == pytest.approx(((2 / 3) ** 0.5, 1, 1, 0, (3.5 / 3) ** 0.5), rel=1e-15)
    x = found.graph.features
    assert x.dtype == np.float32
    assert x[:, :4].tolist() == [[-ROOT, 1, 0, 0], [0, 0, 1, 0], [ROOT, 1, 0, 0]]
    np.testing.assert_allclose(x[:, 4], np.array([-1.5, 0.5, 1]) / (3.5 / 3) ** 0.5, rtol=1e-6)
    assert any("columns differ in size" in note for note in found.notes)
    plain = read_graph(edges, nodes, scale=False)
    assert plain.scaling is None
    assert plain.graph.features[:, 0].tolist() == [2000, 2001, 2002]


def test_new_nodes_get_the_numbers_of_training(edges, write):
    known = read_graph(
        edges, write("nodes.csv", "id,year,kind,same\n0,2000,x,5\n1,2001,y,5\n2,2002,x,5\n"), scale=True, keep="same"
    )
    # Columns in another order, one more than in training, and what was constant is not.
    nodes = write("new.csv", "id,kind,other,same,year\n0,y,9,7,2002\n1,y,9,5,2010\n2,x,9,6,2001\n")
    # Without names to go by, the new table is scaled by its own numbers, and that is undone.
    assert read_graph(edges, nodes).scaling not in (None, known.scaling)
    for options in ({}, {"scale": True}, {"scale": False}, {"like": known.feature_names}):
        new = read_graph(edges, nodes, **options)
        x = FeatureSpace.of(known).fit_to(new).features
        np.testing.assert_allclose(x, [[ROOT, 0, 1, 0], [9 * ROOT, 0, 1, 0], [0, 1, 0, 0]], rtol=1e-6, atol=0)
    with pytest.raises(ValueError, match="leave it out, the model knows those of training"):
        read_graph(edges, nodes, like=known.feature_names, scale=True)
    with pytest.raises(ValueError, match="scale must be True, False or None, got 'yes'"):
        read_graph(edges, nodes, scale="yes")


def test_matrices_and_lists(edges, tmp_path):
    raw = np.array([[1.0, 7, 1000], [2, 7, 3000], [3, 7, 2000]])
    expected = [[-ROOT, 0, -ROOT], [0, 0, ROOT], [ROOT, 0, 0]]
    np.save(tmp_path / "x.npy", raw)
    found = read_graph(edges, tmp_path / "x.npy", scale=True)
    assert found.graph.features.tolist() == expected
    assert (np.load(tmp_path / "x.npy") == raw).all()
    np.save(tmp_path / "new.npy", raw[::-1] + np.array([0, 1, 0]))
    new = read_graph(edges, tmp_path / "new.npy")
    assert FeatureSpace.of(found).fit_to(new).features.tolist() == expected[::-1]
    np.save(tmp_path / "narrow.npy", raw[:, :2])
    with pytest.raises(ValueError, match="X has 2 features, but the model is expecting 3 features"):
        FeatureSpace.of(found).fit_to(read_graph(edges, tmp_path / "narrow.npy"))
    pq.write_table(pa.table({"id": [0, 1, 2], "v": raw.tolist()}), tmp_path / "x.parquet")
    listed = read_graph(edges, tmp_path / "x.parquet", scale=True)
    assert listed.graph.features.tolist() == expected
    assert listed.scaling == found.scaling


def test_matrices_of_very_different_columns_are_scaled_unless_told_otherwise(edges, tmp_path):
    raw = np.array([[1.0, 7, 1000], [2, 7, 3000], [3, 7, 2000]])
    np.save(tmp_path / "x.npy", raw)
    np.savez(tmp_path / "x.npz", raw)
    for name in ("x.npy", "x.npz"):
        found = read_graph(edges, tmp_path / name)
        assert found.graph.features.tolist() == [[-ROOT, 0, -ROOT], [0, 0, ROOT], [ROOT, 0, 0]]
        assert found.notes[0] == (
            f"{tmp_path / name}: columns differ in size up to 1,000 times ('column 3', 'column 1'): those of numbers were "
            f"brought to mean 0 and deviation 1; `scale=False` keeps them as they are"
        )
        kept = read_graph(edges, tmp_path / name, scale=False)
        assert kept.graph.features.tolist() == raw.tolist()
        assert (kept.scaling, kept.notes) == (None, found.notes[1:])
    np.save(tmp_path / "even.npy", raw[:, :2] * 1000)
    sp.save_npz(tmp_path / "sparse.npz", sp.csr_array(raw))
    for name in ("even.npy", "sparse.npz"):
        same = read_graph(edges, tmp_path / name)
        assert (same.scaling, same.notes) == (None, found.notes[1:])


@pytest.mark.parametrize("scale", [None, False])
def test_a_model_on_the_files_scale_undoes_that_of_new_nodes(edges, tmp_path, scale):
    np.save(tmp_path / "x.npy", [[1.0, 7], [2, 7], [3, 8]])
    known = read_graph(edges, tmp_path / "x.npy")
    assert known.scaling is None
    raw = np.array([[1, 7000], [0.3, 5001], [3, 1]], np.float32)
    np.save(tmp_path / "new.npy", raw)
    new = read_graph(edges, tmp_path / "new.npy", scale=scale)
    assert (new.scaling is None) is (scale is False)
    np.testing.assert_allclose(FeatureSpace.of(known).fit_to(new).features, raw, rtol=1e-3 if scale is None else 0)


def test_sparse_matrices_and_features_made_from_edges_stay(edges, tmp_path):
    sp.save_npz(tmp_path / "x.npz", sp.csr_array(np.diag([1.0, 2, 3])))
    found = read_graph(edges, tmp_path / "x.npz", scale=True)
    assert found.scaling is None
    assert sp.issparse(found.graph.features)
    assert found.graph.features.diagonal().tolist() == [1, 2, 3]
    assert f"{tmp_path / 'x.npz'} is sparse and stays as it is; `scale` is for dense columns" in found.notes
    bare = read_graph(edges, scale=True, n_components=0)
    assert bare.scaling is None
    assert (bare.graph.features == read_graph(edges, n_components=0).graph.features).all()


def test_numbers_beside_many_categories_are_scaled_in_a_sparse_matrix(write):
    n = 200
    edges = write("e.csv", "source,target\n" + "".join(f"{i},{i + 1}\n" for i in range(n - 1)))
    nodes = write("n.csv", "id,year,kind\n" + "".join(f"{i},{1900 + i // 2},k{i % 90}\n" for i in range(n)))
    found = read_graph(edges, nodes)
    assert found.scaling == read_graph(edges, nodes, scale=True).scaling
    x = found.graph.features
    assert sp.issparse(x)
    years = np.arange(n) // 2 + 1900
    np.testing.assert_allclose(x[:, [0]].toarray().ravel(), (years - years.mean()) / years.std(), rtol=1e-5)
    assert (x[:, 1:].sum(axis=1) == 1).all()
    again = FeatureSpace.of(found).fit_to(read_graph(edges, nodes, like=found.feature_names)).features
    assert (again != x).nnz == 0
    # From its own scale to another, and to none.
    raw = read_graph(edges, nodes, scale=False)
    other = found.scaling._replace(means=(1925.0, *found.scaling.means[1:]), deviations=(2.0,) + (1.0,) * 90)
    for scaled, year in ((other, 0), (None, 1925)):
        space = FeatureSpace(91, found.feature_names, scaled)
        again, expected = (space.fit_to(data).features for data in (found, raw))
        assert sp.issparse(again)
        assert (again != expected).nnz == 0
        assert again[51, 0] == year


def test_pieces_give_what_the_whole_gives():
    matrix = (np.random.default_rng(0).normal(size=(501, 3)) * [1, 1e3, 1e-3] + [0, 1e5, 1]).astype(np.float32)
    matrix[:, 1] = 0.1
    dense = matrix.astype(np.float64)
    means, deviations = scaling.means_and_deviations(matrix, piece=100)
    np.testing.assert_allclose(means, dense.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(deviations[[0, 2]], dense.std(axis=0)[[0, 2]], rtol=1e-12)
    assert (means[1], deviations[1]) == (matrix[0, 1], 0)
    scaling.scale_columns(matrix, means, deviations, piece=100)
    assert (matrix[:, 1] == 0).all()
    np.testing.assert_allclose(matrix[:, [0, 2]].std(axis=0), 1, rtol=1e-5)
    scaling.unscale_columns(matrix, means, deviations, piece=100)
    assert (matrix[:, 1] == np.float32(0.1)).all()
    np.testing.assert_allclose(matrix, dense, rtol=1e-5, atol=1e-7)


def test_sizes_by_hand_and_in_pieces():
    matrix = np.array([[3, 0, 1, 0], [4, 0, 0, -2], [0, 0, 0, 2]], np.float32)
    expected = [12.5**0.5, 0, 1, 2]
    assert scaling.column_sizes(matrix).tolist() == expected
    assert scaling.column_sizes(matrix, piece=4).tolist() == expected
    assert scaling.column_sizes(np.full((2, 1), 3e38, np.float32)) == pytest.approx(3e38)
    assert scaling.column_sizes(matrix[:0]).tolist() == [0, 0, 0, 0]


def test_principal_components_are_known_by_their_means_and_order():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 6)) * [1, 9, 2, 30, 5, 1] + 3
    left, values, _ = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    components = (left * values).astype(np.float32)
    assert scaling.are_components(components)
    assert not scaling.are_components(components[:, :2])
    assert not scaling.are_components(components[:, ::-1])
    assert not scaling.are_components(components[:200])
    assert scaling.are_components(np.hstack([components, np.zeros((300, 2))]).astype(np.float32))  # no rank for more
    assert not scaling.are_components(x.astype(np.float32))


def test_a_scaling_survives_json():
    found = Scaling((0.1, 2004.3), (1 / 3, 0.0))
    assert check_scaling(json.loads(json.dumps(found._asdict())), 2) == found
    assert check_scaling(None, 2) is None


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ([1], "two lists"),
        ({}, "two lists"),
        ({"means": [0], "deviations": "1"}, "two lists"),
        ({"means": [0], "deviations": [1]}, "2 means, one per feature, got 1"),
        ({"means": [0, 0], "deviations": [1]}, "2 deviations, one per feature, got 1"),
        ({"means": [0, float("nan")], "deviations": [1, 1]}, "finite numbers, got 'nan' among its means"),
        ({"means": [0, 0], "deviations": [1, float("inf")]}, "finite numbers, got 'inf' among its deviations"),
        ({"means": [0, 10**400], "deviations": [1, 1]}, "finite numbers"),
        ({"means": [0, "1"], "deviations": [1, 1]}, "finite numbers, got '1'"),
        ({"means": [0, True], "deviations": [1, 1]}, "finite numbers, got 'True'"),
        ({"means": [0, 0], "deviations": [1, -1]}, "no negative deviation, got -1"),
    ],
)
def test_forged_scalings_get_their_sentence(value, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_scaling(value, 2)


def test_the_limits_of_what_looks_like_components():
    pairs = np.array([[1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]).T
    assert scaling.are_components((pairs * [4, 2, 1]).astype(np.float32))
    assert scaling.are_components((pairs * [2, 2, 2]).astype(np.float32))
    assert not scaling.are_components((pairs[:, :2] * [4, 2]).astype(np.float32))
    assert not scaling.are_components((pairs * [4, 1, 2]).astype(np.float32))
    for shift, centred in ((0.9e-4, True), (1.1e-4, False)):
        assert scaling.are_components((pairs * [4, 2, 1] + [0, 0, shift]).astype(np.float32)) is centred
        grown = (pairs * [4, 1, 1 + shift]).astype(np.float32)
        assert scaling.are_components(grown) is centred


def test_scales_of_no_rows_and_of_constant_columns():
    means, deviations = scaling.means_and_deviations(np.zeros((0, 2), np.float32))
    assert (means.tolist(), deviations.tolist()) == ([0, 0], [0, 0])
    matrix = np.array([[1, 5], [3, 5]], np.float32)
    means, deviations = scaling.means_and_deviations(matrix)
    assert (means.tolist(), deviations.tolist()) == ([2, 5], [1, 0])
    scaling.scale_columns(matrix, means, deviations)
    assert matrix.tolist() == [[-1, 0], [1, 0]]
    scaling.unscale_columns(matrix, means, deviations)
    assert matrix.tolist() == [[1, 5], [3, 5]]
    assert scaling.column_sizes(np.zeros((3, 0), np.float32)).shape == (0,)


def test_the_limits_of_scalings_in_files():
    most = 1.7976931348623157e308
    assert check_scaling({"means": [-most, 0], "deviations": [0, most]}) == Scaling((-most, 0.0), (0.0, most))
    assert check_scaling({"means": [], "deviations": []}, 0) == Scaling((), ())
    with pytest.raises(ValueError, match="scaling must hold 1 deviations, one per feature, got 2"):
        check_scaling({"means": [0], "deviations": [1, 1]})
    with pytest.raises(ValueError, match=f"got '{'9' * 40}'"):
        check_scaling({"means": ["9" * 99], "deviations": [1]})
