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
