import json

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from ccassg.evaluate import information
from ccassg.evaluate.information import gaussian_information

TINY = 1e-12


def gaussian_views(k=3, n=20_000, d=4, noise=0.5, seed=0):
    """Views mu_i + e_iv with known covariances A of mu and B of e, both with correlations."""
    rng = np.random.default_rng(seed)
    factor_a, factor_b = rng.normal(size=(d, d)) / 2 + np.eye(d), noise * (rng.normal(size=(d, d)) / 2 + np.eye(d))
    mu = rng.normal(size=(n, d)) @ factor_a.T
    views = np.stack([mu + rng.normal(size=(n, d)) @ factor_b.T for _ in range(k)])
    return views, factor_a @ factor_a.T, factor_b @ factor_b.T


def standardized(view):
    return (view - view.mean(0)) / view.std(0)


class TestAgainstKnownGaussians:
    def test_entropies_of_a_known_model(self):
        views, a, b = gaussian_views()
        scale = 1 / np.sqrt(np.diag(a + b))
        total, within = (scale[:, None] * m * scale for m in (a + b, b))
        found = gaussian_information(views, ridge=TINY)
        h, h_given_x = (multivariate_normal(cov=m).entropy() for m in (total, within))
        assert found["entropy"] == pytest.approx(h, abs=0.05)
        assert found["conditional_entropy"] == pytest.approx(h_given_x, abs=0.05)
        assert found["mutual_information"] == pytest.approx(h - h_given_x, abs=0.05)
        diagonal = 0.5 * np.log(2 * np.pi * np.e * np.diag(within)).sum()
        assert found["conditional_entropy_diagonal"] == pytest.approx(diagonal, abs=0.05)
        assert found["entropy_diagonal"] == pytest.approx(2 * np.log(2 * np.pi * np.e))

    def test_dense_reference(self):
        views = gaussian_views(k=4, n=30)[0]
        z = np.stack([standardized(view) for view in views])
        pooled = np.cov(z.reshape(-1, 4).T, bias=True)
        within = np.mean([np.cov(z[:, i].T) for i in range(30)], axis=0)
        found = gaussian_information(views, ridge=0.01, beta=0.25)
        h, h_given_x = (multivariate_normal(cov=m + 0.01 * np.eye(4)).entropy() for m in (pooled, within))
        assert found["entropy"] == pytest.approx(h)
        assert found["conditional_entropy"] == pytest.approx(h_given_x)
        assert found["mutual_information"] == pytest.approx(h - h_given_x)
        assert found["bottleneck"] == pytest.approx(0.75 * h - h_given_x)
        assert found["within_variance"] == pytest.approx(np.trace(within))

    def test_classes_against_a_dense_reference(self):
        views, y = gaussian_views(k=3, n=30)[0], np.arange(30) % 3 * 2 - 1  # no node has class 0 or 2
        z = np.stack([standardized(view) for view in views])
        covariances = [np.cov(z[:, y == c].reshape(-1, 4).T, bias=True) for c in (-1, 1, 3)]
        found = gaussian_information(views, y, ridge=0.01, beta=0.25)
        h_given_t = multivariate_normal(cov=np.mean(covariances, axis=0) + 0.01 * np.eye(4)).entropy()
        assert found["class_entropy"] == pytest.approx(h_given_t)
        assert found["class_information"] == pytest.approx(found["entropy"] - h_given_t)
        loss = found["conditional_entropy"] - 0.25 * found["mutual_information"]
        assert found["multi_view_loss"] == pytest.approx(loss)
        without = gaussian_information(views, ridge=0.01, beta=0.25)
        assert without == {name: value for name, value in found.items() if not name.startswith("class")}

    def test_nodes_in_classes_of_their_own_are_what_nodes_are(self):
        views = gaussian_views(k=2, n=500)[0]
        each = gaussian_information(views, np.arange(500), ridge=TINY)
        # The same covariance but for the denominator, k instead of k - 1.
        assert each["class_entropy"] == pytest.approx(each["conditional_entropy"] + 2 * np.log(1 / 2))
        one = gaussian_information(views, np.zeros(500, int), ridge=TINY)
        assert one["class_information"] == pytest.approx(0, abs=1e-9)

    def test_half_the_invariance_term_for_two_views(self):
        views = gaussian_views(k=2, n=50)[0]
        a, b = (standardized(view) / np.sqrt(50) for view in views)
        assert gaussian_information(views)["within_variance"] == pytest.approx(np.linalg.norm(a - b) ** 2 / 2)

    def test_uncorrelated_dimensions_need_no_full_covariance(self):
        rng = np.random.default_rng(0)
        mu = rng.normal(size=(20_000, 3))
        found = gaussian_information([mu + 0.3 * rng.normal(size=mu.shape) for _ in range(3)], ridge=TINY)
        assert found["mutual_information"] == pytest.approx(found["mutual_information_diagonal"], abs=0.01)
        assert found["mutual_information"] == pytest.approx(1.5 * np.log(1.09 / 0.09), abs=0.02)

    def test_entropy_is_largest_when_decorrelated(self):
        # Proposition 2: ln|Sigma| <= 0 with equality for the identity
        rng = np.random.default_rng(0)
        free = rng.normal(size=(2, 5000, 3))
        tied = free + 2 * free[:, :, :1]
        assert gaussian_information(tied)["entropy"] < gaussian_information(free)["entropy"]
        assert gaussian_information(free)["entropy"] <= 1.5 * np.log(2 * np.pi * np.e * 1.001) + 1e-9


