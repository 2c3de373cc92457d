"""A rank's part of a graph: its own nodes, its halo, and what others need of it."""

import numpy as np
import scipy.sparse as sp

from ccassg import as_graph
from ccassg.datasets import stochastic_block_graph
from ccassg.graph.partition import even_bounds, partition, ranges_to_parts
from ccassg.io.store import open_store
from ccassg.io.storewriter import write_store
from ccassg.training.shards import make_shard, parts_for_ranks

N = 150


def test_parts_of_a_block_model_cost_little_traffic():
    graph = stochastic_block_graph(n_nodes=400, n_classes=2, mean_degree=8, homophily=0.97, seed=0).graph
    parts = partition(graph, 2)

    class Alone:
        rank, size = 0, 2

    nodes, _, exchange = make_shard(graph, parts, Alone(), False)
    own = np.flatnonzero(parts == 0)
    assert np.array_equal(nodes[: len(own)], own)
    inside = graph.adjacency()[own].indices
    foreign = np.unique(inside[parts[inside] == 1])
    assert np.array_equal(nodes[len(own) :], foreign)
    assert exchange.receive_counts == [0, len(foreign)]
    assert len(foreign) < 0.3 * len(own)
    # What the other part needs of this one is what sends to it.
    there = graph.adjacency()[np.flatnonzero(parts == 1)].indices
    needed = np.unique(there[parts[there] == 0])
    assert exchange.send_counts == [0, len(needed)]
    assert np.array_equal(own[exchange.sent_rows], needed)


def test_ranks_take_the_parts_of_a_store(tmp_path):
    graph = as_graph(sp.random(N, N, density=0.05, random_state=0).astype(bool), np.ones((N, 2)))
    write_store(tmp_path / "s", graph, parts=partition(graph, 4))
    stored = open_store(tmp_path / "s").graph
    assert (np.diff(parts_for_ranks(stored, 4)) >= 0).all()
    four, two = parts_for_ranks(stored, 4), parts_for_ranks(stored, 2)
    assert np.array_equal(four // 2, two)
    assert np.array_equal(parts_for_ranks(stored, 6), ranges_to_parts(even_bounds(N, 6)))
    assert np.array_equal(parts_for_ranks(graph, 2), partition(graph, 2))
