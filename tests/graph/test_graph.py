"""The container."""

import dataclasses

import numpy as np
import pytest

from ccassg import as_graph


def test_frozen():
    graph = as_graph(np.array([[0, 1], [1, 2]]), np.eye(3))
    with pytest.raises(dataclasses.FrozenInstanceError):
        graph.features = None
    assert "nodes: 3" in repr(graph)


def test_counts_describe_the_graph():
    graph = as_graph(np.array([[0, 1], [1, 2]]), np.ones((4, 3)))
    assert graph.counts() == {"nodes": 4, "edges": 4, "isolated": 1, "features": 3}
