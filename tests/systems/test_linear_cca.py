"""Linear CCA against one of a few lines of NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from ccassg.graph import Graph, as_graph
from ccassg.systems.linear_cca import LinearCCA, canonical_weights


def graph_of(x: NDArray[np.float64]) -> Graph:
    return as_graph(np.array([[0], [1]]), x, n_nodes=len(x))


@pytest.fixture(scope="module")
def x() -> NDArray[np.float64]:
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(120, 3)) * [3, 2, 1]
    return (hidden @ rng.normal(size=(3, 6)) + 0.5 * rng.normal(size=(120, 6)) + 1).astype(np.float32).astype(float)


def inverse_root(c: NDArray[np.float64]) -> NDArray[np.float64]:
    values, vectors = np.linalg.eigh(c)
    return vectors @ np.diag(values**-0.5) @ vectors.T


def plain_cca(views: list[NDArray[np.float64]], shrinkage: float) -> list[NDArray[np.float64]]:
    """Return the weights of both views: whiten each, then take singular vectors of the cross-covariance."""
    x1, x2 = (view - view.mean(0) for view in views)
    n, d = x1.shape
    roots = [inverse_root((1 - shrinkage) * v.T @ v / (n - 1) + shrinkage * np.eye(d)) for v in (x1, x2)]
    u, _, vt = np.linalg.svd(roots[0] @ (x1.T @ x2 / (n - 1)) @ roots[1])
    return [roots[0] @ u, roots[1] @ vt.T]


@pytest.mark.parametrize("shrinkage", [0.0, 0.1, 0.6])
def test_the_canonical_variates_are_those_of_plain_cca(x: NDArray[np.float64], shrinkage: float) -> None:
    model = LinearCCA(embedding_dim=4, feature_mask_rate=0.3, shrinkage=shrinkage, random_state=5)
    z = model.fit_transform(graph_of(x))
    rng = np.random.default_rng(5)
    views = [x * (rng.random(x.shape) >= 0.3) for _ in range(2)]
    w1, w2 = plain_cca(views, shrinkage)
    expected = (x - x.mean(0)) @ ((w1 + w2) / 2)[:, :4]
    assert z.shape == (120, 4)
    signs = np.sign((z * expected).sum(0))  # a pair of variates may be turned
    assert np.allclose(z, expected * signs, atol=1e-4)


def test_sparse_features_give_what_dense_ones_do(x: NDArray[np.float64]) -> None:
    x = x * (np.random.default_rng(1).random(x.shape) < 0.15)
    settings = {"embedding_dim": 3, "random_state": 0}
    expected = LinearCCA(**settings).fit_transform(graph_of(x))
    graph = as_graph(np.array([[0], [1]]), sp.csr_array(x), n_nodes=len(x))
    z = LinearCCA(**settings).fit_transform(graph)
    assert np.allclose(z, expected * np.sign((z * expected).sum(0)), atol=1e-5)


def test_plain_cca_leaves_out_directions_without_variance(x: NDArray[np.float64]) -> None:
    doubled = np.concatenate([x, x], axis=1)
    views = [doubled[:60], doubled[60:]]
    for weights, view in zip(canonical_weights(*views, 12, 0.0), views, strict=True):
        assert weights.shape == (12, 6)
        assert np.allclose(np.cov(view @ weights, rowvar=False), np.eye(6), atol=1e-4)


def test_embeddings_are_centred_on_the_nodes_of_the_training(x: NDArray[np.float64]) -> None:
    model = LinearCCA(embedding_dim=3, random_state=0).fit(graph_of(x))
    assert np.allclose(model.transform(graph_of(x)).mean(0), 0, atol=1e-5)
    first = model.transform(graph_of(x[:10]))
    assert np.allclose(first, model.transform(graph_of(x))[:10], atol=1e-5)


def test_a_column_without_entries_changes_nothing(x: NDArray[np.float64]) -> None:
    wider = np.insert(x, 2, 0, axis=1)
    settings = {"embedding_dim": 3, "random_state": 0}
    z = LinearCCA(**settings).fit_transform(graph_of(x))
    model = LinearCCA(**settings).fit(graph_of(wider))
    assert np.allclose(model.transform(graph_of(wider)), z, atol=1e-5)
    assert (model.weights_[2] == 0).all()


def test_no_more_variates_than_features_and_nodes_allow(x: NDArray[np.float64]) -> None:
    assert LinearCCA(embedding_dim=50, random_state=0).fit_transform(graph_of(x)).shape == (120, 6)
    assert LinearCCA(embedding_dim=50, random_state=0).fit_transform(graph_of(x[:4])).shape == (4, 3)


def test_features_that_hardly_vary_give_fewer_variates_or_a_sentence():
    x = np.random.default_rng(0).normal(size=(30, 4))
    ring = np.stack([np.arange(30), (np.arange(30) + 1) % 30])
    model = LinearCCA(random_state=0)
    assert model.fit_transform(as_graph(ring, x * [1, 1, 1e-22, 1e-22])).shape == (30, 2)
    single = np.zeros((30, 4))
    single[3, 2] = 1e-22
    with pytest.raises(ValueError, match="the features vary too little for linear CCA"):
        model.fit(as_graph(ring, single))