class TestLimits:
    def test_views_that_agree(self):
        view = gaussian_views(k=1, n=100)[0][0]
        found = gaussian_information([view, view, view], ridge=1e-3)
        assert found["conditional_entropy"] == pytest.approx(2 * np.log(2 * np.pi * np.e * 1e-3))
        assert found["mutual_information_diagonal"] == pytest.approx(2 * np.log(1 + 1e3))
        assert found["within_variance"] == pytest.approx(0, abs=1e-9)

    def test_views_with_nothing_in_common(self):
        found = gaussian_information(np.random.default_rng(0).normal(size=(5, 20_000, 3)))
        assert found["mutual_information"] == pytest.approx(0, abs=0.01)

    def test_collapsed_and_constant_dimensions_stay_finite(self):
        views = gaussian_views(k=2, n=50)[0]
        doubled = np.concatenate([views, views, np.full((2, 50, 1), 7.0)], axis=2)
        found, single = gaussian_information(doubled), gaussian_information(views)
        assert all(np.isfinite(value) for value in found.values())
        assert found["entropy"] < single["entropy"]
        # a constant dimension tells nothing, a repeated one little more than the first
        alone = gaussian_information(doubled[:, :, :8])
        assert found["mutual_information"] == pytest.approx(alone["mutual_information"])

    def test_more_dimensions_than_nodes(self):
        found = gaussian_information(np.random.default_rng(0).normal(size=(2, 5, 12)))
        assert np.isfinite(found["bottleneck"])


class TestInvariances:
    def test_nodes_views_and_columns(self):
        views = gaussian_views(n=40)[0]
        expected = gaussian_information(views)
        order = np.random.default_rng(0).permutation(40)
        for same in (views[:, order], views[::-1], views[:, :, ::-1], views * [1, 10, 0.1, 3] + 5):
            assert gaussian_information(same) == pytest.approx(expected)

    def test_streams(self):
        views = gaussian_views(n=40)[0]
        expected = gaussian_information(views)
        assert gaussian_information(view for view in views) == expected
        assert json.loads(json.dumps(expected)) == expected


@pytest.mark.parametrize(
    ("views", "settings", "message"),
    [
        (np.ones((1, 5, 2)), {}, "at least 2 views"),
        ([], {}, "at least 2 views"),
        (np.ones((2, 1, 2)), {}, "at least 2 nodes"),
        ([np.ones((3, 2)), np.ones((4, 2))], {}, "at position 1"),
        (np.ones((3, 2)), {}, r"views\[0\] must have shape"),
        (np.ones((2, 3, 2)), {"beta": 0}, r"beta must be in \(0, 1\], got 0"),
        (np.ones((2, 3, 2)), {"ridge": 0}, "ridge must be positive, got 0"),
    ],
)
def test_errors(views, settings, message):
    with pytest.raises(ValueError, match=message):
        gaussian_information(views, **settings)


def test_limits_and_what_is_left_out():
    views = gaussian_views(k=2, n=2, d=2)[0]  # two nodes and two views are enough
    assert gaussian_information(views) == gaussian_information(views, beta=0.5, ridge=1e-3)
    assert gaussian_information(views, beta=1)["bottleneck"] == -gaussian_information(views)["conditional_entropy"]
    for wrong, sentence in (({"beta": 0}, "beta"), ({"beta": 1.01}, "beta"), ({"ridge": 0}, "ridge")):
        with pytest.raises(ValueError, match=sentence):
            gaussian_information(views, **wrong)
    with pytest.raises(ValueError, match="at least 2 nodes"):
        gaussian_information(views[:, :1])
    with pytest.raises(ValueError, match="y has shape"):
        gaussian_information(views, [0, 1, 1])
    with pytest.raises(ValueError, match=r"at least 2 views .*got 1"):
        gaussian_information(views[:1])


def test_blocks_of_rows_are_added_up(monkeypatch):
    views = gaussian_views(k=3, n=10, d=3)[0]
    expected = gaussian_information(views)
    monkeypatch.setattr(information, "row_blocks", lambda n: (slice(i, i + 4) for i in range(0, n, 4)))
    assert gaussian_information(views) == pytest.approx(expected)


def test_diagonal_and_variance_by_hand():
    """Two nodes, two views: columns of 1 and -1, of which the second has other signs in the second view."""
    views = np.array([[[1.0, 1.0], [-1.0, -1.0]], [[1.0, -1.0], [-1.0, 1.0]]])
    found = gaussian_information(views, beta=0.25, ridge=0.5)
    # Within a node the first column never varies; the second has variance 2 (two views, one degree of freedom).
    half = [0.5 * np.log(2 * np.pi * np.e * (v + 0.5)) for v in (0.0, 1.0, 2.0)]
    assert found["within_variance"] == pytest.approx(2)
    for ending in ("", "_diagonal"):  # the covariances of both views cancel
        assert found[f"entropy{ending}"] == pytest.approx(2 * half[1])
        assert found[f"conditional_entropy{ending}"] == pytest.approx(half[0] + half[2])
        assert found[f"mutual_information{ending}"] == pytest.approx(2 * half[1] - half[0] - half[2])
        assert found[f"bottleneck{ending}"] == pytest.approx(0.75 * 2 * half[1] - half[0] - half[2])
