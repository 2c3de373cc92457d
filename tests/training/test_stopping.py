"""The loss alone says when to stop."""

import numpy as np
import pytest

from ccassg import CCASSG
from ccassg.datasets import stochastic_block_graph
from ccassg.training.stopping import is_flat, stop_step


def test_a_curve_is_flat_once_its_steps_bring_less_than_a_twentieth():
    falling = [100.0 - i for i in range(40)]
    assert not is_flat(falling)
    assert not is_flat([1.0] * 19)
    assert is_flat(falling + [60.0] * 11)
    assert stop_step(falling) == 40
    assert 40 < stop_step(falling + [60.0] * 30) <= 51


def test_noise_does_not_decide():
    rng = np.random.default_rng(0)
    falling = 100 * np.exp(-np.arange(200) / 20)
    assert stop_step(list(falling)) == pytest.approx(stop_step(list(falling + rng.normal(size=200))), abs=15)


def test_training_stops_there_and_resumes_to_the_same_bits(tmp_path):
    graph = stochastic_block_graph(100, 3, 6, 0.9, 10, seed=0).graph
    given = {"encoder": "gcn", "hidden_dim": 8, "embedding_dim": 4, "learning_rate": 0.05, "random_state": 0}
    whole = CCASSG(n_steps=300, **given).fit(graph)
    expected = stop_step(whole.history_["loss"])
    assert 20 <= expected < 300
    stopped = CCASSG(n_steps=300, early_stopping=True, **given).fit(graph, checkpoint=tmp_path / "run.safetensors")
    assert len(stopped.history_["loss"]) == expected
    assert stopped.history_["loss"] == whole.history_["loss"][:expected]
    again = CCASSG(n_steps=300, early_stopping=True, **given).fit(graph, checkpoint=tmp_path / "run.safetensors")
    assert np.array_equal(again.transform(graph), stopped.transform(graph))
