"""Features and averages side by side, against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from ccassg import as_graph
from ccassg.datasets import stochastic_block_graph
from ccassg.graph import Graph
from ccassg.systems import hops
from ccassg.systems.hops import Hops
from ccassg.systems.untrained import PropagatedFeatures


@pytest.fixture(scope="module", params=[False, True], ids=["dense", "sparse"])
def graph(request: pytest.FixtureRequest) -> Graph:
    return stochastic_block_graph(50, 2, 5.0, n_features=9, sparse_features=request.param, seed=3).graph


@pytest.mark.parametrize("n_hops", [0, 1, 2])
def test_each_part_is_a_power_of_the_adjacency_times_the_features_with_rows_of_length_1(
    graph: Graph, n_hops: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hops, "BLOCK_ROWS", 16)
    z = Hops(n_hops=n_hops).fit_transform(graph)
    assert z.shape == (50, 9 * (n_hops + 1))
    for hop in range(n_hops + 1):
        part = PropagatedFeatures(n_hops=hop).fit_transform(graph)
        lengths = np.linalg.norm(part, axis=1, keepdims=True)
        assert np.allclose(z[:, 9 * hop : 9 * (hop + 1)], part / np.where(lengths > 0, lengths, 1), atol=1e-6)


def test_a_row_without_features_stays_zero_and_takes_its_neighbours_in_the_next_part() -> None:
    adjacency = sp.csr_array(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]))
    z = Hops(n_hops=1).fit_transform(as_graph(adjacency, np.array([[0.0, 0], [3, 4], [0, 0]], np.float32)))
    assert np.allclose(z, [[0, 0, 0.6, 0.8], [0.6, 0.8, 0.6, 0.8], [0, 0, 0, 0]])
