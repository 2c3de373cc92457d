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
    trained = verdict(flat, settings=settings)
    assert sum("decorrelation weight" in text for text in trained) == 2
    # Widths of parts are nobody's choice, and that dimensions are redundant is how they are meant.
    assert verdict(flat, settings={"encoder": "canonical"}) == []


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


# 400 test nodes a run, 300 of the largest class: 75 %, with a standard error of sqrt(0.75 * 0.25 / 400).
PROBE = {"n_runs": 2, "confusion": [[500, 100], [100, 100]], "accuracy": 0.9, "roc_auc": [0.9, 0.9]}
ERROR = (0.75 * 0.25 / 400) ** 0.5


def said(**probe):
    return " ".join(verdict(FINE, probe={key: value for key, value in (PROBE | probe).items() if value is not None}))


def test_the_limits_of_what_scores_are_worth():
    assert said() == ""
    constant = (
        "no better than a constant: its linear probe is right in 80.0%, and always naming the largest class in 75.0%"
    )
    for area in ([0.9], None):
        assert said(roc_auc=area, accuracy=0.75 + 2 * ERROR + 1e-6) == ""
        assert "no better than a constant" in said(roc_auc=area, accuracy=0.75 + 2 * ERROR - 1e-6)
    assert constant in said(accuracy=0.8, n_runs=8)  # of a hundred nodes
    assert said(accuracy=0.8, n_runs=None) == ""  # of eight hundred, were it one run
    # Of two classes the area has the standard error of Mann and Whitney's statistic.
    limit = 0.5 + 2 * (401 / (12 * 300 * 100)) ** 0.5
    assert said(roc_auc=[limit + 1e-6]) == ""
    assert "than chance" in said(roc_auc=[limit - 1e-6])
    many = {"confusion": [[50_000, 0], [0, 50_000]], "n_runs": 1}
    assert said(roc_auc=[0.5201], **many) == ""
    assert "than chance" in said(roc_auc=[0.5199, 0.5199], **many)


def test_the_error_of_areas_of_several_classes_is_that_of_their_mean():
    tested = np.array([100, 200, 300])
    each = [(600 + 1) / (12 * m * (600 - m)) for m in tested]
    limit = 0.5 + 2 * np.sqrt(np.mean(each) / 3)
    confusion = np.diag(tested).tolist()
    assert said(confusion=confusion, n_runs=1, roc_auc=[limit + 1e-6]) == ""
    assert "than chance" in said(confusion=confusion, n_runs=1, roc_auc=[limit - 1e-6])


@pytest.mark.parametrize(
    "probe",
    [
        {"confusion": []},
        {"confusion": [[0, 0], [0, 0]]},
        {"confusion": [[9, 0], [0, 0]]},
        {"accuracy": None},
        {"r2": 0.0201},
    ],
    ids=str,
)
def test_what_is_too_little_to_judge_by(probe):
    assert said(**{"accuracy": 0.1} | probe) == ""


def test_the_limits_of_targets_and_of_raw_features():
    assert "R^2 of the linear probe is 0.02" in said(r2=0.02)
    for confusion, n_runs, margin in ((PROBE["confusion"], 2, 2 * ERROR), ([[75_000, 0], [0, 25_000]], 1, 0.01)):
        given = {"confusion": confusion, "n_runs": n_runs}
        assert said(raw_features=[0.9 + margin - 1e-6], **given) == ""
        assert "raw features alone" in said(raw_features=[0.9 + margin + 1e-6, 0.9 + margin + 1e-6], **given)


def test_the_limits_of_graphs_and_of_losses():
    def warned(**given):
        return len(verdict(FINE, **given))

    assert [warned(graph=GRAPH | {"isolated": n}) for n in (0, 19, 20, 200)] == [0, 0, 1, 1]
    assert [warned(graph={"features": n}) for n in (0, 1, 31, 32)] == [0, 1, 1, 0]
    assert [warned(history={"loss": loss}) for loss in ([], [3.0], [3.0, 3.0], [3.0, 3.01])] == [0, 0, 0, 1]
    assert warned(history={"loss": [np.inf]}) == 1
    # A tenth of the steps at either end: 2 of 20, 1 of 19.
    loss = np.full(20, 5.0)
    loss[[1, -1]] = 1, 9
    assert [warned(history={"loss": some.tolist()}) for some in (loss, loss[:-1], loss[1:])] == [1, 0, 1]
    assert "ended above its start (3 to 7)" in verdict(FINE, history={"loss": loss.tolist()})[0]
    (sentence,) = verdict(FINE, history={"loss": [1.0, np.nan, np.nan]}, settings={"learning_rate": 0.5})
    assert sentence.endswith("at step 2: the training diverged. Lower learning_rate (it was 0.5).")
    (sentence,) = verdict(FINE, graph={"features": 1}, settings={"encoder": "gcn"})
    assert sentence.startswith("The graph has 1 feature, fewer than the 32 columns")


@pytest.mark.parametrize(("runs", "n_sentences"), [({}, 0), ({"n_runs": 0}, 0), ({"n_runs": 1}, 0), ({"n_runs": 2}, 1)])
def test_counts_are_of_all_runs_or_of_one_where_nothing_is_said(runs, n_sentences):
    probe = {"accuracy": 0.58, "confusion": [[60, 40], [40, 60]]}  # of 200 nodes enough to know, of 100 not
    assert len(verdict(FINE, probe=probe | runs)) == n_sentences


def test_a_class_of_one_node_is_a_class():
    (sentence,) = verdict(FINE, probe={"accuracy": 10 / 11, "n_runs": 1, "confusion": [[10, 0], [1, 0]]})
    assert "no better than a constant" in sentence
