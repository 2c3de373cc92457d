"""Graphs of every kind, for what writes and reads them."""

import numpy as np
import pytest
import scipy.sparse as sp

from ccassg import as_graph

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
