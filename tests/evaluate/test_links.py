"""Missing edges: what is held out, how it is scored, what is suggested."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from ccassg import CCASSG, Dataset, as_graph, structural_features
from ccassg.datasets import stochastic_block_graph
from ccassg.evaluate import links
from ccassg.evaluate.links import compare, hold_out, link_scores, suggest_links
from ccassg.graph.structural import structural_names

N = 200


@pytest.fixture(scope="module")
def graph():
    drawn = stochastic_block_graph(N, 4, 8.0, 0.9, n_features=12, seed=0).graph
    weights = sp.triu(drawn.adjacency()) * 2
    return as_graph((weights + weights.T).tocsr(), drawn.features, node_ids=[f"n{i}" for i in range(N)])


@pytest.fixture(scope="module")
def z():
    return np.random.default_rng(1).normal(size=(N, 6)).astype(np.float32)


def pairs_of(graph):
    return {tuple(pair) for pair in np.stack(sp.triu(graph.adjacency()).nonzero(), axis=1).tolist()}


def as_set(pairs):
    return {tuple(pair) for pair in pairs.T.tolist()}


def test_held_out_edges_are_in_no_part_twice_nor_in_the_graph(graph):
    kept, parts = hold_out(graph, seed=3)
    everything = pairs_of(graph)
    edges = {name: as_set(pair[0]) for name, pair in parts.items()}
    assert {name: len(found) for name, found in edges.items()} == {
        "val": len(everything) // 20,
        "test": len(everything) // 10,
        "train": len(everything) - len(everything) // 20 - len(everything) // 10,
    }
    assert set.union(*edges.values()) == everything
    assert pairs_of(kept) == edges["train"]
    assert (kept.weights == 2).all()
    assert (kept.adjacency() != kept.adjacency().T).nnz == 0
    assert kept.ids is graph.ids
    others = [as_set(pair[1]) for pair in parts.values()]
    assert [len(found) for found in others] == [len(found) for found in edges.values()]
    assert len(set.union(*others)) == sum(map(len, others))
    assert not set.union(*others) & everything
    assert all(i < j for found in others for i, j in found)


def test_the_same_seed_holds_out_the_same(graph):
    first, again, other = (hold_out(graph, seed)[1]["test"][0] for seed in (0, 0, 1))
    assert (first == again).all()
    assert as_set(first) != as_set(other)


def test_random_pairs_are_drawn_evenly():
    edges = np.stack([np.zeros(50, np.int64), np.arange(1, 51)])
    drawn = np.concatenate([links._non_edges(edges, 60, np.random.default_rng(s)) for s in range(200)], axis=1)
    expected = 200 * 50 * 59 / (60 * 59 / 2 - 50)  # about so often each node from 51 on
    counts = np.bincount(drawn.ravel(), minlength=60)[51:]
    assert (abs(counts - expected) < 6 * np.sqrt(expected)).all()


def test_directions_do_not_count():
    directed = as_graph(np.array([[0] * 30 + list(range(31, 61)), [*range(1, 31), *[0] * 30]]), directed=True)
    kept, parts = hold_out(directed)
    assert sum(pair[0].shape[1] for pair in parts.values()) == 60
    assert not kept.directed


def test_simple_rules_against_networkx(graph):
    kept, parts = hold_out(graph, seed=0)
    peer = nx.from_scipy_sparse_array(kept.adjacency())
    x, loops = kept.features, kept.adjacency().astype(bool).astype(float) + sp.eye_array(N)
    degrees = loops.sum(axis=1)
    averaged = loops.toarray() / np.sqrt(np.outer(degrees, degrees)) @ x
    rules = {
        "common neighbours": lambda i, j: len(list(nx.common_neighbors(peer, i, j))),
        "Adamic-Adar": lambda i, j: next(nx.adamic_adar_index(peer, [(i, j)]))[2],
        "cosine of A^k X": lambda i, j: averaged[i] @ averaged[j] / np.linalg.norm(averaged[[i, j]], axis=1).prod(),
    }
    found = compare(x, kept, parts | {"val": parts["test"]})
    for name, rule in rules.items():
        edges, others = ([rule(int(i), int(j)) for i, j in pairs.T] for pairs in parts["test"])
        above = np.mean([(a > b) + 0.5 * (a == b) for a in edges for b in others])
        if name == "cosine of A^k X":
            assert found[name]["auc"] >= above - 1e-6  # the best of several k, of which this is one
            found[name] = found[name] if found[name]["k"] == 1 else {"auc": above}
        assert found[name]["auc"] == pytest.approx(above, abs=1e-6), name


@pytest.mark.parametrize(("cells", "looks_far"), [(12 * N, True), (12 * N - 2, False)])
def test_features_are_averaged_while_they_cannot_fill_up(graph, monkeypatch, cells, looks_far):
    monkeypatch.setattr(links, "MAX_CELLS", cells // 2)
    noisy = graph.with_features(sp.csr_array(graph.features + np.random.default_rng(0).normal(0, 1.5, (N, 12))))
    kept, parts = hold_out(noisy)
    assert (compare(np.ones((N, 1)), kept, parts)["cosine of A^k X"]["k"] > 0) == looks_far


def test_hits_are_edges_above_the_fiftieth_other_pair():
    left = np.arange(200, dtype=np.float32)[:, None]
    edges = np.array([[100, 149, 150, 151, 199], [0] * 5])
    others = np.stack([np.arange(101, 200), np.zeros(99, np.int64)])  # the fiftieth from above is 150
    right = np.ones((200, 1), np.float32)
    assert links.measure(left, right, (edges, others))["hits@50"] == pytest.approx(2 / 5)
    assert links.measure(left, right, (edges, others[:, :49]))["hits@50"] is None


class Spy(BaseEstimator):
    """Remembers what it was fitted on, and embeds by it."""

    seen = None

    def fit_transform(self, data):
        Spy.seen = data
        return np.asarray(data.graph.features if isinstance(data, Dataset) else data.features)


def test_a_model_sees_no_held_out_edge(graph):
    link_scores(Spy(), graph, seed=5)
    kept, parts = hold_out(graph, seed=5)
    assert pairs_of(Spy.seen) == pairs_of(kept)
    assert not pairs_of(Spy.seen) & as_set(parts["test"][0])


def test_features_made_from_edges_are_made_again(graph):
    data = Dataset(graph.with_features(structural_features(graph, 4)), feature_names=structural_names(9))
    link_scores(Spy(), data)
    kept, _ = hold_out(graph)
    assert Spy.seen.structural
    np.testing.assert_array_equal(Spy.seen.graph.features, structural_features(kept, 4))


def test_weights_are_learned_where_a_cosine_is_no_use():
    """Nodes that differ in their first entry are linked, whatever the others are."""
    rng = np.random.default_rng(0)
    z = rng.choice([-1.0, 1.0], size=(N, 8)).astype(np.float32)
    i, j = np.triu_indices(N, 1)
    linked = (z[i, 0] != z[j, 0]) & (rng.random(len(i)) < 0.1)
    kept, parts = hold_out(as_graph(np.stack([i[linked], j[linked]]), n_nodes=N))
    found = compare(z, kept, parts)
    assert found["embedding"]["auc"] > 0.7 > 0.5 > found["cosine"]["auc"]
    assert "cosine of A^k X" not in found


def test_a_planted_edge_is_suggested_first(graph, z):
    z = z.copy()
    i, j = 17, 42
    z[j] = z[i]
    linked = graph.adjacency().tolil()
    linked[i, j] = linked[j, i] = 0
    whole = as_graph(linked.tocsr())
    near = z[whole.adjacency().nonzero()[1]]
    z[whole.adjacency().nonzero()[0]] += 0.3 * near  # so that there is something to learn
    z[j] = z[i]
    pairs, scores = suggest_links(z, whole, node=i, k=3)
    assert pairs[0].tolist() == [i, j]
    assert scores[0] == max(scores)


@pytest.mark.parametrize("block", [2**22, 700, 1])
def test_blocks_agree_with_the_whole_matrix(graph, z, monkeypatch, block):
    monkeypatch.setattr(links, "BLOCK_CELLS", block)
    pairs, scores = suggest_links(z, graph, k=50)
    assert pairs.shape == (50, 2)
    assert (np.diff(scores) <= 0).all()
    assert not as_set(pairs.T) & pairs_of(graph)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    best = {}
    for node in range(N):
        for (i, j), score in zip(*suggest_links(z, graph, node=node, k=N), strict=True):
            best[min(i, j), max(i, j)] = score
    assert len(best) == N * (N - 1) // 2 - len(pairs_of(graph))
    np.testing.assert_allclose(scores, sorted(best.values(), reverse=True)[:50], atol=1e-6)
    np.testing.assert_allclose([best[i, j] for i, j in pairs.tolist()], scores, atol=1e-6)


def test_no_more_than_there_are():
    star = as_graph(np.array([[0, 0, 0], [1, 2, 3]]))
    z = np.eye(4, 3)
    assert suggest_links(z, star, k=20)[0].tolist() in (
        [[1, 2], [1, 3], [2, 3]],
        [[2, 3], [1, 2], [1, 3]],
        [[1, 3], [1, 2], [2, 3]],
    )
    assert len(suggest_links(z, star, node=0)[0]) == 0


def test_memory_is_bounded_by_blocks(bounded):
    """All pairs of 17,000 nodes, in single precision, are 1.2 GB."""
    rng = np.random.default_rng(0)
    n = 17_000
    graph, z = as_graph(rng.integers(0, n, (2, 60_000)), n_nodes=n), rng.normal(size=(n, 4)).astype(np.float32)
    bounded()
    assert suggest_links(z, graph, k=5)[0].shape == (5, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"z": np.ones((3, 2))}, "z has 3 rows, but the graph has 200 nodes; give its own embedding"),
        ({"node": N}, r"node must be in 0 \.\. 199"),
        ({"node": "a"}, "node must be a list of node numbers"),
        ({"k": 0}, "k must be an integer, at least 1, got 0"),
        ({"k": 10**12}, "k must be at most 1000000"),
        ({"seed": -1}, "seed must be an integer, at least 0"),
        ({"graph": as_graph(np.zeros((2, 0), int), n_nodes=N)}, "links are learned from pairs with an edge and pairs"),
    ],
)
def test_wrong_arguments(graph, z, change, message):
    with pytest.raises(ValueError, match=message):
        suggest_links(**({"z": z, "graph": graph} | change))


def test_too_few_or_too_many_edges_to_hold_out():
    with pytest.raises(ValueError, match=r"takes a graph with 40 edges or more, .* got 3 edges"):
        hold_out(as_graph(np.array([[0, 0, 0], [1, 2, 3]]), n_nodes=50))
    complete = as_graph(np.stack(np.triu_indices(20, 1)))
    with pytest.raises(ValueError, match=r"on a third of all 190 pairs of nodes or less, got 190 edges"):
        link_scores(CCASSG(), complete)


def test_cora_is_found_again(dataset):
    found = link_scores(CCASSG(random_state=0), dataset("cora"))
    assert found["embedding"]["auc"] > 0.94
    assert (
        found["embedding"]["auc"]
        > max(found[name]["auc"] for name in found if name not in ("embedding", "cosine")) + 0.02
    )


def test_links_need_pairs_with_and_without_an_edge():
    z = np.random.default_rng(0).normal(size=(4, 3))
    pairs = np.stack(np.triu_indices(4, 1))
    with pytest.raises(ValueError, match="has only one of both"):
        suggest_links(z, as_graph(pairs))
    found, _ = suggest_links(z, as_graph(pairs[:, 1:]), k=1)
    assert found.tolist() == [pairs[:, 0].tolist()]


def test_suggestions_are_those_of_all_pairs_scored_one_by_one(graph, z):
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    rng = np.random.default_rng(0)
    linked = pairs_of(graph)
    edges = rng.permutation(np.array(sorted(linked)).T, axis=1)
    weights, bias = links.learn(unit, edges, links._non_edges(edges, N, rng))
    free = [(i, j) for i in range(N) for j in range(i + 1, N) if (i, j) not in linked]
    expected = {(i, j): 1 / (1 + np.exp(-np.sum(weights * unit[i] * unit[j]) - bias)) for i, j in free}
    for node in (None, 7):
        pairs, scores = suggest_links(z, graph, node)
        here = {pair: score for pair, score in expected.items() if node is None or node in pair}
        best = sorted(here, key=here.get, reverse=True)[:20]
        assert [tuple(sorted(pair)) for pair in pairs.tolist()] == best
        assert node is None or (pairs[:, 0] == node).all()
        np.testing.assert_allclose(scores, [here[pair] for pair in best], rtol=1e-5)
    assert scores.dtype == np.float32
    assert not np.array_equal(suggest_links(z, graph, seed=1)[1], suggest_links(z, graph)[1])


@pytest.mark.parametrize("cells", [2**25, 2 * 6 * 40, 2 * 6 * 40 + 11, 5])
def test_weights_are_those_of_a_logistic_regression_on_products(z, monkeypatch, cells):
    monkeypatch.setattr(links, "MAX_CELLS", cells)
    rng, most = np.random.default_rng(2), {2**25: 90, 5: 1}.get(cells, 40)
    z = z.astype(np.float64)
    z[:, 2] = 0
    edges, others = rng.integers(N, size=(2, 2, 90))
    weights, bias = links.learn(z, edges, others)
    used = np.concatenate([edges[:, :most], others[:, :most]], axis=1)
    products = z[used[0]] * z[used[1]]
    scale = np.sqrt((products**2).mean(0))
    scale[2] = 1
    model = LogisticRegression(C=1e-4).fit(products / scale, [1] * most + [0] * most)
    np.testing.assert_allclose(weights, model.coef_[0] / scale, rtol=1e-6, atol=1e-12)
    assert bias == pytest.approx(model.intercept_[0], abs=1e-9)


def test_the_limits_of_the_arguments(graph, z):
    pair = as_graph(np.array([[0], [1]]), n_nodes=3)
    assert suggest_links(z[:3], pair, k=1_000_000)[0].shape == (2, 2)  # one edge, two pairs without
    with pytest.raises(ValueError, match="k must be at most 1000000"):
        suggest_links(z[:3], pair, k=1_000_001)
    ring = np.stack([np.arange(40), (np.arange(40) + 1) % 40])
    assert hold_out(as_graph(ring))[0].weights is None
    with pytest.raises(ValueError, match="got 39 edges"):
        hold_out(as_graph(ring[:, 1:]))
    upper = np.stack(np.triu_indices(20, 1))
    assert hold_out(as_graph(upper[:, :63], n_nodes=20))[1]["train"][0].shape == (2, 63 - 3 - 6)
    with pytest.raises(ValueError, match="got 64 edges"):
        hold_out(as_graph(upper[:, :64], n_nodes=20))


def test_of_two_directions_the_larger_weight_counts_and_the_graph_stays():
    graph = as_graph(np.array([[0, 1, 2], [1, 0, 3]]), edge_weights=np.array([2.0, 5.0, 3.0]), directed=True, n_nodes=5)
    both = links._both_ways(graph)
    assert both.toarray()[[0, 1, 2, 3], [1, 0, 3, 2]].tolist() == [5, 5, 3, 3]
    undirected = as_graph(np.array([[0, 1], [1, 2]]), edge_weights=np.array([2.0, 5.0]))
    links._both_ways(undirected).data[:] = 1
    assert sorted(undirected.weights.tolist()) == [2, 2, 5, 5]


@pytest.mark.parametrize(
    ("n", "m", "expected"), [(5, 9, 1), (5, 8, 1), (5, 7, 2), (5, 5, 3), (5, 4, 3), (5, 3, 3), (9, 3, 3)]
)
def test_no_more_than_half_of_the_pairs_without_an_edge_are_drawn(n, m, expected):
    edges = np.random.default_rng(0).permutation(np.stack(np.triu_indices(n, 1)), axis=1)[:, :m]
    for seed in range(5):
        drawn, rng = as_set(links._non_edges(edges, n, np.random.default_rng(seed))), np.random.default_rng(seed)
        assert len(drawn) == expected
        first: dict = {}  # by hand: pair after pair, twice as many at once as are wanted
        while len(first) < expected:
            some = [tuple(sorted(pair)) for pair in rng.integers(n, size=(2, 2 * expected)).T.tolist()]
            first |= dict.fromkeys(sorted({(i, j) for i, j in some if i < j} - as_set(edges) - set(first)))
        order = rng.permutation(np.array([i * n + j for i, j in first]))[:expected]
        assert drawn == {divmod(int(number), n) for number in order}


def test_scores_of_many_pairs_are_those_of_each(monkeypatch):
    rng = np.random.default_rng(0)
    left, right, pairs = rng.normal(size=(9, 4)), rng.normal(size=(9, 4)), rng.integers(9, size=(2, 23))
    expected = [left[i] @ right[j] for i, j in pairs.T]
    for block in (1024, 23, 7, 1):
        monkeypatch.setattr(links, "BLOCK_PAIRS", block)
        np.testing.assert_allclose(links._inner(left, right, pairs), expected)
        np.testing.assert_allclose(links._inner(sp.csr_array(left), sp.csr_array(right), pairs), expected)
    assert links._inner(left, right, pairs[:, :0]).shape == (0,)


def test_measures_of_a_case_by_hand():
    left, right = np.array([[4.0], [3.0], [2.0], [1.0]]), np.ones((4, 1))
    found = links.measure(left, right, (np.array([[0, 2], [0, 0]]), np.array([[1, 3], [0, 0]])))
    assert found == {"auc": 0.75, "average_precision": pytest.approx((1 + 2 / 3) / 2), "hits@50": None}
    fifty = np.stack([np.arange(50) % 3 + 1, np.zeros(50, int)])
    assert links.measure(left, right, (np.array([[0, 3], [0, 0]]), fifty))["hits@50"] == 0.5


def test_features_are_averaged_over_three_hops_at_most_and_no_more_than_helps():
    ring = np.arange(300)
    far = as_graph(np.concatenate([[ring, (ring + step) % 300] for step in (1, 2, 3)], axis=1))
    noisy = np.random.default_rng(0).normal(size=(300, 40)).astype(np.float32)
    kept, parts = hold_out(far.with_features(noisy))
    assert compare(noisy, kept, parts)["cosine of A^k X"]["k"] == 3
    kept, parts = hold_out(far.with_features(np.ones((300, 1), np.float32)))
    found = compare(noisy, kept, parts)["cosine of A^k X"]
    assert found["k"] == 0  # all the same: the first
    assert found["auc"] == 0.5


def test_the_seed_is_zero_where_none_is_given(graph):
    assert (hold_out(graph)[1]["test"][0] == hold_out(graph, 0)[1]["test"][0]).all()
    found = [link_scores(Spy(), graph, **given) for given in ({}, {"seed": 0}, {"seed": 1})]
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(("far", "k"), [(0, 0), (1, 1), (2, 1), (6, 3), (7, 0), (8, 0)])
def test_features_are_averaged_over_up_to_three_hops(far, k):
    """After k hops the rows of a path's nodes meet up to a distance of 2 k; the other path's never do."""
    step = np.stack([np.arange(9), np.arange(1, 10)])
    graph = as_graph(np.hstack([step, step + 10]), np.eye(20))
    pairs = np.array([[0], [far]]), np.array([[0], [10]])
    found = compare(np.ones((20, 1)), graph, dict.fromkeys(("train", "val", "test"), pairs))
    assert found["cosine of A^k X"]["k"] == k
