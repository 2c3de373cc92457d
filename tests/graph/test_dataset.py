import dataclasses

import numpy as np
import pytest

from ccassg.datasets import CARDS, load_dataset
from ccassg.graph import Dataset, Graph, as_graph


@pytest.fixture(scope="module")
def cora():
    return load_dataset("cora")


def toy(y):
    y = np.asarray(y)
    names = tuple(f"c{i}" for i in range(y.max() + 1))
    return Dataset(as_graph(np.zeros((2, 0), int), n_nodes=len(y)), y, names, name="toy", card=CARDS["cora"])


def parts(split):
    return [split.train, split.val, split.test]


def check_disjoint(split, y):
    every = np.concatenate(parts(split))
    assert all(part.dtype == np.int64 for part in parts(split))
    assert len(np.unique(every)) == len(every)
    assert (y[every] >= 0).all()


def test_public_split_ignores_the_seed(cora):
    for a, b in zip(parts(cora.split(0)), parts(cora.split(7)), strict=True):
        np.testing.assert_array_equal(a, b)
    check_disjoint(cora.split(), cora.y)
    assert np.bincount(cora.y[cora.split().train]).tolist() == [20] * 7


def test_random_split_is_seeded_and_covers_the_labelled_nodes(cora):
    split = cora.split(3, kind="random")
    check_disjoint(split, cora.y)
    assert [len(part) for part in parts(split)] == [270, 270, 2168]
    np.testing.assert_array_equal(split.train, cora.split(3, kind="random").train)
    assert not np.array_equal(split.train, cora.split(4, kind="random").train)


def test_random_split_is_the_published_one():
    """Seeds are part of a result: the same seed must give the same nodes in every release."""
    assert toy([0] * 50).split(0).train.tolist() == [2, 4, 18, 23, 36]


def test_random_split_leaves_out_nodes_without_label():
    y = np.zeros(100, np.int64)
    y[::2] = -1
    split = toy(y).split(0)
    check_disjoint(split, y)
    assert [len(part) for part in parts(split)] == [5, 5, 40]


@pytest.mark.parametrize(("rate", "n_train"), [(0.01, 27), (0.02, 54), (0.05, 135)])
@pytest.mark.parametrize("seed", range(5))
def test_label_rate_counts_all_nodes_and_covers_the_classes(cora, rate, n_train, seed):
    split = cora.split(seed, label_rate=rate)
    check_disjoint(split, cora.y)
    assert [len(part) for part in parts(split)] == [n_train, 500, 1000]
    assert set(cora.y[split.train]) == set(range(7))
    assert not np.array_equal(split.test, cora.split(seed + 1, label_rate=rate).test)


def test_label_rate_on_the_smallest_rate_of_the_paper(dataset):
    pubmed = dataset("pubmed")
    for seed in range(20):
        split = pubmed.split(seed, label_rate=0.0005)
        assert [len(part) for part in parts(split)] == [10, 500, 1000]
        assert set(pubmed.y[split.train]) == {0, 1, 2}


def test_label_rate_never_takes_unlabelled_nodes(dataset):
    citeseer = dataset("citeseer")
    for seed in range(5):
        check_disjoint(citeseer.split(seed, label_rate=0.05, n_val=1000, n_test=2000), citeseer.y)


def test_rare_class_gets_its_node_and_the_rest_stays_random():
    y = np.array([0] * 95 + [1] * 4 + [2])
    for seed in range(20):
        split = toy(y).split(seed, label_rate=0.05, n_val=5, n_test=50)
        assert set(y[split.train]) == {0, 1, 2}
        check_disjoint(split, y)


def test_one_node_is_enough_for_every_part():
    split = toy([0, 1, 0, 1]).split(0, label_rate=0.25, n_val=1, n_test=1)
    assert [len(part) for part in parts(split)] == [1, 1, 1]
    assert [len(part) for part in parts(toy([0, 1]).split(0, label_rate=0.5, n_val=0, n_test=1))] == [1, 0, 1]


