import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from ccassg.evaluate import logistic
from ccassg.evaluate.probe_runs import C_GRID

TIGHT = 1e-9


def problem(n, d, c, seed=0, scale=1.0):
    """Noisy clusters, every class at least once."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(c), rng.integers(c, size=n - c)])
    return scale * (rng.normal(size=(c, d))[y] + 1.5 * rng.normal(size=(n, d))), y


def fit(x, y, c, strengths=C_GRID, tolerance=TIGHT):
    """Fit one group; return (k, c, d + 1)."""
    found, _ = logistic.fit(torch.from_numpy(x)[None], torch.from_numpy(y)[None], c, strengths, tolerance=tolerance)
    return found[0].numpy()


def by_scikit_learn(x, y, strength):
    """Return weights and bias (classes that are met, d + 1), with a bias of mean 0, which the softmax does not see."""
    model = LogisticRegression(C=strength, tol=1e-10, max_iter=10000, solver="newton-cg").fit(x, y)
    found = np.column_stack([model.coef_, model.intercept_])
    if len(found) == 1:  # two classes: the difference of their weights
        return np.concatenate([-found, found]) / 2
    found[:, -1] -= found[:, -1].mean()
    return found


def gradient(weights, x, y, strength):
    """Return the gradient of the objective of more than two classes, shape (c, d + 1), by autograd."""
    w = torch.from_numpy(weights).requires_grad_()
    loss = torch.nn.functional.cross_entropy(
        torch.from_numpy(x) @ w[:, :-1].T + w[:, -1], torch.from_numpy(y), reduction="sum"
    )
    (strength * loss + w[:, :-1].square().sum() / 2).backward()
    return w.grad.numpy()


SHAPES = [(60, 8, 4), (20, 50, 3), (30, 30, 5), (40, 6, 2), (8, 30, 2), (5, 1, 3)]


# Newton's method of scikit-learn says so where rounding ends its last step.
@pytest.mark.filterwarnings("ignore:.*[Ll]ine [Ss]earch")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_weights_are_those_of_scikit_learn(shape):
    x, y = problem(*shape)
    for strength, found in zip(C_GRID, fit(x, y, shape[2]), strict=True):
        np.testing.assert_allclose(found, by_scikit_learn(x, y, strength), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("shape", [(60, 8, 4), (20, 50, 3)], ids=str)
def test_the_default_tolerance_is_kept(shape):
    x, y = problem(*shape)
    rough, exact = (fit(x, y, shape[2], tolerance=t)[..., :-1].reshape(len(C_GRID), -1) for t in (1e-3, TIGHT))
    assert (np.linalg.norm(rough - exact, axis=1) < 2e-3 * np.linalg.norm(exact, axis=1)).all()


@pytest.mark.parametrize("n_met", [2, 3])
def test_an_absent_class_changes_nothing_and_is_never_predicted(n_met):
    x, y = problem(40, 6, n_met)
    names = np.array([0, 2, 4])[:n_met]
    found = fit(x, names[y], 6)
    np.testing.assert_allclose(found[:, names], fit(x, y, n_met), atol=1e-6)
    absent = np.setdiff1d(np.arange(6), names)
    assert (found[:, absent, -1] == -np.inf).all()
    assert not found[:, absent, :-1].any()


def test_groups_are_padded_and_have_classes_of_their_own():
    long, short = problem(50, 12, 4, seed=1), problem(9, 12, 2, seed=2)
    rows, y = np.full((2, 50, 12), 1e3), np.full((2, 50), -1)
    for group, (x, own) in enumerate((long, short)):
        rows[group, : len(x)], y[group, : len(x)] = x, own
    found = logistic.fit(torch.from_numpy(rows), torch.from_numpy(y), 4, C_GRID, tolerance=TIGHT)[0].numpy()
    np.testing.assert_allclose(found[0], fit(*long, 4), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[1], fit(*short, 4), rtol=1e-5, atol=1e-6)
    for k, strength in enumerate(C_GRID):
        np.testing.assert_allclose(found[1, k, :2], by_scikit_learn(*short, strength), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3])
@pytest.mark.parametrize("shape", [(60, 8, 4), (20, 50, 3)], ids=str)
def test_the_gradient_is_zero_at_the_solution(shape, scale):
    x, y = problem(*shape, scale=scale)
    for strength, found in zip(C_GRID, fit(x, y, shape[2]), strict=True):
        at_zero = gradient(np.zeros_like(found), x, y, strength)
        assert np.linalg.norm(gradient(found, x, y, strength)) < 1e-5 * np.linalg.norm(at_zero)


def test_rotation_and_shift_of_the_features_go_with_the_weights():
    x, y = problem(40, 7, 3)
    rng = np.random.default_rng(1)
    turn, shift = np.linalg.qr(rng.normal(size=(7, 7)))[0], 10 * rng.normal(size=7)
    expected, found = fit(x, y, 3), fit(x @ turn + shift, y, 3)
    np.testing.assert_allclose(found[..., :-1] @ turn.T, expected[..., :-1], atol=1e-5)
    np.testing.assert_allclose(found[..., -1] + found[..., :-1] @ shift, expected[..., -1], atol=1e-5)


def test_the_order_of_rows_does_not_count():
    x, y = problem(40, 7, 3)
    order = np.random.default_rng(1).permutation(40)
    np.testing.assert_allclose(fit(x[order], y[order], 3), fit(x, y, 3), atol=1e-5)


def test_one_class_is_always_predicted():
    x, y = problem(10, 4, 1)
    np.testing.assert_array_equal(fit(x, y + 1, 3)[..., -1], [[-np.inf, 0, -np.inf]] * len(C_GRID))


def test_equal_rows_leave_the_frequencies():
    found = fit(np.full((8, 3), 7.0), np.array([0, 1, 1, 2, 2, 2, 2, 2]), 3)
    np.testing.assert_allclose(found[..., :-1], 0, atol=1e-12)
    frequencies = np.exp(found[..., -1]) / np.exp(found[..., -1]).sum(1, keepdims=True)
    np.testing.assert_allclose(frequencies, [[1 / 8, 2 / 8, 5 / 8]] * len(C_GRID), atol=1e-6)


def test_scale_and_mean_beyond_measure_still_separate():
    for scale, shift in ((1e8, 0.0), (1e-8, 0.0), (1.0, 1e5)):
        x, y = problem(12, 30, 3, scale=scale)
        x += shift
        predicted = (fit(x, y, 3, tolerance=1e-3)[-1] @ np.column_stack([x, np.ones(12)]).T).argmax(0)
        assert np.isfinite(predicted).all()
        assert scale < 1 or (predicted == y).all()


def test_a_bound_on_memory_and_single_precision_change_little_and_one_on_work_only_weak_regularisation(monkeypatch):
    x, y = problem(60, 8, 4)
    expected = fit(x, y, 4)
    monkeypatch.setattr(logistic, "PAIR_BYTES", 1)
    assert np.linalg.norm(fit(x, y, 4) - expected) < 1e-3 * np.linalg.norm(expected)
    monkeypatch.setattr(logistic, "SINGLE_PRODUCTS", 1)
    assert np.linalg.norm(fit(x, y, 4, tolerance=1e-3) - expected) < 1e-2 * np.linalg.norm(expected)
    monkeypatch.setattr(logistic, "MAX_PRODUCTS", 1)
    found, solved = logistic.fit(torch.from_numpy(x)[None], torch.from_numpy(y)[None], 4, C_GRID)
    assert solved[0, :4].all()
    assert not solved[0, -4:].any()
    assert np.linalg.norm(found[0, :4].numpy() - expected[:4]) < 0.01 * np.linalg.norm(expected[:4])


def test_strengths_in_any_order_are_each_solved():
    x, y = problem(40, 6, 3)
    order = [1.0, 1.0, 1e-3, 10.0, 1e3]
    expected = [fit(x, y, 3, [strength])[0] for strength in order]
    np.testing.assert_allclose(fit(x, y, 3, order), expected, rtol=1e-5, atol=1e-6)
