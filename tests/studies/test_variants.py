"""Runs with what no setting changes."""

import numpy as np
import pytest

from ccassg.datasets import load_dataset
from ccassg.experiments.runs import classification_run
from ccassg.systems import make
from ccassg.systems.label_propagation import LabelPropagation
from studies import variants

PRESET = classification_run("cca-ssg", "cora", 0)
OTHER_SCALE = PRESET | {"details": {"features": "other scale"}}


@pytest.fixture(scope="module")
def cora():
    return load_dataset("cora")


def test_raw_features_are_zeros_and_ones(cora):
    raw = variants.scaled(OTHER_SCALE, cora.graph)
    assert set(np.unique(raw.features.data)) == {1.0}
    assert np.array_equal(raw.features.indices, cora.graph.features.indices)
    assert variants.scaled(PRESET, cora.graph) is cora.graph


def test_normalised_features_have_rows_that_sum_to_one(cora):
    raw = variants.scaled(OTHER_SCALE, cora.graph)
    rows = variants.scaled(OTHER_SCALE | {"dataset": "photo"}, raw)
    sums = np.asarray(rows.features.sum(axis=1)).ravel()
    np.testing.assert_allclose(sums[sums > 0], 1, rtol=1e-5)


def test_features_of_a_given_length(cora):
    run = PRESET | {"details": {"features": "length 4"}}
    longer = variants.scaled(run, cora.graph).features
    np.testing.assert_allclose(np.sqrt(longer.multiply(longer).sum(axis=1)), 4, rtol=1e-5)


def test_other_initial_weights(cora):
    first = {}
    for start in (None, "glorot-normal", "he"):
        run = PRESET if start is None else PRESET | {"details": {"start": start}}
        _, encoder = variants.model_of(run).prepare(cora.graph)
        first[start] = encoder.weights[0].detach().numpy()
    n_in, n_out = first[None].shape
    glorot, he = (6 / (n_in + n_out)) ** 0.5, (6 / n_in) ** 0.5
    assert np.abs(first[None]).max() == pytest.approx(glorot, rel=1e-3)
    assert first["glorot-normal"].std() == pytest.approx(glorot / 3**0.5, rel=1e-2)
    assert np.abs(first["he"]).max() == pytest.approx(he, rel=1e-3)


def test_a_variant_runs(cora):
    small = {"n_steps": 2, "hidden_dim": 8, "embedding_dim": 8}
    run = classification_run("cca-ssg", "cora", 0, changes=small) | {"details": {"start": "he"}}
    run["probe"]["epochs"] = 5
    assert 0 < variants.classify_nodes(run, cora)["test_accuracy"][0] < 1


def test_rows_of_length_1(cora):
    model = variants.UnitRows(make("raw-features")).fit(cora.graph)
    z = variants.UnitRows(model).transform(cora.graph)
    np.testing.assert_allclose(np.linalg.norm(z, axis=1), cora.graph.features.sum(axis=1) > 0, rtol=1e-5)
    run = classification_run("raw-features", "cora", 0) | {"details": {"rows": "length 1"}}
    run["probe"]["epochs"] = 20
    other = {name: value for name, value in run.items() if name != "details"}
    results = [variants.classify_nodes(each, cora)["test_accuracy"] for each in (run, other)]
    assert results[0] != results[1]


def test_what_chooses_nothing_sees_no_validation_label(cora, monkeypatch):
    seen = {}
    fit = LabelPropagation.fit

    def spy(self, graph, y, validation=None):
        seen.update(y=y, validation=validation)
        return fit(self, graph, y, validation=validation)

    monkeypatch.setattr(LabelPropagation, "fit", spy)
    run = classification_run("label-propagation", "cora", 0)
    variants.classify_nodes(run, cora)
    assert (seen["y"] >= 0).sum() == 640
    variants.classify_nodes(run | {"details": {"choose": "last"}}, cora)
    assert (seen["y"] >= 0).sum() == 140
    assert seen["validation"] is None
