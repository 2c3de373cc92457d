"""What a model keeps of its features, and what it makes of others."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import scipy.sparse as sp

from ccassg import CCASSG
from ccassg.graph import Dataset, FeatureSpace, as_graph, feature_space
from ccassg.graph.feature_space import edge_fingerprint
from ccassg.graph.scaling import Scaling
from ccassg.graph.structural import structural_features, structural_names

EDGES = np.array([[0, 1, 2], [1, 2, 3]])
X = np.arange(12, dtype=np.float32).reshape(4, 3)
NAMES = ("a", "b", "kind=red")
SCALING = Scaling((1.0, 2.0, 0.0), (2.0, 4.0, 1.0))


def dataset(x=X, names: tuple[str, ...] | None = NAMES, scaling: Scaling | None = None) -> Dataset:
    return Dataset(as_graph(EDGES, x), feature_names=names, scaling=scaling)


def structural() -> Dataset:
    graph = as_graph(EDGES, n_nodes=4)
    x = structural_features(graph, n_components=2)
    return Dataset(graph.with_features(x), feature_names=structural_names(7))


def test_the_same_features_are_left_alone() -> None:
    data = dataset()
    assert FeatureSpace.of(data).fit_to(data) is data.graph
    scaled = dataset(scaling=SCALING)
    assert FeatureSpace.of(scaled).fit_to(scaled) is scaled.graph


@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_columns_are_brought_to_the_order_of_training(make) -> None:
    space = FeatureSpace.of(dataset())
    order = [2, 0, 1]
    new = dataset(make(np.hstack([X[:, order], X[:, :1]])), ("kind=red", "a", "b", "c"))
    found = space.fit_to(new).features
    assert np.array_equal(found.toarray() if sp.issparse(found) else found, X)
    # No new node is red: zeros, as when a table is read for the model.
    blue = dataset(make(X[:, order]), ("kind=blue", "a", "b"))
    found = space.fit_to(blue).features
    expected = np.hstack([X[:, :2], np.zeros((4, 1))])
    assert np.array_equal(found.toarray() if sp.issparse(found) else found, expected)


def test_names_that_a_file_claims_cost_no_more_than_they_are_long(bounded) -> None:
    bounded()
    for names in (("=" * 200_000,), ("cat#999999999",), ("a" + "=#" * 100_000,)):
        space = FeatureSpace.from_dict({"n_features": 1, "names": list(names), "scaling": None, "edges": None})
        assert not space.structural
        with pytest.raises(
            ValueError, match=r"^the graph lacks 1 of the 1 features used in training, first '"
        ) as raised:
            space.fit_to(dataset())
        assert len(str(raised.value)) < 300


def test_a_known_scaling_follows_the_columns() -> None:
    order = [2, 0, 1]
    shuffled = Scaling(*(tuple(part[i] for i in order) for part in SCALING))
    new = dataset(X[:, order], ("kind=red", "a", "b"), shuffled)
    space = FeatureSpace.of(dataset(scaling=SCALING))
    assert np.array_equal(space.fit_to(new).features, X)
    other = dataclasses.replace(new, scaling=SCALING)
    with pytest.raises(ValueError, match="are not scaled as those of the model"):
        space.fit_to(other)


@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_features_without_a_scale_get_that_of_training(make) -> None:
    new = dataset(make(X))
    found = FeatureSpace.of(dataset(scaling=SCALING)).fit_to(new).features
    expected = ((X - np.array(SCALING.means)) / np.array(SCALING.deviations)).astype(np.float32)
    assert np.array_equal(found.toarray() if sp.issparse(found) else found, expected)
    before = new.graph.features
    assert np.array_equal(before.toarray() if sp.issparse(before) else before, X)  # a copy was scaled


def test_a_sparse_matrix_is_not_scaled_where_a_dense_one_was() -> None:
    with pytest.raises(ValueError, match="is sparse, but the features used in training were dense and scaled"):
        FeatureSpace.of(dataset(names=None, scaling=SCALING)).fit_to(dataset(sp.csr_array(X), None))


def test_without_names_only_the_width_counts() -> None:
    for space in (FeatureSpace.of(dataset(names=None)), FeatureSpace.of(dataset())):
        data = dataset(names=None)
        assert space.fit_to(data) is data.graph
        with pytest.raises(ValueError, match="X has 2 features, but CCASSG is expecting 3 features as input"):
            space.fit_to(dataset(X[:, :2], None), "CCASSG")


def test_features_in_a_file_stay_as_they_are_or_are_refused(tmp_path) -> None:
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "wide.npy", np.hstack([X, X[:, :1]]))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="c")

    def stored(names: tuple[str, ...]) -> Dataset:
        kept = mapped if len(names) == 3 else np.load(tmp_path / "wide.npy", mmap_mode="c")
        return Dataset(dataclasses.replace(dataset().graph, features=kept), feature_names=names)

    space = FeatureSpace.of(dataset())
    assert space.fit_to(stored(NAMES)).features is mapped
    for names, how in ((("b", "a", "kind=red"), "column 1 is 'b', not 'a'"), ((*NAMES, "c"), "4 instead of 3")):
        with pytest.raises(ValueError, match=f"{how}; convert a table with the model's columns"):
            space.fit_to(stored(names))
    with pytest.raises(ValueError, match="are not scaled as those of the model"):
        FeatureSpace.of(dataset(scaling=SCALING)).fit_to(stored(NAMES))


def test_features_made_from_edges() -> None:
    data = structural()
    space = FeatureSpace.of(data)
    assert space.structural
    assert space.fit_to(data) is data.graph
    weighted = dataclasses.replace(data.graph, weights=np.full(data.graph.n_edges, 2, np.float32))
    for graph in (as_graph(EDGES[:, :2], data.graph.features), weighted):
        with pytest.raises(ValueError, match="whose eigenvectors do not carry over; fit a model on this graph"):
            space.fit_to(dataclasses.replace(data, graph=graph))
    for own in (FeatureSpace.of(dataset()), FeatureSpace(7, tuple("abcdefg")), FeatureSpace(3)):
        with pytest.raises(
            ValueError, match=r"the graph has no features, but the model was trained with \d; give those"
        ):
            own.fit_to(data)
    assert FeatureSpace(7).fit_to(data) is data.graph  # a matrix that may have been made alike


WORDS = ("a", "bio#fox", "bio#red fox")
IDF = (0.0, 1.5, 2.25)


def test_text_is_to_be_read_with_the_words_of_the_model() -> None:
    data = dataclasses.replace(dataset(names=WORDS), idf=IDF)
    space = FeatureSpace.of(data)
    assert space.fit_to(data) is data.graph
    order = [1, 0, 2]
    names, idf = (tuple(part[i] for i in order) for part in (WORDS, IDF))
    turned = dataclasses.replace(dataset(X[:, order], names), idf=idf)
    assert np.array_equal(space.fit_to(turned).features, X)
    for other in ({"idf": None}, {"idf": (0.0, 1.5, 2.0)}, {"feature_names": ("a", "bio#fox", "bio#blue")}):
        with pytest.raises(ValueError, match=r"not read with the words of the model; .* read_graph\(..., like=model\)"):
            space.fit_to(dataclasses.replace(data, **other))


def test_it_is_told_by_a_model_a_dataset_or_names() -> None:
    space = FeatureSpace.of(dataset())
    model = CCASSG(random_state=0).fit(dataset())
    for given in (space, dataset(), model):
        assert FeatureSpace.like(given) == space
    for names in (list(NAMES), np.array(NAMES, object)):
        assert FeatureSpace.like(names).names == NAMES
    assert FeatureSpace.like(None) is None
    for wrong in ("abc", 3, [], [1], CCASSG()):
        with pytest.raises(
            ValueError, match="like must be a fitted model, a dataset or the names of its features, got"
        ):
            FeatureSpace.like(wrong)


@pytest.mark.parametrize(
    ("names", "idf", "sentence"),
    [
        (["a", "b"], [1.0], "as many names"),
        (None, [1.0, 1.0], "as many names"),
        (["a", "a"], [1.0, 1.0], "as many names of features, all different"),
        (["a", "b"], [1.0, -1.0], "numbers from 0 to 1000"),
        (["a", "b"], [1.0, 1e300], "numbers from 0 to 1000"),
        (["a", "b"], [1.0, float("nan")], "numbers from 0 to 1000"),
        (["a", "b"], [1.0, True], "numbers from 0 to 1000"),
        (["a", "b"], "ab", "be a list"),
        (["a", "b"], {"a": 1}, "be a list"),
    ],
)
def test_a_forged_vocabulary_is_refused(names, idf, sentence) -> None:
    with pytest.raises(ValueError, match=f"idf must .*{sentence}"):
        FeatureSpace.from_dict({"n_features": 2, "names": names, "scaling": None, "edges": None, "idf": idf})


def test_it_comes_back_from_json() -> None:
    words = dataclasses.replace(dataset(names=WORDS), idf=IDF)
    for data in (dataset(), dataset(names=None), dataset(scaling=SCALING), structural(), words):
        space = FeatureSpace.of(data)
        assert FeatureSpace.from_dict(json.loads(json.dumps(space.as_dict()))) == space


@pytest.mark.parametrize(("n_lacking", "rest"), [(1, ""), (3, ""), (4, " and 1 more"), (1004, " and 1,001 more")])
def test_at_most_three_of_the_features_that_lack_are_named(n_lacking: int, rest: str) -> None:
    space = FeatureSpace(3 + n_lacking, (*NAMES, *(f"f{i}" for i in range(n_lacking))))
    named = ", ".join(f"'f{i}'" for i in range(min(n_lacking, 3)))
    with pytest.raises(ValueError, match=f"lacks {n_lacking:,} of the {3 + n_lacking:,} .*, first {named}{rest}; give"):
        space.fit_to(dataset())


def test_categories_on_a_scale_of_their_own_are_refused_and_sparse_columns_stay_in_order() -> None:
    scaled = Scaling((0.0, 0.0, 1.0), (1.0, 1.0, 2.0))
    with pytest.raises(ValueError, match="are not scaled as those of the model"):
        FeatureSpace.of(dataset()).fit_to(dataset(scaling=scaled))
    with pytest.raises(ValueError, match="are not scaled as those of the model"):
        FeatureSpace.of(dataset(scaling=SCALING)).fit_to(dataset(scaling=scaled))
    both = Scaling((1.0, 2.0, 5.0), (2.0, 4.0, 1.0))
    other = Scaling((0.0, 2.0, 6.0), (1.0, 4.0, 3.0))
    found = FeatureSpace.of(dataset(scaling=both)).fit_to(dataset(scaling=other)).features
    raw = X * np.array(other.deviations) + np.array(other.means)
    np.testing.assert_allclose(found, (raw - np.array(both.means)) / np.array(both.deviations), rtol=1e-6)
    # Without names there are no categories: numbers on another scale are brought to that of training.
    plain = FeatureSpace.of(dataset(names=None)).fit_to(dataset(names=None, scaling=SCALING)).features
    np.testing.assert_allclose(plain, X * np.array(SCALING.deviations) + np.array(SCALING.means))
    sparse = FeatureSpace.of(dataset(scaling=both)).fit_to(dataset(sp.csr_array(X), scaling=other)).features
    assert isinstance(sparse, sp.csr_array)
    assert sparse.has_sorted_indices
    np.testing.assert_allclose(sparse.toarray(), found)


def test_spaces_in_files_are_checked() -> None:
    right = {"n_features": 0, "names": None, "scaling": None, "edges": None}
    assert FeatureSpace.from_dict(right) == FeatureSpace(0)
    assert FeatureSpace.from_dict({**right, "n_features": 1, "names": ["a"], "idf": [1000]}).idf == (1000.0,)
    for change, sentence in (
        ({"n_features": -1}, "n_features must be a count, got '-1'"),
        ({"n_features": True}, "n_features must be a count, got 'True'"),
        ({"n_features": "x" * 99}, f"got '{'x' * 40}'"),
        ({"names": "ab"}, "feature names must be a list of text"),
        ({"names": [1]}, "feature names must be a list of text"),
        ({"names": ["\ud800"]}, "feature names must be a list of text"),
        ({"names": ["a"]}, "there must be 0 feature names, one per feature, got 1"),
        ({"edges": 3}, "the fingerprint of the edges must be text"),
        ({"n_features": 1, "names": ["a"], "idf": [1000.5]}, "idf must be a list of numbers from 0 to 1000"),
    ):
        with pytest.raises(ValueError, match=sentence):
            FeatureSpace.from_dict(right | change)


def test_a_fingerprint_is_of_edges_and_weights_whatever_their_types() -> None:
    graph = as_graph(EDGES, n_nodes=4)
    weighted = dataclasses.replace(graph, weights=np.full(6, 2, np.float32))
    wide = dataclasses.replace(graph, indices=graph.indices.astype(np.int64), indptr=graph.indptr.astype(np.int32))
    assert edge_fingerprint(wide) == edge_fingerprint(graph) != edge_fingerprint(weighted)
    assert edge_fingerprint(dataclasses.replace(weighted, weights=weighted.weights + 1)) != edge_fingerprint(weighted)
    heavy = dataclasses.replace(weighted, weights=weighted.weights.astype(np.float64))
    assert edge_fingerprint(heavy) == edge_fingerprint(weighted)
    assert edge_fingerprint(as_graph(EDGES, n_nodes=5)) != edge_fingerprint(graph)
    assert FeatureSpace.of(dataset()).edges is None
    assert FeatureSpace.of(structural()).edges == edge_fingerprint(structural().graph)


@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_one_column_of_zeros_goes_behind_the_others(make) -> None:
    found = feature_space._with_zeros(make(X))
    assert found.dtype == X.dtype
    dense = found.toarray() if sp.issparse(found) else found
    assert dense.tolist() == [[*row, 0] for row in X.tolist()]