def test_fewer_nodes_than_classes_is_no_error():
    y = np.arange(100) % 10
    split = toy(y).split(0, label_rate=0.04, n_val=0, n_test=50)
    assert len(set(y[split.train])) == len(split.train) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"label_rate": 1.5}, r"label_rate must be in \(0, 1\), got 1.5"),
        ({"label_rate": 0}, "label_rate must be in"),
        ({"label_rate": 1e-6}, "less than one node"),
        ({"label_rate": 0.5, "n_test": 2000}, "more than the 2,708 labelled"),
        ({"label_rate": 0.1, "n_test": 0}, "n_test must be an integer, at least 1, got 0"),
        ({"label_rate": 0.1, "kind": "random"}, "not both"),
        ({"kind": "fixed"}, "kind must be 'public' or 'random', got 'fixed'"),
    ],
)
def test_bad_arguments(cora, arguments, message):
    with pytest.raises(ValueError, match=message):
        cora.split(0, **arguments)


def test_no_public_split_says_so():
    with pytest.raises(ValueError, match="toy has no public split"):
        toy([0, 1]).split(kind="public")


def test_frozen_and_readable(cora):
    with pytest.raises(AttributeError):
        cora.y = None
    with pytest.raises(AttributeError):
        cora.split().train = None
    assert repr(cora).startswith("Dataset(cora: Graph(nodes: 2,708")
    assert repr(cora.split()) == "Split(train: 140, val: 500, test: 1,000)"


def test_labels_are_the_names_of_the_classes(cora):
    assert cora.labels == [cora.class_names[c] for c in cora.y]
    assert toy([1, -1, 0]).labels == ["c1", None, "c0"]
    graph = toy([0]).graph
    assert Dataset(graph, np.array([0])).labels == ["0"]
    assert Dataset(graph).labels is None


def test_a_dataset_is_taken_for_its_graph(cora):
    assert as_graph(cora) is cora.graph
    assert as_graph(cora, np.ones((2708, 3))).n_features == 3


def test_label_rate_split_stays_what_it_is():
    """Seeds are part of a result: the same seed must give the same nodes in every release."""
    split = toy([0] * 20 + [1] * 4 + [2]).split(0, label_rate=0.2, n_val=3, n_test=4)
    assert [part.tolist() for part in parts(split)] == [[4, 10, 19, 23, 24], [3, 21, 22], [2, 6, 11, 16]]


GRAPH = as_graph(np.array([[0], [1]]), np.ones((2, 3)))


