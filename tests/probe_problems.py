"""Problems for linear probes: noisy clusters, and splits of their nodes."""

from types import SimpleNamespace

import numpy as np


def make_split(train, val, test):
    return SimpleNamespace(train=np.asarray(train), val=np.asarray(val), test=np.asarray(test))


def random_split(rng, n, n_train, n_val, n_test):
    order = rng.permutation(n)
    return make_split(*np.split(order[: n_train + n_val + n_test], [n_train, n_train + n_val]))


def problem(seed=0, n=120, d=12, c=4, noise=1.5, dtype=np.float64):
    """Classes as noisy clusters: hard enough that validation accuracy wanders."""
    rng = np.random.default_rng(seed)
    y = rng.integers(c, size=n)
    z = (rng.normal(size=(c, d))[y] + noise * rng.normal(size=(n, d))).astype(dtype)
    return z, y, rng
