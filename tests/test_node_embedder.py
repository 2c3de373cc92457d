import dataclasses

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from ccassg import CCASSG, NodeEmbedder, read_graph
from ccassg.datasets import stochastic_block_graph
from ccassg.systems import make


@pytest.fixture(scope="module")
def data():
    return stochastic_block_graph(120, n_classes=3, n_features=24, seed=0)


def model(**changes):
    return CCASSG(
        **({"encoder": "gcn", "hidden_dim": 16, "embedding_dim": 8, "n_steps": 3, "random_state": 0} | changes)
    )


def pipeline(data):
    return Pipeline([("embed", NodeEmbedder(model(), data.graph)), ("classify", LogisticRegression())])


def test_rows_are_those_of_the_whole_graph(data):
    expected = model().fit_transform(data.graph)
    nodes = np.array([7, 3, 3, 119])
    embedder = NodeEmbedder(model(), data.graph).fit(nodes)
    np.testing.assert_array_equal(embedder.transform(nodes), expected[nodes])
    np.testing.assert_array_equal(embedder.transform(nodes[:, None]), expected[nodes])
    np.testing.assert_array_equal(embedder.fit_transform(nodes), expected[nodes])
    np.testing.assert_array_equal(NodeEmbedder(model(), data).fit_transform(nodes), expected[nodes])
    named = dataclasses.replace(data, feature_names=tuple(f"x{i}" for i in range(24)))
    assert NodeEmbedder(model(), named).fit(nodes).estimator_.feature_names_in_[23] == "x23"
    assert list(embedder.get_feature_names_out()) == [f"ccassg{i}" for i in range(8)]


def test_embedding_does_not_depend_on_the_nodes_or_labels_given(data):
    a = NodeEmbedder(model(), data.graph).fit([0, 1], [0, 1])
    b = NodeEmbedder(model(), data.graph).fit(np.arange(120), data.y)
    np.testing.assert_array_equal(a.embedding_, b.embedding_)


def test_pipeline_with_a_classifier_behind(data):
    nodes = np.arange(120)
    fitted = pipeline(data).fit(nodes[:60], data.y[:60])
    assert fitted.predict(nodes[60:]).shape == (60,)
    assert fitted.score(nodes[60:], data.y[60:]) > 1 / 2  # three classes of equal size


def test_grid_search_over_decorrelation(data):
    search = GridSearchCV(pipeline(data), {"embed__estimator__decorrelation": [1e-4, 1e-2]}, cv=2)
    search.fit(np.arange(120), data.y)
    assert len(search.cv_results_["mean_test_score"]) == 2
    assert search.best_estimator_["embed"].estimator_.settings_["decorrelation"] in (1e-4, 1e-2)


def test_clone_shares_the_graph_and_leaves_the_estimator_alone(data):
    embedder = NodeEmbedder(model(), data.graph)
    copy = clone(embedder)
    assert copy.graph is data.graph
    assert copy.estimator is not embedder.estimator
    copy.set_params(estimator__n_steps=1).fit([0])
    assert embedder.estimator.n_steps == 3
    assert not hasattr(copy.estimator, "encoder_")


def test_other_methods(data):
    embedder = NodeEmbedder(make("propagated-features"), data.graph)
    assert embedder.fit_transform([0, 5]).shape == (2, 24)
    assert len(embedder.get_feature_names_out()) == 24


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([0.5], "node numbers"),
        (["a"], "node numbers"),
        (np.zeros((2, 2), int), "node numbers"),
        ([], "node numbers"),
        (np.zeros(0, int), "at least one"),
        ([-1], r"0 \.\. 119.*got -1"),
        ([0, 120], r"0 \.\. 119.*got 120"),
    ],
)
def test_bad_node_numbers(data, nodes, message):
    with pytest.raises(ValueError, match=message):
        NodeEmbedder(model(), data.graph).fit(nodes)


def test_what_libraries_hold_is_read_once_with_its_notes():
    karate = nx.karate_club_graph()
    karate.add_edge(0, 0, weight=1)
    with pytest.warns(UserWarning, match="self-loop"):
        embedder = NodeEmbedder(CCASSG(random_state=0), karate).fit(np.arange(34))
    expected = CCASSG(random_state=0).fit_transform(read_graph(karate))
    np.testing.assert_array_equal(embedder.transform(np.arange(34)), expected)
