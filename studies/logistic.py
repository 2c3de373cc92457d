"""The linear probe by scikit-learn: a logistic regression without learning rate, epochs or seed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from ccassg.evaluate.scores import ProbeResult, score
from ccassg.graph import Array, Split

# Inverse regularisation strengths, strongest first: ties go to the simpler model.
C_GRID = tuple(float(10.0**k) for k in range(-3, 4))


def logistic_probe(z: Array, y: Array, splits: Sequence[Split], **_: Any) -> ProbeResult:
    """Score a logistic regression on an embedding (n, d), its strength chosen on validation, once on the test nodes."""
    predictions, val_accuracies = [], []
    for split in splits:
        models = [_fit(z[split.train], y[split.train], strength) for strength in C_GRID]
        scores = [float(np.mean(model.predict(z[split.val]) == y[split.val])) for model in models]
        best = int(np.argmax(scores))
        predictions.append(models[best].predict(z[split.test]))
        val_accuracies.append(scores[best])
    tests = [y[split.test] for split in splits]
    return score(predictions, tests, int(y.max()) + 1, val_accuracies=val_accuracies)


def _fit(x: Array, y: Array, strength: float) -> Any:
    if (y == y[0]).all():  # scikit-learn refuses a single class; the answer is that class
        return DummyClassifier(strategy="most_frequent").fit(x, y)
    return LogisticRegression(C=strength, max_iter=1000).fit(x, y)
