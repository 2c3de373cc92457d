"""Criteria without labels."""

import numpy as np
import pytest

from ccassg import CCASSG
from ccassg.datasets import stochastic_block_graph
from studies import criteria


@pytest.mark.parametrize("encoder", ["gcn", "mlp"])
def test_every_criterion_has_a_direction_and_a_finite_value(encoder):
    graph = stochastic_block_graph(100, 3, 6, 0.9, 16, seed=0).graph
    model = CCASSG(encoder=encoder, n_steps=2, hidden_dim=8, embedding_dim=6, random_state=0).fit(graph)
    before = model.transform(graph)
    found = criteria.criteria_of(model.encoder_, graph)
    assert set(found) | {"loss", "invariance", "decorrelation"} == set(criteria.CRITERIA)
    assert np.isfinite(list(found.values())).all()
    assert found == criteria.criteria_of(model.encoder_, graph)
    assert np.array_equal(model.transform(graph), before)


def test_smoothness_is_one_for_equal_neighbours_and_none_without_edges():
    graph = stochastic_block_graph(60, 2, 4, 1.0, 4, seed=0)
    assert criteria.smoothness(graph.y[:, None].astype(float), graph.graph) == pytest.approx(1)
    rng = np.random.default_rng(0)
    assert abs(criteria.smoothness(rng.normal(size=(60, 200)), graph.graph)) < 0.05


def test_views_apart_agree_more_where_there_is_something_to_agree_on():
    made = {}
    for noise in (0.3, 1.0):
        graph = stochastic_block_graph(300, 3, 8, 0.9, 30, noise, seed=0).graph
        model = CCASSG(encoder="mlp", n_steps=5, hidden_dim=16, embedding_dim=8, random_state=0).fit(graph)
        made[noise] = criteria.criteria_of(model.encoder_, graph)["agreement"]
    assert made[0.3] > made[1.0] + 0.1


def test_alignment_by_hand_and_free_of_scale():
    a, b = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[0.0, 5.0], [0.0, 3.0]])
    assert criteria.alignment(a, b) == pytest.approx((2 + 0) / 2)
    assert criteria.alignment(3 * a, b) == pytest.approx(criteria.alignment(b, a))
    assert criteria.alignment(a, a) == criteria.alignment(np.zeros((2, 2)), np.zeros((2, 2))) == 0
