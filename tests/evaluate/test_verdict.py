import numpy as np
import pytest

from ccassg.evaluate.diagnostics import diagnose
from ccassg.evaluate.probe import linear_probe
from ccassg.evaluate.verdict import verdict

GRAPH = {"nodes": 200, "edges": 900, "isolated": 5, "features": 100}
FINE = diagnose(np.random.default_rng(0).normal(size=(200, 32)))


@pytest.mark.parametrize(
    ("graph", "history", "expected"),
    [
        (GRAPH | {"isolated": 50}, {}, "50 nodes of 200 (25%) have no edge"),
        ({"nodes": 5, "isolated": 1}, {}, "1 node of 5 (20%) has no edge"),
        ({"features": 7}, {}, "7 features, fewer than the 32"),
        (GRAPH, {"loss": [1.0, float("nan")]}, "not a finite number at step 2"),
        (GRAPH, {"loss": [1.0, 2.0]}, "ended above its start (1 to 2)"),
    ],
)
def test_each_warning_appears_for_its_cause(graph, history, expected):
    (sentence,) = verdict(FINE, graph=graph, history=history)
    assert expected in sentence


def test_what_is_as_it_should_be_gives_no_warning():
    assert verdict(FINE) == []
    assert verdict(FINE, graph=GRAPH, history={"loss": [3.0, 2.0, 1.0]}) == []
    assert verdict(FINE, graph={"features": 12}, settings={"encoder": "canonical"}) == []
    loss = np.linspace(5, 0, 50) + np.random.default_rng(0).normal(size=50)
    loss[0], loss[-1] = 0.5, 1.5  # one step above another says nothing
    assert verdict(FINE, history={"loss": loss.tolist()}) == []


def test_the_advice_fits_the_run():
    rising, settings = {"loss": [1.0, 2.0]}, {"learning_rate": 0.01, "decorrelation": 1e-3}
    (sentence,) = verdict(FINE, history=rising, settings=settings)
    assert sentence.endswith("Bring the features to one scale, or lower learning_rate (it was 0.01).")
    (sentence,) = verdict(FINE, history=rising, settings=settings, scaled=True)
    assert sentence.endswith("did not converge. Lower learning_rate (it was 0.01).")
    flat = diagnose(np.random.default_rng(0).normal(size=(99, 1)) * np.ones(40))
    trained, solved = verdict(flat, settings=settings), verdict(flat, settings={"encoder": "canonical"})
    assert sum("decorrelation weight" in text for text in trained) == 2
    (sentence,) = solved  # that dimensions are redundant is how its parts are meant
    assert sentence.startswith("Collapsed dimensions")
    assert "decorrelation" not in sentence
    assert "training" not in sentence


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1), (0.4, 0.3, 0.2, 0.1)])
def test_noise_is_called_chance_and_knowledge_is_not(shares):
    rng = np.random.default_rng(4)
    y = rng.choice(len(shares), size=1500, p=shares)
    noise = rng.normal(size=(1500, 8)).astype(np.float32)
    for solver in ("logistic", "adam"):
        probe = linear_probe(noise, y, seeds=range(2), solver=solver, epochs=50).as_dict()
        (sentence,) = verdict(FINE, probe=probe)
        assert "knows no more of the labels than chance" in sentence
        assert f"{probe['accuracy']:.1%}" in sentence
    probe = linear_probe(noise + np.eye(8)[y] * 2, y, solver="logistic").as_dict()
    assert verdict(FINE, probe=probe) == []


def test_ranks_that_are_right_beside_an_accuracy_that_is_not():
    """One node in twenty is of a class that is only a little likelier where the embedding says so."""
    rng = np.random.default_rng(0)
    y = (rng.random(4000) < 0.05).astype(int)
    z = rng.normal(size=(4000, 1)) + y[:, None]
    (sentence,) = verdict(FINE, probe=linear_probe(z, y, solver="logistic").as_dict())
    assert "no better than a constant" in sentence
    assert "Read macro F1 and ROC AUC (0.7" in sentence


def test_raw_features_that_know_more_and_targets_that_are_not_known():
    probe = {"accuracy": 0.7, "n_runs": 1, "confusion": [[350, 150], [150, 350]], "roc_auc": [0.75]}
    assert verdict(FINE, probe=probe | {"raw_features": [0.72, 0.71]}) == []
    (sentence,) = verdict(FINE, probe=probe | {"raw_features": [0.8, 0.9]})
    assert "raw features alone predict the labels better: 85.0% against 70.0%" in sentence
    (sentence,) = verdict(FINE, probe={"r2": -0.03})
    assert "no more of the target than its mean" in sentence
    assert verdict(FINE, probe={"r2": 0.3}) == []
    assert verdict(FINE, probe={"accuracy": 0.2}) == []
