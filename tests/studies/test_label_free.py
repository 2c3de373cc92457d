"""Criteria without labels: what is tried, what is measured, how it is judged."""

import numpy as np
import pytest

from ccassg.datasets import stochastic_block_graph
from ccassg.estimator import CCASSG
from studies import label_free
from studies.criteria import CRITERIA
from studies.label_free import combined_regret, rank_correlation


def test_at_least_sixty_different_settings_per_dataset():
    tried = label_free.settings_tried()
    assert len({str(sorted(given.items())) for given in tried}) == len(tried)
    assert len(tried) * len(label_free.STEPS) >= 60
    assert {given["encoder"] for given in tried} == {"gcn", "mlp"}
    assert len(label_free.STUDY.datasets) == 7


@pytest.mark.parametrize("encoder", ["gcn", "mlp"])
def test_measuring_leaves_training_as_it_is(encoder):
    data = stochastic_block_graph(120, 3, 6, 0.9, 20, seed=0)
    given = {"encoder": encoder, "hidden_dim": 8, "embedding_dim": 6, "loss_nodes": 60}
    run = {"settings": given, "steps": [2, 5], "probe": {"epochs": 20}, "seed": 0}
    found = label_free.judge_along_training(run | {"splits": [{"kind": "random", "seed": 0}]}, data)
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


def measured(accuracy, **values):
    return {"test_accuracy": accuracy, "criteria": values}


def test_regret_of_a_sum_of_ranks():
    points = [
        measured(0.9, smoothness=2.0, uniformity=-2.0),
        measured(0.5, smoothness=3.0, uniformity=-1.0),
        measured(0.2, smoothness=1.0, uniformity=-3.0),
    ]
    assert combined_regret(("smoothness",), points) == pytest.approx(40)  # the second is smoothest
    assert combined_regret(("uniformity",), points) == pytest.approx(70)  # lower is meant to be better: the third
    # Ranks add up to 4 for all three: the mean of what each would lose.
    assert combined_regret(("smoothness", "uniformity"), points) == pytest.approx((0 + 40 + 70) / 3)


def test_what_is_chosen_elsewhere_does_not_see_the_dataset():
    good = [measured(0.9, **dict.fromkeys(CRITERIA, 0.0)) for _ in range(3)]
    for i, point in enumerate(good):
        point["test_accuracy"] = 0.3 * (i + 1)
        point["criteria"] = {name: sign * i for name, sign in CRITERIA.items()}
    # On one dataset smoothness alone points the wrong way; elsewhere all criteria find the best setting.
    odd = [dict(point, criteria=dict(point["criteria"], smoothness=-i)) for i, point in enumerate(good)]
    one, *_ = label_free._chosen_elsewhere({"cora": good, "citeseer": good, "pubmed": odd})
    assert (one["Cora"], one["Citeseer"]) == (0, 0)
    assert one["mean"] == pytest.approx(one["Pubmed"] / 3, abs=0.1)
    assert label_free._chosen_elsewhere({"cora": good, "citeseer": good}) == []
