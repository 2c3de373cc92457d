"""Whether own features or neighbours say more, without labels."""

import numpy as np
import pytest

from ccassg.datasets import stochastic_block_graph
from ccassg.defaults.agreement import HOPS, agreement, measure_signals


def reference(a, b):
    """The unbiased alignment from n x n kernels, as its authors write it."""

    def centred(x):
        x = x - x.mean(0)
        k = x @ x.T
        np.fill_diagonal(k, 0)
        n, sums = len(k), k.sum(0)
        k = k - sums[:, None] / (n - 2) - sums[None] / (n - 2) + sums.sum() / ((n - 1) * (n - 2))
        np.fill_diagonal(k, 0)
        return k

    k, m = centred(a), centred(b)
    return (k * m).sum() / np.sqrt((k * k).sum() * (m * m).sum())


def test_agreement_equals_the_reference_and_does_not_see_rotation_shift_or_scale():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(60, 5))
    b = a[:, :3] + rng.normal(size=(60, 3))
    assert agreement(a, b) == pytest.approx(reference(a, b), rel=1e-9)
    turn = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    assert agreement(3 * a @ turn + 7, b) == pytest.approx(agreement(a, b), rel=1e-9)
    assert agreement(a, a) == pytest.approx(1)


def test_independent_descriptions_do_not_agree_whatever_their_width():
    rng = np.random.default_rng(0)
    values = [agreement(rng.normal(size=(300, 200)), rng.normal(size=(300, 200))) for _ in range(5)]
    assert abs(np.mean(values)) < 0.01
    assert agreement(np.ones((10, 3)), rng.normal(size=(10, 3))) == 0


@pytest.mark.parametrize("sparse", [False, True])
def test_useless_edges_leave_the_own_features_and_useful_ones_do_not(sparse):
    kind = {"n_features": 100, "feature_noise": 0.7, "sparse_features": sparse, "seed": 0}
    useless = measure_signals(stochastic_block_graph(800, 5, homophily=0.2, **kind).graph)
    useful = measure_signals(stochastic_block_graph(800, 5, homophily=0.9, **kind).graph)
    assert useless.own_share > 0.6 > 0.5 > useful.own_share
    assert useless.n_hops == 0 < useful.n_hops
    assert set(useful.held_out) == set(useful.disjoint) == set(HOPS)


def test_poor_features_are_averaged_farther():
    graph = stochastic_block_graph(1500, 5, homophily=0.9, n_features=64, feature_noise=0.99, seed=1).graph
    assert measure_signals(graph).n_hops == 4


def test_edges_between_unlike_nodes_count_as_information():
    graph = stochastic_block_graph(1500, 2, 10, homophily=0.05, n_features=64, feature_noise=0.95, seed=0).graph
    assert measure_signals(graph).own_share < 0.5


def test_the_same_graph_gives_the_same_signals():
    graph = stochastic_block_graph(200, seed=0).graph
    assert measure_signals(graph) == measure_signals(graph)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [0.0, 1e-30, 1e30])
def test_extreme_features_are_measured_like_others(scale):
    graph = stochastic_block_graph(200, 3, 8, 0.9, 20, seed=0).graph
    found = measure_signals(graph.with_features(graph.features * np.float32(scale)))
    assert np.isfinite([*found.held_out.values(), *found.disjoint.values()]).all()
    if scale:
        assert found.own_share == pytest.approx(measure_signals(graph).own_share, rel=1e-3)
        assert found.n_hops == measure_signals(graph).n_hops
