"""Graphs of every kind, for what writes and reads them."""

import numpy as np
import pytest
import scipy.sparse as sp

from ccassg import Dataset, as_graph
from ccassg.io.storewriter import write_store

N, F = 60, 7


@pytest.fixture(params=["dense", "sparse", "weighted directed", "bare"])
def graph(request):
    """A graph of 60 nodes: with features or without, with weights or without."""
    rng = np.random.default_rng(0)
    pattern = sp.random(N, N, density=0.08, random_state=1, format="csr")
    features = rng.normal(size=(N, F)).astype(np.float32)
    if request.param == "dense":
        return as_graph(pattern.astype(bool), features, node_ids=[f"node {i}" for i in range(N)])
    if request.param == "sparse":
        return as_graph(pattern.astype(bool), sp.csr_array(np.where(features > 0.5, features, 0)))
    if request.param == "weighted directed":
        return as_graph(pattern, features, directed=True, node_ids=np.arange(N) * 10)
    return as_graph(pattern.astype(bool))


@pytest.fixture
def small(tmp_path):
    """The folder of a store of four nodes."""
    path = tmp_path / "s"
    graph = as_graph(np.array([[0, 1, 2], [1, 2, 3]]), sp.csr_array(np.eye(4)), node_ids=list("abcd"))
    write_store(path, Dataset(graph, np.zeros(4, int)))
    return path
