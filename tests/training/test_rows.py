"""Rows of a graph's arrays are those of the whole matrices."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ccassg import as_graph
from ccassg.training.rows import Rows, feature_tensor, neighbours, rows_of_features

N, F = 30, 7
PATTERN = sp.random(N, N, density=0.2, random_state=0)
FEATURES = sp.random(N, F, density=0.3, random_state=1, format="csr", dtype=np.float32)
NODES = torch.tensor([4, 0, 29, 4])


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_neighbours(directed, weighted):
    graph = as_graph(PATTERN if weighted else PATTERN.astype(bool), FEATURES, directed=directed)
    received, sent = neighbours(graph)
    dense = graph.adjacency().toarray()
    for rows, whole in ((received, dense.T), (sent, dense)):
        np.testing.assert_array_equal(rows[NODES].to_dense(), whole[NODES])
        assert rows.counts(NODES).tolist() == (whole[NODES] != 0).sum(1).tolist()
    assert (received is sent) is not directed


def test_features_sparse_and_dense():
    sparse_graph, dense_graph = as_graph(PATTERN, FEATURES), as_graph(PATTERN, FEATURES.toarray())
    sparse_rows, dense_rows = rows_of_features(sparse_graph), rows_of_features(dense_graph)
    assert isinstance(sparse_rows, Rows)
    np.testing.assert_array_equal(sparse_rows[NODES].to_dense(), dense_rows[NODES])
    np.testing.assert_array_equal(feature_tensor(sparse_graph, "cpu").to_dense(), feature_tensor(dense_graph, "cpu"))


def test_a_graph_without_features_is_refused():
    for take in (rows_of_features, lambda graph: feature_tensor(graph, "cpu")):
        with pytest.raises(ValueError, match="the graph has no features"):
            take(as_graph(PATTERN))
