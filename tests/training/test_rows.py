"""Rows of a graph's arrays are those of the whole matrices."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ccassg import as_graph, open_store, write_store
from ccassg.graph import sparse
from ccassg.graph.sparse import CSR
from ccassg.training.rows import feature_tensor, neighbours, take_rows

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
        taken = sparse.select_rows(rows, NODES)
        np.testing.assert_array_equal(taken.to_dense(), whole[NODES])
        for values in (rows.values, taken.values):
            assert values.untyped_storage().nbytes() == 4 * (len(values) if weighted else 1)
    assert (received is sent) is not directed


def test_features_sparse_and_dense():
    sparse_graph, dense_graph = as_graph(PATTERN, FEATURES), as_graph(PATTERN, FEATURES.toarray())
    thin, dense = feature_tensor(sparse_graph, "cpu"), feature_tensor(dense_graph, "cpu")
    assert isinstance(thin, CSR)
    np.testing.assert_array_equal(thin.to_dense(), dense)
    np.testing.assert_array_equal(take_rows(thin, NODES).to_dense(), take_rows(dense, NODES))


def test_features_stay_where_they_lie(tmp_path):
    for features in (FEATURES, FEATURES.toarray()):
        write_store(tmp_path / "store", as_graph(PATTERN, features), overwrite=True)
        graph = open_store(tmp_path / "store").graph
        tensor = feature_tensor(graph, "cpu")
        pairs = [(tensor, graph.features)]
        if isinstance(tensor, CSR):
            pairs = [(tensor.values, graph.features.data), (tensor.indices, graph.features.indices)]
        assert all(np.shares_memory(mine.numpy(), stored) for mine, stored in pairs)


def test_a_graph_without_features_is_refused():
    with pytest.raises(ValueError, match="the graph has no features"):
        feature_tensor(as_graph(PATTERN), "cpu")
