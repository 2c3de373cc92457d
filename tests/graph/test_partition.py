import numpy as np
import pytest
import scipy.sparse as sp

from ccassg import as_graph
from ccassg.datasets import stochastic_block_graph
from ccassg.graph import partition


@pytest.fixture(scope="module")
def graph():
    return stochastic_block_graph(n_nodes=300, n_classes=3, mean_degree=8, homophily=0.95, seed=1).graph


def counted(graph, parts):
    """Cut and halo, the slow way."""
    edges = sp.coo_array(graph.adjacency())
    crossing = [(s, r) for s, r in zip(edges.row, edges.col, strict=True) if parts[s] != parts[r]]
    return len(crossing), len({(parts[r], s) for s, r in crossing})


@pytest.mark.parametrize("method", ["metis", "contiguous"])
@pytest.mark.parametrize("chunk", [50, 2**24])
def test_cost_counts_what_crosses(graph, method, chunk):
    parts = partition.partition(graph, 3, method=method)
    found = partition.cost(graph, parts, edges_at_once=chunk)
    assert (found.cut, found.halo) == counted(graph, parts)
    assert found.largest == np.bincount(parts).max()
    assert found.largest_halo <= found.halo <= 3 * found.largest_halo


def test_metis_finds_the_blocks_and_the_order_does_not(graph):
    metis, contiguous = (partition.partition(graph, 3, method=m) for m in ("metis", "contiguous"))
    assert partition.cost(graph, metis).cut < 0.3 * partition.cost(graph, contiguous).cut
    assert np.bincount(metis).max() <= 1.1 * 100


def test_every_part_has_nodes_and_every_node_a_part():
    path = as_graph(np.stack([np.arange(8), np.arange(1, 9)]))
    for directed in (False, True):
        graph = as_graph(path.adjacency(), directed=directed)
        for n_parts in range(1, 10):
            parts = partition.partition(graph, n_parts)
            assert np.bincount(parts, minlength=n_parts).min() >= 1
            assert len(np.bincount(parts)) == n_parts


@pytest.mark.parametrize("n_parts", [0, 301, 2.5, True])
def test_impossible_numbers_of_parts(graph, n_parts):
    with pytest.raises(ValueError, match="between 1 and the 300 nodes, got"):
        partition.partition(graph, n_parts)
    with pytest.raises(ValueError, match="method must be"):
        partition.partition(graph, 2, method="random")


def test_an_empty_part_gets_the_last_node_of_the_largest():
    parts = partition._without_empty_parts(np.array([1, 1, 1, 3, 3, 1], np.int32), 5)
    assert parts.tolist() == [1, 4, 2, 3, 3, 0]
