"""What is not trained is what SciPy makes of the features, or CCA-SSG's encoder before its first step."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from ccassg import CCASSG
from ccassg.datasets import stochastic_block_graph
from ccassg.graph import Graph
from ccassg.systems.untrained import PropagatedFeatures, RawFeatures, UntrainedGCN


@pytest.fixture(scope="module", params=[False, True], ids=["dense", "sparse"])
def graph(request: pytest.FixtureRequest) -> Graph:
    return stochastic_block_graph(50, 2, 5.0, n_features=9, sparse_features=request.param, seed=3).graph


def features(graph: Graph) -> np.ndarray:
    x: np.ndarray = graph.features.toarray() if sp.issparse(graph.features) else graph.features
    return x


def test_raw_features_are_the_features(graph: Graph) -> None:
    z = RawFeatures().fit_transform(graph)
    assert isinstance(z, np.ndarray)
    assert z.dtype == np.float32
    assert np.array_equal(z, features(graph))


@pytest.mark.parametrize("n_hops", [0, 1, 2, 3])
def test_propagated_features_are_a_power_of_the_adjacency_times_the_features(graph: Graph, n_hops: int) -> None:
    loops = sp.csr_array(graph.adjacency().astype(np.float64) + sp.eye_array(50))
    scale = sp.diags_array(1 / np.sqrt(loops.sum(1)))
    a = scale @ loops @ scale
    expected = features(graph).astype(np.float64)
    for _ in range(n_hops):
        expected = a @ expected
    assert np.allclose(PropagatedFeatures(n_hops=n_hops).fit_transform(graph), expected, atol=1e-5)


@pytest.mark.parametrize("n_layers", [1, 2])
def test_an_untrained_network_is_cca_ssg_before_its_first_step(graph: Graph, n_layers: int) -> None:
    settings = {"n_layers": n_layers, "hidden_dim": 8, "embedding_dim": 5, "random_state": 7}
    z = UntrainedGCN(**settings).fit_transform(graph)
    assert z.shape == (50, 5)
    assert np.array_equal(z, CCASSG(encoder="gcn", **settings, n_steps=0).fit(graph).transform(graph))
    assert not np.allclose(z, CCASSG(encoder="gcn", **settings, n_steps=1).fit(graph).transform(graph), atol=1e-6)
