"""The benchmark of several processes trains the same model on each number of them, and says what each process took."""

import numpy as np
import pytest

from ccassg.bench.ranks import compare_ranks


@pytest.mark.slow
def test_one_and_two_processes_agree_and_are_measured():
    lines = []
    result = compare_ranks((1, 2), n_nodes=2000, n_steps=2, say=lines.append)
    alone, together = result["rows"]
    np.testing.assert_allclose(alone["loss"], together["loss"], rtol=1e-4)
    assert len(alone["ranks"]) == 1
    assert len(together["ranks"]) == 2
    assert alone["ranks"][0]["bytes_per_step"] == 0
    # Three Grams of 128 x 128 floats at least.
    assert all(rank["bytes_per_step"] > 3 * 4 * 128**2 for rank in together["ranks"])
    assert all(rank["peak_memory"] > 1e7 for rank in together["ranks"])
    assert len(lines) == 2
