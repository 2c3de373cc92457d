"""Nearest nodes: blocks and cells against the whole matrix."""

import numpy as np
import pytest
from sklearn.cluster import MiniBatchKMeans
from threadpoolctl import threadpool_limits

from ccassg import most_similar
from ccassg.evaluate.neighbours import likely_neighbours, nearest, unit_rows

RNG = np.random.default_rng(0)
Z = RNG.standard_normal((300, 8)).astype(np.float32)


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(limits=1):
        yield


def reference(z, query, k, metric):
    z = z.astype(np.float64)
    if metric == "cosine":
        z = z / np.linalg.norm(z, axis=1, keepdims=True)
    scores = -np.linalg.norm(z - z[query], axis=1) if metric == "euclidean" else z @ z[query]
    scores[query] = -np.inf
    order = np.argsort(-scores, kind="stable")[:k]
    return order, np.abs(scores[order]) if metric == "euclidean" else scores[order]


def check(search, metric):
    queries = np.array([0, 5, 299])
    order, scores = search(queries)
    assert order.shape == scores.shape == (3, 6)
    for row, query in enumerate(queries):
        expected, values = reference(Z, query, 6, metric)
        assert order[row].tolist() == expected.tolist()
        if metric == "euclidean":
            values = -(values**2)
        np.testing.assert_allclose(scores[row], values, atol=1e-5)


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
@pytest.mark.parametrize("block", [(256, 16_384), (2, 7), (1, 1)])
def test_blocks_agree_with_the_whole_matrix(metric, block):
    check(lambda nodes: nearest(Z[nodes], Z, 6, metric, itself=nodes, block=block), metric)


def test_distances_and_a_far_origin():
    order, scores = most_similar(Z + 1000, [7], 3, "euclidean")
    apart = Z + np.resize([1e3, -1e3], Z.shape[1]).astype(np.float32)  # columns have centres of their own
    assert most_similar(apart, [7], 3, "euclidean")[0].tolist() == most_similar(Z, [7], 3, "euclidean")[0].tolist()
    expected, values = reference((Z + 1000).astype(np.float64), 7, 3, "euclidean")
    assert order[0].tolist() == expected.tolist()
    np.testing.assert_allclose(scores[0], values, rtol=1e-4)


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
@pytest.mark.parametrize("block", [(256, 16_384), (5, 7)])
def test_equally_near_rows_come_in_their_order(metric, block):
    z = np.random.default_rng(1).integers(-1, 2, size=(60, 3)).astype(np.float64)
    if metric == "cosine":
        z = z[:, :1]  # cosines of -1, 0 and 1 only, without rounding
    order, scores = nearest(z, z, 9, metric, itself=np.arange(60), block=block)
    for i in range(60):
        if metric == "euclidean":
            exact = -((z - z[i]) ** 2).sum(1)
        else:
            exact = z @ z[i]
        exact[i] = -np.inf
        expected = np.argsort(-exact, kind="stable")[:9]
        assert order[i].tolist() == expected.tolist()
        assert scores[i].tolist() == exact[expected].tolist()


def test_one_query_equal_rows_and_zeros():
    z = np.array([[1, 0], [1, 0], [0, 1], [0, 0], [1, 0]], np.float32)
    order, scores = most_similar(z, 1, 3)
    assert order.tolist() == [0, 4, 2]
    assert scores.tolist() == [1, 1, 0]


def test_rounding_leaves_no_cosine_above_one():
    rows = np.vstack([Z, 3 * Z, -Z])
    unit = unit_rows(rows)
    assert (unit * unit).sum(1).max() > 1
    _, scores = nearest(rows, rows, len(rows))
    assert scores.max() == 1
    assert scores.min() == -1


def test_two_rows_have_each_other():
    order, scores = most_similar([[3, 4], [4, 3]], [0, 1])
    assert order.tolist() == [[1], [0]]
    np.testing.assert_allclose(scores, [[0.96], [0.96]], rtol=1e-6)


