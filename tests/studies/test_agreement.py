"""How well two descriptions of the same nodes agree."""

import numpy as np
import pytest

from studies.agreement import agreement


def reference(a, b):
    """The unbiased alignment from n x n kernels, as its authors write it."""

    def centred(x):
        x = x - x.mean(0)
        k = x @ x.T
        np.fill_diagonal(k, 0)
        n, sums = len(k), k.sum(0)
        k = k - sums[:, None] / (n - 2) - sums[None] / (n - 2) + sums.sum() / ((n - 1) * (n - 2))
        np.fill_diagonal(k, 0)
        return k

    k, m = centred(a), centred(b)
    return (k * m).sum() / np.sqrt((k * k).sum() * (m * m).sum())


def test_agreement_equals_the_reference_and_does_not_see_rotation_shift_or_scale():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(60, 5))
    b = a[:, :3] + rng.normal(size=(60, 3))
    assert agreement(a, b) == pytest.approx(reference(a, b), rel=1e-9)
    turn = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    assert agreement(3 * a @ turn + 7, b) == pytest.approx(agreement(a, b), rel=1e-9)
    assert agreement(a, a) == pytest.approx(1)


def test_independent_descriptions_do_not_agree_whatever_their_width():
    rng = np.random.default_rng(0)
    values = [agreement(rng.normal(size=(300, 200)), rng.normal(size=(300, 200))) for _ in range(5)]
    assert abs(np.mean(values)) < 0.01
    assert agreement(np.ones((10, 3)), rng.normal(size=(10, 3))) == 0
