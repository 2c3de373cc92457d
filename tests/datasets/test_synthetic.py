import numpy as np
import pytest
import scipy.sparse as sp

from ccassg.datasets import stochastic_block_graph


def share_within(data):
    graph = data.graph
    rows = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    return (data.y[rows] == data.y[graph.indices]).mean()


def nearest_centre_accuracy(data):
    """Classify the second half of the nodes by the class means of the first."""
    x = data.graph.features
    x = x.toarray() if sp.issparse(x) else x
    half = len(x) // 2
    centres = np.stack([x[:half][data.y[:half] == c].mean(0) for c in range(data.n_classes)])
    distances = ((x[half:, None] - centres) ** 2).sum(2)
    return (distances.argmin(1) == data.y[half:]).mean()


@pytest.mark.parametrize("homophily", [0.0, 0.2, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("mean_degree", [1.0, 7.5, 30.0])
def test_degree_and_homophily_are_what_was_asked(homophily, mean_degree):
    data = stochastic_block_graph(1000, 5, mean_degree, homophily, 8, 0.5, seed=1)
    assert data.graph.n_edges / 1000 == pytest.approx(mean_degree, abs=0.002)
    assert share_within(data) == pytest.approx(homophily, abs=0.002)


def test_degrees_spread_as_in_a_random_graph():
    degrees = np.diff(stochastic_block_graph(20_000, 4, 10, 0.7, 1, 1.0).graph.indptr)
    assert degrees.var() == pytest.approx(10, rel=0.1)  # Poisson


def test_chance_homophily_spreads_edges_evenly_over_classes():
    data = stochastic_block_graph(3000, 3, 40, 1 / 3, 1, 1.0)
    rows = np.repeat(np.arange(3000), np.diff(data.graph.indptr))
    pairs = np.bincount(3 * data.y[rows] + data.y[data.graph.indices], minlength=9)
    np.testing.assert_allclose(pairs / pairs.sum(), 1 / 9, rtol=0.03)


def test_graph_is_simple_and_undirected():
    data = stochastic_block_graph(60, 3, 25, 0.6, 4, 0.5)
    adjacency = data.graph.adjacency()
    assert (adjacency != adjacency.T).nnz == 0
    assert adjacency.diagonal().sum() == 0
    assert data.graph.weights is None
    assert data.graph.notes == ()


def test_every_possible_edge():
    data = stochastic_block_graph(40, 2, 19, 1.0, 4, 0.5)
    same = data.y[:, None] == data.y
    np.testing.assert_array_equal(data.graph.adjacency().toarray(), same & ~np.eye(40, dtype=bool))


def test_classes_are_of_equal_size_and_in_no_order():
    data = stochastic_block_graph(1001, 4, 5, 0.5, 4, 0.5)
    assert sorted(np.bincount(data.y).tolist()) == [250, 250, 250, 251]
    assert abs(np.corrcoef(data.y[:-1], data.y[1:])[0, 1]) < 0.1


@pytest.mark.parametrize("sparse_features", [False, True])
def test_features_range_from_clear_to_useless(sparse_features):
    def draw(noise):
        return stochastic_block_graph(
            2000, 4, 5, 0.5, 32, noise, sparse_features=sparse_features, words_per_node=8, seed=2
        )

    accuracies = [nearest_centre_accuracy(draw(noise)) for noise in (0.0, 0.8, 1.0)]
    assert accuracies[0] == 1
    assert 0.3 < accuracies[1] < 1
    assert accuracies[2] == pytest.approx(0.25, abs=0.05)


def test_noiseless_features_depend_on_the_class_alone():
    dense = stochastic_block_graph(100, 3, 5, 0.5, 6, 0.0)
    for c in range(3):
        assert len(np.unique(dense.graph.features[dense.y == c], axis=0)) == 1
    sparse = stochastic_block_graph(100, 3, 5, 0.5, 7, 0.0, sparse_features=True)
    rows = np.repeat(np.arange(100), np.diff(sparse.graph.features.indptr))
    np.testing.assert_array_equal(sparse.graph.features.indices % 3, sparse.y[rows])
    assert set(sparse.graph.features.indices.tolist()) == set(range(7))


def test_forms_of_the_features():
    dense = stochastic_block_graph(500, 3, 5, 0.5, 16, 0.5).graph.features
    assert dense.shape == (500, 16)
    assert dense.dtype == np.float32
    assert dense.var() == pytest.approx(1, abs=0.3)
    data = stochastic_block_graph(500, 3, 5, 0.5, 100, 0.5, sparse_features=True, words_per_node=10)
    assert sp.issparse(data.graph.features)
    assert set(data.graph.features.data.tolist()) == {1.0}
    counts = np.diff(data.graph.features.indptr)
    assert 1 <= counts.min() <= counts.max() <= 10


@pytest.mark.parametrize("sparse_features", [False, True])
def test_seed_decides_everything(sparse_features):
    def draw(seed):
        data = stochastic_block_graph(300, 3, 6, 0.7, 9, 0.5, seed=seed, sparse_features=sparse_features)
        features = data.graph.features
        return data.graph.indices, data.y, features.toarray() if sparse_features else features

    np.random.seed(0)  # noqa: NPY002  the global generator must not matter
    first = draw(5)
    np.random.seed(1)  # noqa: NPY002
    for a, b, c in zip(first, draw(5), draw(6), strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)


def test_splits_are_random_ones():
    data = stochastic_block_graph(1000, 3, 6)
    assert [len(part) for part in (data.split(0).train, data.split(0).val, data.split(0).test)] == [100, 100, 800]
    assert not np.array_equal(data.split(0).train, data.split(1).train)
    assert data.class_names == ("block 0", "block 1", "block 2")


def test_one_class_and_no_edges():
    data = stochastic_block_graph(10, 1, 0, 1.0, 2, 0.5)
    assert data.graph.n_edges == 0
    assert (data.y == 0).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_classes": 0}, "n_classes must be between 1 and n_nodes, got 0"),
        ({"n_nodes": 3}, "got 5 for 3 nodes"),
        ({"mean_degree": -1}, r"mean_degree must be in \[0, n_nodes\), got -1"),
        ({"mean_degree": float("nan")}, "mean_degree must be"),
        ({"homophily": 1.1}, r"homophily must be in \[0, 1\], got 1.1"),
        ({"feature_noise": -0.1}, r"feature_noise must be in \[0, 1\], got -0.1"),
        ({"n_features": 0}, "n_features and words_per_node must be at least 1"),
        ({"mean_degree": 400, "homophily": 1.0}, "ask for 200,000 edges within classes, but there are only 99,500"),
        ({"n_classes": 1, "homophily": 0.5}, "between classes, but there are only 0"),
        ({"n_features": 3, "sparse_features": True}, "need a column per class"),
    ],
)
def test_bad_arguments_name_the_value(arguments, message):
    with pytest.raises(ValueError, match=message):
        stochastic_block_graph(**({"n_nodes": 1000} | arguments))