@pytest.mark.parametrize(
    ("parts", "error", "sentence"),
    [
        ({"y": np.zeros(3, int)}, ValueError, r"^y must be 2 integers, one per node, got int64 of shape \(3,\)$"),
        ({"y": np.zeros(2)}, ValueError, r"^y must be 2 integers, one per node, got float64 of shape \(2,\)$"),
        ({"y": "no"}, ValueError, "^y must be 2 integers, one per node, got object"),
        ({"y": [0, -2]}, ValueError, "^y must hold classes from 0, -1 for nodes without one, got -2$"),
        ({"y": [0, 2], "class_names": ("a", "b")}, ValueError, "^class_names must hold at least 3 names, got 2$"),
        ({"class_names": "ab"}, TypeError, "^class_names must be a tuple of text, got 'ab'$"),
        ({"feature_names": ("a",)}, ValueError, "^feature_names must hold 3 names, got 1$"),
        ({"feature_names": (1, 2, 3)}, TypeError, r"^feature_names must be a tuple of text, got \(1, 2, 3\)$"),
        ({"scaling": ((0,), (1,))}, TypeError, "^scaling must be a Scaling, got"),
        ({"graph": None}, TypeError, "^graph must be a Graph, got None; make one with ccassg.as_graph$"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(parts, error, sentence):
    with pytest.raises(error, match=sentence):
        Dataset(**{"graph": GRAPH} | parts)


def test_lists_become_what_they_stand_for():
    data = Dataset(GRAPH, y=[1, -1], class_names=["a", "b"], feature_names=["x", "y", "z"])
    assert data.labels == ["b", None]
    assert (data.class_names, data.feature_names) == (("a", "b"), ("x", "y", "z"))


def plain_label_rate_split(y, rate, n_val, n_test, seed):
    """The split as its docstring says it, one node after the other."""
    order = np.random.default_rng(seed).permutation([node for node in range(len(y)) if y[node] >= 0]).tolist()
    n = round(rate * len(y))
    for missing in sorted(set(y[order].tolist()) - set(y[order[:n]].tolist())):
        train = y[order[:n]].tolist()
        spare = [at for at in range(n) if train.count(train[at]) > 1]
        if not spare:
            break
        enters = next(at for at in range(n, len(order)) if y[order[at]] == missing)
        order[spare[-1]], order[enters] = order[enters], order[spare[-1]]
    return order[:n], order[n + n_test : n + n_test + n_val], order[n : n + n_test]


@pytest.mark.parametrize("rate", [0.02, 0.05, 0.1, 0.3])
def test_label_rate_splits_are_those_of_a_plain_loop(rate):
    y = np.array([0] * 60 + [1] * 20 + [2] * 10 + [3] * 3 + [4] * 2 + [-1] * 5)[
        np.random.default_rng(0).permutation(100)
    ]
    for seed in range(10):
        split = toy(y).split(seed, label_rate=rate, n_val=11, n_test=30)
        for part, expected in zip(parts(split), plain_label_rate_split(y, rate, 11, 30, seed), strict=True):
            assert part.tolist() == sorted(expected)


def test_the_limits_of_label_rates():
    y = toy(np.arange(2000) % 2)
    assert [len(part) for part in parts(y.split(label_rate=0.25))] == [500, 500, 1000]
    assert y.split(label_rate=0.25).train.tolist() == y.split(0, label_rate=0.25).train.tolist()
    with pytest.raises(ValueError, match="501 train, 500 validation and 1000 test nodes are more than the 2,000"):
        y.split(label_rate=0.2505)
    assert len(y.split(label_rate=0.0005, n_val=0, n_test=1999).train) == 1
    for wrong in (0.0002, 1, 1.0, 0, "0.1"):
        with pytest.raises(ValueError, match="label_rate"):
            y.split(label_rate=wrong)
    with pytest.raises(ValueError, match="n_val must be an integer, at least 0, got -1"):
        y.split(label_rate=0.1, n_val=-1)
    with pytest.raises(ValueError, match="there are no labels to split by"):
        Dataset(y.graph).split()
    with pytest.raises(ValueError, match="seed must be"):
        y.split(-1)
    assert y.split(3).train.tolist() == y.split(3, kind="random").train.tolist()
    assert y.split().train.tolist() == y.split(0).train.tolist()


def test_classes_and_names_of_labels():
    graph = toy([0, 0, 0]).graph
    assert Dataset(graph).n_classes == 0
    assert Dataset(graph, np.array([-1, -1, -1])).n_classes == 0
    assert Dataset(Graph(np.array([0]), np.zeros(0, int)), np.zeros(0, int)).n_classes == 0
    assert Dataset(graph, np.array([-1, 2, 0])).n_classes == 3
    assert Dataset(graph, np.array([-1, 2, 0])).labels == [None, "2", "0"]
    assert Dataset(graph, np.array([-1, 1, 0]), ("a", "b", "c")).n_classes == 3
    assert Dataset(graph, class_names=()).class_names == ()
    for names in (("a", 1), "abc", ["a", None]):
        with pytest.raises(TypeError, match="class_names must be a tuple of text"):
            Dataset(graph, class_names=names)
    with pytest.raises(ValueError, match="y must be 3 integers"):
        Dataset(graph, np.array([[0], [1], [2]]))
    with pytest.raises(ValueError, match="feature_names must hold 0 names, got 1"):
        Dataset(graph, feature_names=("a",))
    assert not Dataset(graph).structural
    assert not Dataset(graph, feature_names=()).structural


def test_a_card_counts_densities_and_bytes():
    card = dataclasses.replace(CARDS["cora"], n_nodes=10, n_edges=7, n_features=4, n_entries=8)
    assert card.n_classes == 7
    assert card.feature_density == 0.2
    assert card.memory_bytes == 4 * 7 + 8 * 8 + 24 * 10
    assert card.n_unlabelled == 0
    assert hash(card) == hash(dataclasses.replace(card, probe={}))
