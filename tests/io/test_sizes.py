"""How far sizes are apart, what is said of it, and which matrices are left alone."""

import numpy as np
import pytest
import scipy.sparse as sp

from ccassg.io.sizes import Spread, mostly_zeros, says_scaled, spread_of, spread_of_matrix


def test_alike_up_to_ten_times():
    assert spread_of({}) is None
    assert spread_of({"a": 0.0}) is None
    assert spread_of({"a": 1.0, "b": 10.0, "nothing": 0.0}) is None
    assert spread_of({"a": 1.0, "b": 10.5, "c": 2.0}) == Spread("b", "a", 10.5, 1.0)


@pytest.mark.parametrize(("times", "shown"), [(11, "11"), (4873.2, "4,900"), (2e6, "2,000,000"), (3e40, "3e+40")])
def test_the_note_shows_two_digits(times, shown):
    assert says_scaled("n.csv", Spread("age", "share", times, 1.0)) == (
        f"n.csv: columns differ in size up to {shown} times ('age', 'share'): those of numbers were brought to mean 0 and "
        f"deviation 1; `scale=False` keeps them as they are"
    )


def test_matrices():
    x = (np.random.default_rng(0).normal(size=(200, 80)) + 1).astype(np.float32)
    assert spread_of_matrix(x) is None
    assert spread_of_matrix(x * 1000) is None  # large, but alike
    sizes = np.where(np.arange(80) == 6, 1000, 1).astype(np.float32)
    spread = spread_of_matrix(x * sizes)
    assert spread.large == "column 7"
    words = np.where(np.random.default_rng(1).random(x.shape) < 0.1, x, 0) * sizes
    assert spread_of_matrix(words) is None  # sparse but for its format
    assert spread_of_matrix(words[:, :64]) is not None
    left, values, _ = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    components = (left * values * np.logspace(0, -2, 80)).astype(np.float32)
    assert spread_of_matrix(components) is None
    assert spread_of_matrix(components[:, ::-1]) is not None
    assert spread_of_matrix(x[:0]) is None


def test_mostly_zeros_counts_over_all_blocks():
    wide = np.eye(70, dtype=np.float32)
    assert mostly_zeros([wide])
    assert mostly_zeros([sp.csr_array(wide), np.ones((70, 3))])
    assert not mostly_zeros([wide, np.ones((70, 40))])
    assert not mostly_zeros([wide[:, :64]])
    assert not mostly_zeros([])
