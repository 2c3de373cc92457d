"""The linear probe by scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ccassg import Split
from studies.logistic import C_GRID, logistic_probe


def problem(noise):
    """Four classes as noisy clusters, and a split."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=120)
    z = rng.normal(size=(4, 12))[y] + noise * rng.normal(size=(120, 12))
    return z, y, Split(*np.split(rng.permutation(120)[:110], [20, 50]))


def test_strength_is_chosen_on_validation():
    z, y, split = problem(noise=3)
    result = logistic_probe(z, y, [split])
    models = {c: LogisticRegression(C=c, max_iter=1000).fit(z[split.train], y[split.train]) for c in C_GRID}
    best = max(C_GRID, key=lambda c: (models[c].score(z[split.val], y[split.val]), -c))
    assert result.val_accuracies[0] == pytest.approx(models[best].score(z[split.val], y[split.val]))
    assert result.accuracies[0] == pytest.approx(models[best].score(z[split.test], y[split.test]))
    assert result.epochs == []


def test_an_easy_problem_and_a_single_class():
    z, y, split = problem(noise=0.3)
    assert logistic_probe(z, y, [split]).accuracy == 1.0
    alone = y.copy()
    alone[split.train] = 0
    assert (logistic_probe(z, alone, [split]).predictions[0] == 0).all()