def test_a_table_of_others_is_searched_whole():
    order, _ = nearest(Z[:4], Z[:4], 9)
    assert order.shape == (4, 4)
    assert order[:, 0].tolist() == [0, 1, 2, 3]


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_values_beyond_the_range_of_single_precision_still_give_k_rows():
    z = np.array([[1e30, -1e30], [1e30, 1e30], [1, 2], [-1e30, 1e30]], np.float32)
    for metric in ("dot", "euclidean"):
        order, _ = nearest(z, z, 3, metric, itself=np.arange(4))
        assert [len(set(row)) for row in order.tolist()] == [3] * 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unit_rows(dtype):
    scale = np.array([[1.0], [0.0], [np.finfo(dtype).max / 8], [np.finfo(dtype).tiny * 64]])
    found = unit_rows((scale * [3, -4]).astype(dtype))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, [[0.6, -0.8], [0, 0], [0.6, -0.8], [0.6, -0.8]], rtol=1e-6)


@pytest.mark.parametrize("ids", [[f"u{i}" for i in range(300)], np.arange(300) + 1000, list(range(1000, 1300))])
def test_nodes_are_asked_for_by_their_ids(ids):
    for rows in (7, [7], [299, 0]):
        names = ids[rows] if rows == 7 else [ids[row] for row in rows]
        for found, expected in zip(most_similar(Z, names, 4, ids=ids), most_similar(Z, rows, 4), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_ids_that_are_not_there_or_too_few_are_named():
    with pytest.raises(ValueError, match=r"^ids has no 'u0012', only such as 'u1'$"):
        most_similar(Z[:2], ["u1", "u0012"], ids=["u1", "u2"])
    with pytest.raises(ValueError, match=r"^ids must hold one name per row of z, shape \(2,\), got \(3,\)$"):
        most_similar(Z[:2], "u1", ids=["u1", "u2", "u3"])


def test_k_is_cut_and_arguments_checked():
    assert most_similar(Z, 3, 10**6)[0].shape == (299,)
    for arguments, sentence in [
        ((Z, 300, 1), r"in 0 \.\. 299, got 300"),
        ((Z, -1, 1), "got -1"),
        ((Z, 0.5, 1), "row numbers"),
        ((Z, 0, 0), "k must be an integer, at least 1, got 0"),
        ((Z, 0, 1, "jaccard"), "metric must be"),
        ((Z[:1], 0, 1), "at least two rows"),
        ((np.full((3, 2), np.nan), 0, 1), "embeddings must be finite"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            most_similar(*arguments)


def test_all_nodes_of_few_and_of_extreme_scales():
    index, similarity = nearest(np.ones((1, 3)), np.ones((1, 3)), 10, itself=np.arange(1))
    assert index.shape == similarity.shape == (1, 0)
    z = np.array([[1e30, 0], [1e30, 1e30], [1e-30, 0]], dtype=np.float32)
    index, similarity = nearest(z, z, 10, itself=np.arange(3))
    assert index[0].tolist() == [2, 1]
    assert similarity[0] == pytest.approx([1, np.sqrt(0.5)])


def test_likely_neighbours_are_nearly_all_of_the_nearest():
    rng = np.random.default_rng(0)
    z = (5 * rng.normal(size=(6, 24))[np.arange(900) % 6] + rng.normal(size=(900, 24))).astype(np.float32)
    exact, _ = nearest(z, z, 10, itself=np.arange(900))
    found, similarity = likely_neighbours(z, 10, n_probes=10)
    recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found, exact, strict=True)])
    assert recall > 0.9
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    np.testing.assert_allclose(similarity, np.take_along_axis(unit @ unit.T, found, axis=1), atol=1e-5)
    assert (np.diff(similarity, axis=1) <= 0).all()
    assert (found != np.arange(900)[:, None]).all()
    everywhere, _ = likely_neighbours(z, 10, n_probes=30)  # all cells: nothing can be missed
    np.testing.assert_array_equal(np.sort(everywhere, axis=1), np.sort(exact, axis=1))


