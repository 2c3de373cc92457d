"""Weights that cannot be."""

import numpy as np
import pyarrow as pa
import pytest

from ccassg.io.rows import check_weights
from ccassg.io.tables import FrameTable


@pytest.mark.parametrize("bad", [-1, 1e39])
def test_weights_out_of_range_are_refused_with_their_place(bad):
    table = FrameTable(pa.table({"w": [1.0, bad]}), "it")
    check_weights(table, "w", np.array([0.0, 3e38]))
    with pytest.raises(ValueError, match=r"it, column 'w', row 1 \(counted from 0\): .* cannot be a weight"):
        check_weights(table, "w", np.array([1.0, bad]))
