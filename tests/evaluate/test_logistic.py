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


@pytest.mark.parametrize("shape", [(7, 3), (3, 7), (4, 4), (6, 1), (1, 6)], ids=str)
def test_principal_coordinates_are_those_of_the_rows(shape):
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(2, *shape)))
    coordinates, directions = logistic._principal(x)
    r = min(shape)
    assert coordinates.shape == (2, shape[0], r)
    torch.testing.assert_close(coordinates @ directions.transpose(1, 2), x)
    torch.testing.assert_close(directions.transpose(1, 2) @ directions, torch.eye(r).double().expand(2, r, r))
    squares = coordinates.transpose(1, 2) @ coordinates  # diagonal
    torch.testing.assert_close(squares, torch.diag_embed(squares.diagonal(dim1=1, dim2=2)), atol=1e-12, rtol=0)


@pytest.mark.parametrize(("square", "n_met"), [(2.2e-13, 2), (1.5e-13, 2), (0.7e-13, 1), (0.0, 1)])
def test_directions_of_rounding_errors_are_left_out(square, n_met):
    x = torch.zeros(1, 2, 5).double()
    x[0, 0, 1], x[0, 1, 3] = 3.0, 3 * square**0.5
    coordinates, directions = logistic._principal(x)
    lengths = torch.linalg.vector_norm(coordinates[0], dim=0)
    assert (lengths > 0).sum() == (directions[0] != 0).any(0).sum() == n_met
    assert lengths.max() == pytest.approx(3)
    assert not logistic._principal(torch.zeros(1, 2, 5))[0].any()


def test_the_start_is_on_the_line_through_the_two_solutions_before():
    one, two, three = (torch.full((2, 1, 1), value) for value in (1.0, 3.0, 10.0))
    yes, no = torch.tensor([True, True]), torch.tensor([True, False])
    start = logistic._start
    assert start([one], [yes], [1.0, 10.0]) is one
    # from 1 to 10 the solution went up by 2, so that from 10 to 1000 it goes up by 4
    torch.testing.assert_close(start([one, two], [yes, yes], [1.0, 10.0, 1000.0]), torch.full((2, 1, 1), 7.0))
    torch.testing.assert_close(start([three, one, two], [no, yes, yes], [9.0, 1.0, 2.0, 4.0]), 0 * one + 5)
    for done in ([no, yes], [yes, no]):
        assert start([one, two], done, [1.0, 10.0, 100.0]) is two
    for strengths in ([2.0, 2.0, 4.0], [4.0, 2.0, 5.0], [1.0, 4.0, 4.0], [1.0, 4.0, 2.0]):
        assert start([one, two], [yes, yes], strengths) is two


class Plain:
    """The objective of one group and its minimisation, written down: weights (classes that are met, columns and bias)."""

    def __init__(self, x, y, classes, strength, start):
        self.x, self.c = np.column_stack([x, np.ones(len(x))]), len(classes)
        self.truth = y[:, None] == classes
        self.strength = strength / 2 if self.c == 2 else strength
        self.penalty = np.append(np.ones(x.shape[1]), 0.0)
        p = self.probabilities(start)
        curvature = 0.99 * p * (1 - p) + 0.01 / self.c
        self.scale = 1 / np.sqrt(self.strength * curvature.T @ self.x**2 + self.penalty)
        self.n_gradients = 0

    def probabilities(self, weights):
        p = np.exp(self.x @ weights.T - (self.x @ weights.T).max(1, keepdims=True))
        return p / p.sum(1, keepdims=True)

    def weights(self, theta):
        weights = theta.reshape(self.c, -1) * self.scale
        return weights - weights.mean(0)

    def __call__(self, theta):
        self.n_gradients += 1
        weights = self.weights(theta)
        p = self.probabilities(weights)
        value = -self.strength * np.log(p[self.truth]).sum() + (weights * self.penalty**2 * weights).sum() / 2
        gradient = self.strength * (p - self.truth).T @ self.x + weights * self.penalty
        return value, ((gradient - gradient.mean(0)) * self.scale).ravel()

    def inverse_hessian(self, pairs):
        """The update of Broyden, Fletcher, Goldfarb and Shanno as a dense matrix, of the last 20 pairs."""
        one = np.eye(self.scale.size)
        h = one * (pairs[-1][0] @ pairs[-1][1] / (pairs[-1][1] @ pairs[-1][1]) if pairs else 1)
        for step, change in pairs[-20:]:
            turn = one - np.outer(step, change) / (step @ change)
            h = turn @ h @ turn.T + np.outer(step, step) / (step @ change)
        return h

    def minimize(self, start, tolerance, most):
        theta, pairs = (start / self.scale).ravel(), []
        value, gradient = self(theta)
        while True:
            distance = np.linalg.norm(gradient / self.scale.ravel())
            self.solved = distance <= tolerance * np.linalg.norm(self.weights(theta))
            if self.solved or self.n_gradients >= most:
                break
            step = -self.inverse_hessian(pairs) @ gradient
            slope = gradient @ step
            while True:
                new_value, new_gradient = self(theta + step)
                flat = new_value <= value * (1 + 10 * np.finfo(float).eps) and new_gradient @ step <= -0.8 * slope
                if new_value <= value + 1e-4 * slope or flat:
                    break
                step, slope = step / 2, slope / 2
            pairs.append((step, new_gradient - gradient))
            theta, value, gradient = theta + step, new_value, new_gradient
        return self.weights(theta)