def test_likely_neighbours_in_a_crowd_of_equal_rows_and_of_lonely_ones():
    index, similarity = likely_neighbours(np.ones((300, 4), np.float32), 10, max_cell=20)
    assert similarity == pytest.approx(1)
    assert (index != np.arange(300)[:, None]).all()
    index, _ = likely_neighbours(np.eye(4, dtype=np.float32), k=10)
    assert sorted(set(index[0])) == [0, 1, 2, 3]
    assert (index[:, 3:] == np.arange(4)[:, None]).all()  # only three others exist


def by_cells(z, k, n_probes, max_cell=4096, n_fitted=10_000):
    """The search as its docstring says it, one row after the other."""
    n, rng = len(z), np.random.default_rng(0)
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    seen = unit[np.sort(rng.choice(n, n_fitted, replace=False))] if n > n_fitted else unit
    n_cells = min(int(n**0.5), len(seen))
    cells = MiniBatchKMeans(n_cells, batch_size=4096, max_iter=10, n_init=1, random_state=0).fit(seen)
    centres = unit_rows(cells.cluster_centers_[np.unique(cells.labels_)])
    order = np.argsort(-(unit @ centres.T), axis=1, kind="stable")[:, :n_probes]
    members = [np.flatnonzero(order[:, 0] == cell) for cell in range(len(centres))]
    members = [np.sort(rng.choice(m, max_cell, replace=False)) if len(m) > max_cell else m for m in members]
    index, similarity = np.repeat(np.arange(n)[:, None], k, 1), np.full((n, k), -1.0)
    for row in range(n):
        met = np.setdiff1d(np.concatenate([members[cell] for cell in order[row]]), [row])
        scores = unit[met] @ unit[row]
        best = np.argsort(-scores, kind="stable")[:k]
        index[row, : len(best)], similarity[row, : len(best)] = met[best], scores[best]
    return index, similarity


@pytest.mark.parametrize(
    ("dim", "given", "n_probes"),
    [
        (24, {}, 16),
        (24, {"n_probes": 2}, 2),
        (24, {"n_probes": 1, "n_fitted": 100}, 1),
        (24, {"n_probes": 3, "n_fitted": 12}, 3),
        (24, {"n_probes": 4, "max_cell": 9}, 4),
        (909, {}, 11),
        (3000, {}, 4),
    ],
)
def test_likely_neighbours_are_those_of_the_cells_nearest_to_each(dim, given, n_probes):
    z = np.random.default_rng(3).normal(size=(400, dim)) + np.eye(7, dim)[np.arange(400) % 7]
    index, similarity = likely_neighbours(z, 5, **given)
    limits = {key: value for key, value in given.items() if key != "n_probes"}
    expected, values = by_cells(z, 5, n_probes, **limits)
    np.testing.assert_array_equal(index, expected)
    np.testing.assert_allclose(similarity, values, atol=1e-12)


def test_ten_neighbours_by_cosine_unless_said_otherwise():
    assert most_similar(Z, 3)[0].tolist() == reference(Z, 3, 10, "cosine")[0].tolist()
    assert nearest(Z[:1], Z, 4)[0].tolist() == [[0, *reference(Z, 0, 3, "cosine")[0]]]
    assert most_similar(Z[:2], 0, 1)[0].tolist() == [1]
    assert most_similar(Z, 299)[0].tolist() == reference(Z, 299, 10, "cosine")[0].tolist()
    order, scores = most_similar(Z, np.zeros(0, int))
    assert order.shape == scores.shape == (0, 10)
    with pytest.raises(ValueError, match="row numbers"):
        most_similar(Z, [[1, 2]])


def test_cells_are_made_of_ten_thousand_rows():
    z = np.random.default_rng(0).normal(size=(10_001, 2))
    found, same, other = (
        likely_neighbours(z, 5, n_probes=1, **given)[0] for given in ({}, {"n_fitted": 10_000}, {"n_fitted": 10_001})
    )
    assert np.array_equal(found, same)
    assert not np.array_equal(found, other)
