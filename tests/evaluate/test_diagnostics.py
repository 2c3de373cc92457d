import json

import numpy as np
import pytest
import torch
from scipy.spatial.distance import pdist
from scipy.stats import ortho_group

from ccassg.evaluate import diagnostics
from ccassg.evaluate.diagnostics import correlation_matrix, diagnose, moments, uniformity


def spectrum(z):
    return np.array(diagnose(z)["spectrum"])


def effective_rank(z):
    return diagnose(z)["effective_rank"]


def off_diagonal_correlation(z):
    return diagnose(z)["off_diagonal_correlation"]


def n_constant_columns(z):
    return diagnose(z)["n_constant_columns"]


def correlated(seed=0, n=200, d=6):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3


# Four corners of a square: two uncorrelated columns of variance 1.
SQUARE = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])


class TestSpectrum:
    def test_by_hand(self):
        np.testing.assert_allclose(spectrum(SQUARE * [3, 1] + 5), [9, 1])

    def test_is_the_squared_singular_values(self):
        z = correlated()
        singular = np.linalg.svd(z - z.mean(0), compute_uv=False)
        np.testing.assert_allclose(spectrum(z), singular**2 / len(z), rtol=1e-10)

    def test_more_dimensions_than_nodes(self):
        values = spectrum(correlated(n=4, d=9))
        assert values.shape == (9,)
        assert (values[:3] > 0).all()
        assert (values[3:] == 0).all()


class TestEffectiveRank:
    def test_by_hand(self):
        assert effective_rank(SQUARE) == pytest.approx(2)
        # singular values 3 : 1, entropy of (3/4, 1/4)
        assert effective_rank(SQUARE * [3, 1]) == pytest.approx(np.exp(-(0.75 * np.log(0.75) + 0.25 * np.log(0.25))))

    def test_line_and_point(self):
        line = np.arange(10.0)[:, None] * [1, 2, -1] + 7
        assert effective_rank(line) == pytest.approx(1)
        assert effective_rank(np.zeros((5, 3))) == 0
        assert effective_rank(np.full((7, 3), 0.1)) == 0  # rounding of the mean is no direction
        assert not spectrum(np.full((7, 3), 0.1)).any()

    def test_rotation_shift_scale_and_order(self):
        z = correlated()
        rank = effective_rank(z)
        assert 1 < rank < 6
        rotation = ortho_group.rvs(6, random_state=0)
        order = np.random.default_rng(0).permutation(len(z))
        for same in (z @ rotation, z + 100, z * 1e-3, z[order]):
            assert effective_rank(same) == pytest.approx(rank)

    def test_column_scaling_does_change_it(self):
        z = correlated()
        assert effective_rank(z * [1000, 1, 1, 1, 1, 1]) < effective_rank(z)


class TestCorrelation:
    def test_agrees_with_numpy_in_blocks(self):
        z = correlated()
        np.testing.assert_allclose(correlation_matrix(z), np.corrcoef(z.T), atol=1e-12)
        mean, covariance, scale = moments(z, block_rows=7)
        np.testing.assert_allclose(mean, z.mean(0))
        np.testing.assert_allclose(covariance, np.cov(z.T, bias=True), atol=1e-12)
        np.testing.assert_allclose(scale, 1 / z.std(0))

    def test_off_diagonal_by_hand(self):
        assert off_diagonal_correlation(SQUARE) == pytest.approx(0)
        # a and b uncorrelated, a + b with either 1/sqrt(2): mean of (0, r, r)
        z = np.column_stack([SQUARE, SQUARE.sum(1)])
        assert off_diagonal_correlation(z) == pytest.approx(2 / 3 / np.sqrt(2))
        assert off_diagonal_correlation(z * [1, -5, 2]) == pytest.approx(2 / 3 / np.sqrt(2))

    @pytest.mark.parametrize("value", [0.0, 0.1, -1e6])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_constant_columns_are_counted_and_left_out(self, value, dtype):
        z = np.insert(SQUARE, 1, value, axis=1).astype(dtype)
        assert n_constant_columns(z) == 1
        assert off_diagonal_correlation(z) == pytest.approx(0)
        np.testing.assert_allclose(correlation_matrix(z), np.diag([1, 0, 1]), atol=1e-12)

    def test_small_but_varying_column_is_not_constant(self):
        assert n_constant_columns(SQUARE * [1, 1e-20]) == 0
        assert n_constant_columns(SQUARE) == 0

    def test_fewer_than_two_columns_left(self):
        assert off_diagonal_correlation(SQUARE[:, :1]) == 0
        assert off_diagonal_correlation(np.ones((3, 4))) == 0


