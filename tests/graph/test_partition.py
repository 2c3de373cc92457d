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
    edges = sp.coo_array(graph.adjacency())
    crossing = {(parts[r], s) for s, r in zip(edges.row, edges.col, strict=True) if parts[s] != parts[r]}
    assert found.largest_halo == np.bincount([part for part, _ in crossing]).max()


def test_metis_finds_the_blocks_and_the_order_does_not(graph):
    metis, contiguous = (partition.partition(graph, 3, method=m) for m in ("metis", "contiguous"))
    assert partition.cost(graph, metis).cut < 0.3 * partition.cost(graph, contiguous).cut
    for one_way in (graph.adjacency(), sp.triu(graph.adjacency(), format="csr")):  # directions do not count
        assert np.array_equal(partition.partition(as_graph(one_way, directed=True), 3), metis)
    assert np.bincount(metis).max() <= 1.1 * 100


def test_every_part_has_nodes_and_every_node_a_part():
    path = as_graph(np.stack([np.arange(8), np.arange(1, 9)]))
    for directed in (False, True):
        graph = as_graph(path.adjacency(), directed=directed)
        for n_parts in range(1, 10):
            parts = partition.partition(graph, n_parts)
            assert np.bincount(parts, minlength=n_parts).min() >= 1
            assert len(np.bincount(parts)) == n_parts
            assert parts.dtype == np.int32


@pytest.mark.parametrize("n_parts", [0, 301, 2.5, True])
def test_impossible_numbers_of_parts(graph, n_parts):
    with pytest.raises(ValueError, match="between 1 and the 300 nodes, got"):
        partition.partition(graph, n_parts)
    with pytest.raises(ValueError, match="method must be"):
        partition.partition(graph, 2, method="random")


def test_an_empty_part_gets_the_last_node_of_the_largest():
    parts = partition._without_empty_parts(np.array([1, 1, 1, 3, 3, 1], np.int32), 5)
    assert parts.tolist() == [1, 4, 2, 3, 3, 0]


def test_ranges_by_hand(graph):
    assert partition.even_bounds(10, 4) == [0, 2, 5, 7, 10]
    assert partition.even_bounds(3, 1) == [0, 3]
    parts = partition.ranges_to_parts([0, 2, 5])
    assert parts.tolist() == [0, 0, 1, 1, 1]
    assert parts.dtype == np.int32
    assert partition.partition(graph, 4, method="contiguous").tolist() == np.repeat(range(4), 75).tolist()
    assert not partition.partition(graph, 1, method="metis").any()
    with pytest.raises(ValueError, match="method must be"):
        partition.partition(graph, 1, method="random")


def test_costs_by_hand():
    """0 - 1 | 2 - 3 | 4, and node 4 has an edge to 0 and one to 2; both of its parts receive it."""
    graph = as_graph(np.array([[0, 1, 2, 0, 2], [1, 2, 3, 4, 4]]))
    for at_once in (1, 2, 3, 10, 2**24):
        found = partition.cost(graph, np.array([0, 0, 1, 1, 2]), edges_at_once=at_once)
        assert found == partition.PartitionCost(cut=6, halo=6, largest=2, largest_halo=2)
    arrows = as_graph(np.array([[0, 0, 3], [1, 2, 2]]), directed=True)
    assert partition.cost(arrows, np.array([0, 1, 1, 2])) == partition.PartitionCost(3, 2, 2, 2)
    none = as_graph(np.zeros((2, 0), int), n_nodes=9)
    assert partition.cost(none, np.repeat([0, 1], [4, 5])) == partition.PartitionCost(0, 0, 5, 0)


def test_empty_parts_take_from_the_largest_in_turn():
    parts = partition._without_empty_parts(np.array([2, 2, 2, 3, 3, 3, 3], np.int32), 5)
    assert parts.tolist() == [2, 2, 1, 3, 3, 4, 0]  # of two of three nodes the first gives