KINDS = {
    "all": np.arange(30) % 4,
    "absent": np.array([0, 1, 3])[np.arange(30) % 3],
    "two": np.where(np.arange(30) < 12, np.arange(30) % 2 * 3, -1),
}


@pytest.mark.parametrize(("strength", "shift"), [(0.05, 0.0), (1.0, 0.0), (30.0, 3.0), (300.0, 0.0)])
@pytest.mark.parametrize("kind", KINDS)
def test_every_step_is_that_of_a_dense_quasi_newton_method(strength, shift, kind):
    rng, y = np.random.default_rng(7), KINDS[kind]
    real, classes = y >= 0, np.unique(y[y >= 0])
    x, start = 2 * rng.normal(size=(30, 6)) * real[:, None], np.zeros((4, 7))
    start[classes] = shift * rng.normal(size=(len(classes), 7))
    start[classes] -= start[classes].mean(0)
    given = torch.from_numpy(start)[None]
    for most, tolerance in [(1, 0.0), (2, 0.0), (3, 0.0), (7, 0.0), (99, 0.3), (99, 0.03), (99, 1e-5)]:
        plain = Plain(x[real], y[real], classes, strength, start[classes])
        expected = plain.minimize(start[classes], tolerance, most)
        objective = logistic._Objective(torch.from_numpy(x)[None], torch.from_numpy(y)[None], 4)
        objective.regularise(strength, given)
        found, solved = objective.minimize(given, tolerance, most)
        assert objective.n_gradients == plain.n_gradients
        np.testing.assert_allclose(found[0, classes], expected, rtol=1e-5, atol=1e-7)
        assert not found[0, np.setdiff1d(range(4), classes)].any()
        assert solved.item() == plain.solved


def test_the_work_that_is_allowed_is_shared_by_the_strengths(monkeypatch):
    x, y = problem(20, 5, 3)
    products = 2 * 20 * 3 * 6  # of one gradient and of the logits that it needs: rows x classes x columns with the bias
    gradients = []
    call = logistic._Objective.__call__
    monkeypatch.setattr(
        logistic._Objective, "__call__", lambda self, theta: gradients.append(theta) or call(self, theta)
    )
    for work, most in ((23.99, 11), (24.0, 12), (0.0, 5)):
        gradients.clear()
        monkeypatch.setattr(logistic, "MAX_PRODUCTS", work * products)
        fit(x, y, 3, (1.0, 10.0), tolerance=0.0)
        assert len(gradients) == 2 * most


def test_single_precision_begins_with_the_limit(monkeypatch):
    x, y = problem(20, 5, 3)
    exact = fit(x, y, 3)
    for limit, same in ((2 * 20 * 3 * 6 + 1, True), (2 * 20 * 3 * 6, False)):
        monkeypatch.setattr(logistic, "SINGLE_PRODUCTS", limit)
        assert (np.abs(fit(x, y, 3) - exact).max() == 0) == same


