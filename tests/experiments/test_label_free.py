"""Criteria without labels: what is tried, what is measured, how it is judged."""

import numpy as np
import pytest

from ccassg.criteria import CRITERIA
from ccassg.datasets import stochastic_block_graph
from ccassg.datasets.dataset import random_split
from ccassg.estimator import CCASSG
from ccassg.experiments import EXPERIMENTS, label_free
from ccassg.experiments.label_free import rank_correlation


def test_at_least_sixty_different_settings_per_dataset():
    tried = label_free.settings_tried()
    assert len({str(sorted(given.items())) for given in tried}) == len(tried)
    assert len(tried) * len(label_free.STEPS) >= 60
    assert {given["encoder"] for given in tried} == {"gcn", "mlp"}
    experiment = EXPERIMENTS["label-free"]
    assert len(experiment.datasets) == 7


@pytest.mark.parametrize("encoder", ["gcn", "mlp"])
def test_measuring_leaves_training_as_it_is(encoder):
    data = stochastic_block_graph(120, 3, 6, 0.9, 20, seed=0)
    given = {"encoder": encoder, "hidden_dim": 8, "embedding_dim": 6, "loss_nodes": 60}
    run = {"settings": given, "steps": [2, 5], "probe": {"epochs": 20}, "seed": 0}
    found = label_free.measure(run, data, random_split(data.y, 0))
    assert found["loss"] == pytest.approx(
        CCASSG(**given, n_steps=5, random_state=0).fit(data.graph).history_["loss"], abs=1e-5
    )
    assert [m["steps"] for m in found["measured"]] == [2, 5]
    assert set(found["measured"][0]["criteria"]) == set(CRITERIA)
    assert all(0 <= m["test_accuracy"] <= 1 for m in found["measured"])


def test_rank_correlation():
    assert rank_correlation([1, 2, 3], [10, 20, 30]) == pytest.approx(1)
    assert rank_correlation([3, 2, 1], [10, 20, 1000]) == pytest.approx(-1)
    assert rank_correlation([1, 1, 1], [1, 2, 3]) == 0
    assert rank_correlation(np.array([1, 2, 2, 3]), np.array([1, 2, 3, 4])) == pytest.approx(0.9486833)