class TestUniformity:
    def test_agrees_with_all_pairs(self):
        z = correlated()
        unit = z / np.linalg.norm(z, axis=1, keepdims=True)
        assert uniformity(z) == pytest.approx(np.log(np.exp(-2 * pdist(unit) ** 2).mean()))

    def test_by_hand(self):
        assert uniformity(np.array([[1.0, 0.0], [-2.0, 0.0]])) == pytest.approx(-8)
        assert uniformity(np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])) == pytest.approx(0, abs=1e-12)

    def test_sample_is_seeded_and_close(self):
        z = correlated(n=3000)
        a, b = (uniformity(z, n_sample=1000, seed=3) for _ in range(2))
        assert a == b
        assert a != uniformity(z, n_sample=1000, seed=4)
        assert uniformity(z) == uniformity(z, n_sample=2048, seed=0)
        assert uniformity(z, n_sample=len(z)) == uniformity(z, n_sample=len(z) + 1)
        assert a == pytest.approx(uniformity(z, n_sample=3000), abs=0.1)

    def test_errors(self):
        with pytest.raises(ValueError, match="at least 2 rows"):
            uniformity(np.ones((1, 3)))
        with pytest.raises(ValueError, match="n_sample >= 2, got 4 and 1"):
            uniformity(SQUARE, n_sample=1)


class TestDiagnose:
    def test_a_sound_embedding_has_no_warnings(self):
        z = np.random.default_rng(0).normal(size=(300, 20)).astype(np.float32)
        found = diagnose(torch.from_numpy(z))
        assert found["warnings"] == []
        singular = np.linalg.svd(z - z.mean(0), compute_uv=False)
        p = singular / singular.sum()
        assert found["effective_rank"] == pytest.approx(np.exp(-(p * np.log(p)).sum()), rel=1e-5)
        absolute = np.abs(np.corrcoef(z.T))
        assert found["off_diagonal_correlation"] == pytest.approx((absolute.sum() - 20) / 380, rel=1e-5)
        assert found["uniformity"] == pytest.approx(uniformity(z))
        assert found["top_variance_share"] == pytest.approx(singular[0] ** 2 / (singular**2).sum(), rel=1e-5)
        assert (found["n_nodes"], found["n_dims"], found["n_constant_columns"]) == (300, 20, 0)
        assert json.loads(json.dumps(found)) == found

    @pytest.mark.parametrize(
        ("z", "expected"),
        [
            (np.full((9, 3), 2.5), "Complete collapse"),
            (correlated(n=100, d=3) * 1e-4 + 1, "Near-complete collapse"),
            (np.hstack([correlated(), np.zeros((200, 2))]), "2 of 8 dimensions are constant"),
            (np.insert(correlated(), 2, 5, axis=1), "1 of 7 dimensions is constant"),
            (np.random.default_rng(0).normal(size=(99, 1)) * np.ones(40), "uses about 1.0 of 40 possible"),
            (np.random.default_rng(0).normal(size=(99, 1)) * np.ones(40), "correlate by 1.00 on average"),
            (np.random.default_rng(0).normal(size=(99, 1)) * np.ones(2), "two of them correlate by 1.00 on average"),
        ],
    )
    def test_warnings(self, z, expected):
        warnings = diagnose(z)["warnings"]
        assert any(expected in warning for warning in warnings), warnings

    @pytest.mark.parametrize(("squared_distance", "collapsed"), [(0.03, False), (0.02, True)])
    def test_where_collapse_begins(self, squared_distance, collapsed):
        cosine = 1 - squared_distance / 2
        z = np.array([[1, 0], [cosine, (1 - cosine**2) ** 0.5]])
        assert uniformity(z) == pytest.approx(-2 * squared_distance)
        assert any("Near-complete" in warning for warning in diagnose(z)["warnings"]) is collapsed

    def test_one_node(self):
        found = diagnose(np.ones((1, 3)))
        assert found["uniformity"] is None
        assert found["effective_rank"] == 0
        assert found["warnings"] == []
        assert json.loads(json.dumps(found)) == found

    def test_of_very_many_nodes_a_sample_is_measured(self, monkeypatch):
        z = np.random.default_rng(0).normal(size=(3000, 4)) * [1, 1, 2, 3]
        whole = diagnose(z)
        monkeypatch.setattr(diagnostics, "MAX_PRODUCTS", 1000 * 4**2)
        seen = []
        monkeypatch.setattr(diagnostics, "row_blocks", lambda n, *rest: seen.append(n) or [slice(0, n)])
        assert diagnose(z)["effective_rank"] == pytest.approx(whole["effective_rank"], rel=0.02)
        assert seen == [1000]