def test_a_search_ends_where_rounding_is_met():
    x, y = (torch.from_numpy(part)[None] for part in problem(30, 6, 3))
    objective = logistic._Objective(x, y, 3)
    objective.regularise(1.0, objective.zeros())
    found, solved = objective.minimize(objective.zeros(), 0.0, 10_000)
    assert solved.all()
    assert objective.n_gradients < 100
    assert np.linalg.norm(gradient(found[0].numpy(), x[0].numpy(), y[0].numpy(), 1.0)) < 1e-12


def test_weights_are_known_to_a_thousandth_where_nothing_is_said():
    x, y = (torch.from_numpy(part)[None] for part in problem(60, 8, 4))
    plain, said, rough = (
        logistic.fit(x, y, 4, C_GRID, **given)[0] for given in ({}, {"tolerance": 1e-3}, {"tolerance": 0.1})
    )
    assert torch.equal(plain, said)
    assert not torch.equal(plain, rough)


EPS = np.finfo(float).eps


@pytest.mark.parametrize(
    ("tries", "n_halvings"),
    [
        ([(0.0, 9.0)], 0),
        ([(1 - 1e-4, -9.0)], 0),  # just enough
        ([(1 - 0.9e-4, -9.0), (1 - 0.5e-4, -9.0)], 1),  # of half a step, half is enough
        ([(1.0, -0.8)], 0),  # flat, and the slope no steeper than it may be
        ([(1 + 10 * EPS, -0.8)], 0),
        ([(1.0, -0.81), (1 + 11 * EPS, -0.8), (0.0, 0.0)], 2),
        ([(2.0, 0.0)] * 30, None),  # the objective rises whatever the step
    ],
)
def test_a_step_is_halved_until_the_objective_falls_enough(tries, n_halvings):
    """Objective 1 and gradient 1, in the direction of -1; ``tries`` are what is found after each step."""
    one = torch.ones(1, 1, 1, dtype=torch.float64)
    left = list(tries)

    def objective(theta):
        value, gradient = left.pop(0)
        return one[0, 0] * value, one * gradient

    step, value, gradient = logistic._Objective._search(objective, 5 * one, one[0, 0], one, -one)
    assert not left
    expected = (0.0, 1.0, 1.0) if n_halvings is None else (-(0.5**n_halvings), *tries[-1])
    assert (step.item(), value.item(), gradient.item()) == expected


def test_groups_are_halved_each_for_itself():
    def parabola(theta):
        return theta.square().sum((1, 2)) / 2, theta

    start = torch.ones(4, 1, 1, dtype=torch.float64)
    direction = torch.tensor([-1.0, -4.0, 0.0, 1.0]).double().view(4, 1, 1)
    step, value, gradient = logistic._Objective._search(parabola, start, *parabola(start), direction)
    assert step.flatten().tolist() == [-1, -1, 0, 0]  # at once, a quarter, nowhere to go, uphill
    assert value.tolist() == [0, 0, 0.5, 0.5]
    assert gradient.flatten().tolist() == [0, 0, 1, 1]


def test_five_steps_without_progress_end_a_search():
    class Flat(logistic._Objective):
        """Finds what is written down, the last of it for ever."""

        found: list

        def __call__(self, theta):
            value, gradient = self.found[min(self.n_gradients, len(self.found) - 1)]
            self.n_gradients += 1
            return theta.new_tensor([value]), torch.full_like(theta, gradient)

    x, y = (torch.from_numpy(part)[None] for part in problem(6, 2, 2))
    least = 7 * (1 - 10 * EPS)  # no less than 7 but for rounding
    for found, n_gradients in (
        ([(8.0, 1.0)], 1 + 5),
        ([(8.0, 1.0)] * 5 + [(7.0, 1.0), (least, 1.0)], 1 + 4 + 1 + 5),
        ([(8.0, 1.0)] * 3 + [(8.0, 0.5)], 1 + 2 + 1 + 5),
        ([(8.0, 1.0), (8.0, 0.5), (8.0, 0.75)], 1 + 1 + 5),
    ):
        objective = Flat(x, y, 2)
        objective.found = found
        objective.regularise(1.0, objective.zeros())
        assert objective.minimize(objective.zeros(), 0.0, 99)[1].all()
        assert objective.n_gradients == n_gradients
