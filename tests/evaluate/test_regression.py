import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

from ccassg.evaluate import regression
from ccassg.evaluate.regression import STRENGTHS, ridge_probe
from ccassg.graph.dataset import random_split


@pytest.mark.parametrize("shape", [(200, 7), (200, 40)], ids=["tall", "wide"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_it_is_the_ridge_regression_of_scikit_learn(shape, make):
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape) + 3
    t = x[:, 0] - x[:, 1] + rng.normal(size=200) + 50
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
