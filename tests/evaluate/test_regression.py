import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

from ccassg import Split
from ccassg.evaluate import regression
from ccassg.evaluate.regression import STRENGTHS, ridge_probe
from ccassg.graph.dataset import random_split


@pytest.mark.parametrize("shape", [(200, 7), (200, 40)], ids=["tall", "wide"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("scale", [1, 1e-3])
def test_it_is_the_ridge_regression_of_scikit_learn(shape, make, scale):
    rng = np.random.default_rng(0)
    x = scale * (rng.normal(size=shape) + 3)
    t = (x[:, 0] - x[:, 1]) / scale + rng.normal(size=200) + 50
    split = random_split(np.zeros(200), 0)
    gram = np.linalg.eigvalsh((x[split.train] - x[split.train].mean(0)).T @ (x[split.train] - x[split.train].mean(0)))[
        -1
    ]
    models = [Ridge(s * gram).fit(x[split.train], t[split.train]) for s in STRENGTHS]
    best = max(models, key=lambda model: r2_score(t[split.val], model.predict(x[split.val])))
    found = ridge_probe(make(x), t, [split])
    assert found["r2"] == pytest.approx(r2_score(t[split.test], best.predict(x[split.test])))
    assert found["val_r2s"] == [pytest.approx(r2_score(t[split.val], best.predict(x[split.val])))]
    assert (found["n_runs"], found["std"], found["notes"]) == (1, 0.0, [])


def test_too_much_is_sampled_and_said(monkeypatch):
    monkeypatch.setattr(regression, "MAX_EXACT", 10)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 12))
    found = ridge_probe(x, x[:, 0], [random_split(np.zeros(300), seed) for seed in range(2)])
    assert found["notes"] == ["ridge regression saw 10 training nodes drawn at random of 30, to bound the work"]
    assert len(found["r2s"]) == 2
    with pytest.raises(ValueError, match="target must be 300 numbers"):
        ridge_probe(x, x[:9, 0], [])


def test_strengths_and_a_target_by_hand():
    np.testing.assert_allclose(STRENGTHS, 10.0 ** np.arange(2, -6.5, -0.5), rtol=1e-12)
    x = np.array([[-1.0], [1.0], [-1.0], [1.0], [3.0], [-3.0]])
    split = Split(np.array([0, 1]), np.array([2, 3]), np.array([4, 5]))
    found = ridge_probe(x, x[:, 0] * 2 + 7, [split, split])
    weight = 2 / (1 + 1e-6)  # the weakest penalty is the best one of a target without noise
    assert found["r2"] == pytest.approx(1 - (2 - weight) ** 2 / 4, abs=1e-14)
    assert found["val_r2s"] == [pytest.approx(1 - (2 - weight) ** 2 / 4, abs=1e-14)] * 2
    assert (found["n_runs"], found["std"]) == (2, 0.0)
    noisy = ridge_probe(x, np.array([0.0, 0.0, 1.0, -1.0, 5.0, 7.0]), [split])
    assert noisy["val_r2s"] == [0.0]
    assert noisy["r2"] == 1 - (5**2 + 7**2) / 2
    assert ridge_probe(np.ones((6, 1)), np.arange(6.0), [split])["val_r2s"] == [pytest.approx(1 - 8.5 / 0.5)]


def test_as_many_rows_as_are_solved_exactly_are_all_seen(monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 12))
    t = x[:, 0] + rng.normal(size=300)
    split = random_split(np.zeros(300), 0)
    for limit in (12, 30):  # so many columns, so many rows
        monkeypatch.setattr(regression, "MAX_EXACT", limit)
        assert ridge_probe(x, t, [split])["notes"] == []
    monkeypatch.setattr(regression, "MAX_EXACT", 11)
    few = Split(np.sort(np.random.default_rng(0).choice(split.train, 11, replace=False)), split.val, split.test)
    sampled = ridge_probe(x, t, [split])
    monkeypatch.setattr(regression, "MAX_EXACT", 2048)
    assert sampled["r2s"] == ridge_probe(x, t, [few])["r2s"]
    runs = ridge_probe(x, t, [split, few])
    assert runs["std"] == pytest.approx(abs(runs["r2s"][0] - runs["r2s"][1]) / 2**0.5)
    with pytest.raises(ValueError, match="target must be 300 numbers, one per row of z"):
        ridge_probe(x, t[:, None], [split])


def test_one_and_the_same_target_is_predicted_or_not():
    rows = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    target = np.where(np.arange(40) < 30, np.arange(40.0), 5.0)
    split = Split(train=np.arange(20), val=np.arange(20, 30), test=np.arange(30, 40))
    assert ridge_probe(rows, target, [split])["r2"] == 0  # all test nodes have the target 5, and none is met
    assert ridge_probe(rows, np.full(40, 5.0), [split])["r2"] == 1