FINE = {
    "n_nodes": 100,
    "n_dims": 20,
    "n_constant_columns": 0,
    "effective_rank": 15.0,
    "off_diagonal_correlation": 0.1,
    "uniformity": -2.0,
}


WIDTH = {"embedding_dim": 20}


class TestLimits:
    """What is warned of, from both sides of every limit."""

    @pytest.mark.parametrize(
        ("change", "settings", "beginnings"),
        [
            ({}, None, []),
            ({"uniformity": -0.05}, None, []),
            ({"uniformity": -0.049}, None, ["Near-complete"]),
            ({"effective_rank": 2.0}, None, []),
            ({"effective_rank": 1.99}, None, ["Collapsed"]),
            ({"effective_rank": 1.79, "n_constant_columns": 2}, None, ["2 of 20", "Collapsed"]),
            ({"effective_rank": 1.81, "n_constant_columns": 2}, None, ["2 of 20"]),
            ({"effective_rank": 0.89, "n_nodes": 10}, None, ["Collapsed"]),
            ({"effective_rank": 0.91, "n_nodes": 10}, None, []),
            ({"effective_rank": 0.0, "n_nodes": 2}, None, []),
            ({"effective_rank": 0.1, "n_nodes": 3}, WIDTH, ["Collapsed", "20 dimensions for 3"]),
            ({"effective_rank": 0.1}, {"encoder": "canonical"}, []),
            ({"off_diagonal_correlation": 0.5}, None, []),
            ({"off_diagonal_correlation": 0.51}, None, ["Redundant"]),
            ({"off_diagonal_correlation": 0.9, "n_constant_columns": 19}, None, ["19 of 20"]),
            ({"n_nodes": 20}, WIDTH, ["20 dimensions for 20"]),
            ({"n_nodes": 21}, WIDTH, []),
            ({"n_nodes": 20}, None, []),  # nobody is known to have chosen it
            ({"n_nodes": 20}, {"encoder": "gcn"}, []),
            ({"n_nodes": 20}, {"encoder": "canonical"} | WIDTH, []),
            ({"n_nodes": 1, "uniformity": None}, None, []),
            ({"n_constant_columns": 20}, None, ["Complete collapse"]),
        ],
    )
    def test_warnings(self, change, settings, beginnings):
        found = diagnostics.warnings_about(FINE | change, settings)
        assert len(found) == len(beginnings)
        assert all(text.startswith(begin) for text, begin in zip(found, beginnings, strict=True))

    @pytest.mark.parametrize(
        ("settings", "rate", "weight"),
        [
            (None, True, True),
            ({}, False, False),
            ({"learning_rate": 0.1}, True, False),
            ({"learning_rate": 0.1, "decorrelation": 1.0}, True, True),
            ({"decorrelation": 1.0}, False, False),
        ],
    )
    def test_advice_names_only_what_can_be_set(self, settings, rate, weight):
        (text,) = diagnostics.warnings_about(FINE | {"n_constant_columns": 20}, settings)
        assert text.endswith("lower the learning rate." if rate else "look at the features.")
        text = diagnostics.warnings_about(FINE | {"effective_rank": 1.0}, settings)[0]
        assert ("larger decorrelation weight" in text) == weight

    @pytest.mark.parametrize(("ratio", "n_constant"), [(0.99e-6, 1), (1.01e-6, 0)])
    def test_a_millionth_of_the_mean_is_constant(self, ratio, n_constant):
        z = np.column_stack([SQUARE[:, 0], 1 + ratio * SQUARE[:, 1]])
        assert diagnose(z)["n_constant_columns"] == n_constant

    def test_values_of_no_pairs_and_of_samples(self, monkeypatch):
        z = correlated(n=30, d=3)
        assert diagnose(np.ones((4, 2)))["top_variance_share"] == 0
        assert diagnose(z[:2])["uniformity"] == pytest.approx(uniformity(z[:2]))
        assert uniformity(z, n_sample=2, seed=1) == uniformity(z[np.random.default_rng(1).choice(30, 2, replace=False)])
        assert uniformity(z) == uniformity(z, n_sample=30)
        for products, n in ((30 * 9, 30), (30 * 9 - 1, 29), (9, 12)):  # no fewer than four times the columns
            monkeypatch.setattr(diagnostics, "MAX_PRODUCTS", products)
            some = z if n == 30 else z[np.sort(np.random.default_rng(0).choice(30, n, replace=False))]
            np.testing.assert_allclose(moments(z).covariance, np.cov(some.T, bias=True), atol=1e-12)

    def test_a_sample_of_2048_rows_is_drawn_once(self):
        z = correlated(n=2060, d=3)
        some = np.random.default_rng(0).choice(2060, 2048, replace=False)
        assert uniformity(z) == uniformity(z[some])

    def test_opposite_columns_correlate_by_exactly_minus_one(self):
        z = np.random.default_rng(0).normal(size=(7, 50)) * 0.1
        both = correlation_matrix(np.hstack([z, -z, 3 * z]))
        assert abs(both).max() == 1
        assert np.diag(both).min() > 1 - 1e-12
        assert both[0, 50] == pytest.approx(-1)

    def test_sums_of_single_precision_are_in_double(self):
        z = (np.random.default_rng(0).normal(size=(3000, 2)) + 1000).astype(np.float32)
        exact = z.astype(np.float64)
        np.testing.assert_allclose(moments(z).mean, exact.mean(0), rtol=1e-14)
        np.testing.assert_allclose(moments(z).covariance, np.cov(exact.T, bias=True), rtol=1e-9)

    def test_constant_columns_do_not_thin_the_mean_of_the_correlations(self):
        z = correlated()
        both = np.hstack([z, np.full((200, 2), 3.0)])
        assert diagnose(both)["off_diagonal_correlation"] == pytest.approx(diagnose(z)["off_diagonal_correlation"])

    def test_the_first_direction_has_its_share_however_small_all_are(self):
        assert diagnose(SQUARE * [0.3, 0.1])["top_variance_share"] == pytest.approx(0.9)


@pytest.mark.parametrize(("least", "kept"), [(2, False), (3, True)])
def test_directions_of_the_size_of_rounding_errors_are_none(least, kept):
    eps = np.finfo(float).eps  # of two dimensions, twice as much is rounding
    columns = diagnostics.Moments(np.zeros(2), np.diag([1, least * eps]), np.ones(2))
    assert diagnostics._eigenvalues(columns).tolist() == [1, least * eps if kept else 0]
