import numpy as np
import pytest
from sklearn.metrics import f1_score, roc_auc_score

from ccassg.evaluate.scores import macro_f1, roc_auc, score


def test_by_hand():
    # class 0: 2 of 3 found, none wrongly; class 1: found, with one intruder; class 2 never occurs
    result = score([np.array([0, 0, 1, 1])], [np.array([0, 0, 0, 1])], 3, val_accuracies=[0.5], epochs=[7])
    np.testing.assert_array_equal(result.confusion, [[2, 1, 0], [0, 1, 0], [0, 0, 0]])
    assert result.accuracies == [0.75]
    assert result.macro_f1 == [pytest.approx((2 * 2 / (3 + 2) + 2 * 1 / (1 + 2)) / 2)]
    assert (result.accuracy, result.std, result.epochs, result.strengths) == (0.75, 0.0, [7], [])


def test_predicted_but_absent_class_counts_as_in_scikit_learn():
    true, predicted = np.array([0, 0, 1]), np.array([0, 2, 1])
    result = score([predicted], [true], 4, val_accuracies=[1.0])
    assert result.macro_f1[0] == pytest.approx(f1_score(true, predicted, average="macro", zero_division=0))
    assert macro_f1(np.eye(3, dtype=int)) == 1


def test_runs_of_different_length_add_up():
    result = score([np.array([0]), np.array([1, 1])], [np.array([0]), np.array([1, 0])], 2, val_accuracies=[1.0, 1.0])
    np.testing.assert_array_equal(result.confusion, [[1, 1], [0, 1]])
    assert result.accuracy == 0.75
    assert result.std == pytest.approx(np.sqrt(0.125))


@pytest.mark.parametrize("c", [2, 4])
def test_the_area_is_that_of_scikit_learn(c):
    rng = np.random.default_rng(0)
    true = rng.integers(c, size=90)
    given = rng.dirichlet(np.ones(c), size=90).round(1) + np.eye(c)[true] * 0.2  # with ties
    given /= given.sum(1, keepdims=True)
    expected = roc_auc_score(true, given[:, 1]) if c == 2 else roc_auc_score(true, given, multi_class="ovr")
    assert roc_auc(given.T, true) == pytest.approx(expected)
    assert roc_auc(given.T, np.zeros(90, int)) == 0.5


def test_areas_by_hand():
    # Of class 1 two nodes with 0.9 and 0.4, of class 0 two with 0.4 and 0.1: 1, 1, 1/2 and 1 of the four pairs.
    given = np.array([0.9, 0.4, 0.4, 0.1])
    assert roc_auc(np.stack([1 - given, given]), np.array([1, 1, 0, 0])) == 3.5 / 4
    assert roc_auc(np.stack([1 - given, given]), np.array([1, 1, 1, 1])) == 0.5
    # Of three classes one is not there; the mean is over the other two.
    three = np.array([[0.6, 0.2, 0.3], [0.1, 0.1, 0.2], [0.3, 0.7, 0.5]])
    assert roc_auc(three, np.array([0, 2, 0])) == (2 / 2 + 2 / 2) / 2
    assert roc_auc(three, np.array([0, 1, 2])) == (1 + 0.25 + 0.5) / 3


def test_lists_that_are_not_given_are_empty_and_all_goes_to_json():
    result = score([np.array([0, 1])], [np.array([0, 1])], 2, val_accuracies=[1.0], roc_auc=[0.9], strengths=[2.0])
    assert result.as_dict() == {
        "accuracy": 1.0,
        "std": 0.0,
        "n_runs": 1,
        "accuracies": [1.0],
        "val_accuracies": [1.0],
        "macro_f1": [1.0],
        "roc_auc": [0.9],
        "epochs": [],
        "strengths": [2.0],
        "confusion": [[1, 0], [0, 1]],
        "notes": [],
    }
    assert score([np.array([0])], [np.array([0])], 1, val_accuracies=[1.0], notes=["so"]).notes == ["so"]
