"""Every count of the dataset table, on the real files."""

import numpy as np
import pytest
import scipy.sparse as sp

from ccassg.datasets import CARDS, DATASETS

# name: nodes, edges in both directions, features, classes, density in percent, sizes of the default split, unlabelled
TABLE = {
    "cora": (2_708, 10_556, 1_433, 7, 1.3, (140, 500, 1_000), 0),
    "citeseer": (3_327, 9_104, 3_703, 6, 0.9, (120, 500, 1_000), 15),
    "pubmed": (19_717, 88_648, 500, 3, 10.0, (60, 500, 1_000), 0),
    "computers": (13_752, 491_722, 767, 10, 34.8, (1_375, 1_375, 11_002), 0),
    "photo": (7_650, 238_162, 745, 8, 34.7, (765, 765, 6_120), 0),
    "cs": (18_333, 163_788, 6_805, 15, 0.9, (1_833, 1_833, 14_667), 0),
    "physics": (34_493, 495_924, 8_415, 5, 0.4, (3_449, 3_449, 27_595), 0),
}


def test_the_seven_names():
    assert tuple(TABLE) == DATASETS


@pytest.mark.parametrize("name", DATASETS)
def test_counts_of_the_files(name, dataset):
    data = dataset(name)
    graph, split = data.graph, data.split(0)
    n_nodes, n_edges, n_features, n_classes, density, sizes, n_unlabelled = TABLE[name]
    assert (graph.n_nodes, graph.n_edges, graph.n_features) == (n_nodes, n_edges, n_features)
    assert sp.issparse(graph.features)
    assert round(100 * np.count_nonzero(graph.features.data) / (n_nodes * n_features), 1) == density
    assert np.unique(data.y[data.y >= 0]).tolist() == list(range(n_classes))
    assert int((data.y == -1).sum()) == n_unlabelled
    assert (len(split.train), len(split.val), len(split.test)) == sizes
    assert len(data.class_names) == data.n_classes == n_classes
    assert not graph.directed
    assert graph.weights is None


@pytest.mark.parametrize("name", DATASETS)
def test_card_says_what_the_files_hold(name, dataset):
    data = dataset(name)
    card, graph = data.card, data.graph
    assert card is CARDS[name]
    assert (card.n_nodes, card.n_edges, card.n_features) == (graph.n_nodes, graph.n_edges, graph.n_features)
    assert card.n_entries == np.count_nonzero(graph.features.data)
    assert card.n_unlabelled == int((data.y < 0).sum())
    assert card.class_names == data.class_names
    arrays = (graph.indptr, graph.indices, graph.features.data, graph.features.indices, data.y)
    loaded = sum(array.nbytes for array in arrays) + 8 * (card.n_nodes + 1)
    assert card.memory_bytes == pytest.approx(loaded, rel=0.05)


@pytest.mark.parametrize("name", DATASETS)
def test_card_is_complete_without_files(name):
    card = CARDS[name]
    assert all((card.title, card.about, card.source.startswith("https://"), card.licence, card.citation, card.split))
    assert len(card.class_names) == card.n_classes == TABLE[name][3]
    assert round(100 * card.feature_density, 1) == TABLE[name][4]
    assert set(card.probe) == {"learning_rate", "weight_decay"}


@pytest.mark.parametrize("name", DATASETS)
def test_the_linear_evaluation_is_the_papers(name):
    """Appendix, "Details of hyper-parameters": learning rate and weight decay of the probe."""
    rate = 5e-3 if name in ("cs", "physics") else 1e-2
    decay = 1e-2 if name == "citeseer" else 1e-4
    assert CARDS[name].probe == {"learning_rate": rate, "weight_decay": decay}
