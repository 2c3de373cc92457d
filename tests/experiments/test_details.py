"""The variants of the details experiment change what they name and nothing else."""

import numpy as np
import pytest

from ccassg.datasets import load_dataset
from ccassg.experiments import EXPERIMENTS, Records, batches, details, fast_presets, tasks
from ccassg.experiments.pairs import difference, paired
from ccassg.experiments.records import key_of
from ccassg.model.presets import FAST


@pytest.fixture(scope="module")
def cora():
    return load_dataset("cora")


def run_of(name, dataset="cora", seed=0):
    plan = EXPERIMENTS["details"].plan(datasets=[dataset], n_seeds=seed + 1)
    return details._runs(plan, dataset, name)[seed]


def test_the_preset_is_the_run_of_the_main_table():
    citation = EXPERIMENTS["citation"]
    runs = citation.runs(citation.plan(datasets=["cora"], n_seeds=1))
    assert key_of(run_of(details.PRESET)) == key_of(runs[0])


def test_variants_change_one_thing():
    assert run_of("twice the steps")["settings"]["n_steps"] == 100
    assert run_of("half the steps")["settings"]["n_steps"] == 25
    assert run_of("probe with ten times the weight decay")["probe"]["weight_decay"] == pytest.approx(1e-3)
    assert run_of("probe: scikit-learn's logistic regression")["probe"] == {"solver": "logistic"}


def test_raw_features_are_zeros_and_ones(cora):
    raw = details.prepared(run_of("the other scale of the features"), cora.graph)
    assert set(np.unique(raw.features.data)) == {1.0}
    assert np.array_equal(raw.features.indices, cora.graph.features.indices)
    assert details.prepared(run_of(details.PRESET), cora.graph) is cora.graph


def test_normalised_features_have_rows_that_sum_to_one(cora):
    raw = details.prepared(run_of("the other scale of the features"), cora.graph)
    rows = details.prepared(run_of("the other scale of the features", dataset="photo"), raw)
    sums = np.asarray(rows.features.sum(axis=1)).ravel()
    np.testing.assert_allclose(sums[sums > 0], 1, rtol=1e-5)


def test_features_of_a_given_length(cora):
    run = run_of(details.PRESET) | {"details": {"features": "length 4"}}
    longer = details.prepared(run, cora.graph).features
    np.testing.assert_allclose(np.sqrt(longer.multiply(longer).sum(axis=1)), 4, rtol=1e-5)


def test_other_initial_weights(cora):
    first = {}
    for name in (details.PRESET, "initial weights: Glorot, normal", "initial weights: He, uniform"):
        _, encoder = details.model_of(run_of(name)).prepare(cora.graph)
        first[name] = encoder.weights[0].detach().numpy()
    n_in, n_out = first[details.PRESET].shape
    glorot, he = (6 / (n_in + n_out)) ** 0.5, (6 / n_in) ** 0.5
    assert np.abs(first[details.PRESET]).max() == pytest.approx(glorot, rel=1e-3)
    assert first["initial weights: Glorot, normal"].std() == pytest.approx(glorot / 3**0.5, rel=1e-2)
    assert np.abs(first["initial weights: He, uniform"]).max() == pytest.approx(he, rel=1e-3)


def test_a_variant_runs(cora):
    run = run_of("initial weights: He, uniform")
    run["settings"] |= {"n_steps": 2, "hidden_dim": 8, "embedding_dim": 8}
    run["probe"]["epochs"] = 5
    result, _ = tasks.node_classification(run, cora)
    assert 0 < result["test_accuracy"][0] < 1


def test_differences_are_paired_by_seed(tmp_path, fake):
    records, plan = Records(tmp_path), EXPERIMENTS["fast-presets"].plan(datasets=["cora"], n_seeds=4)
    exact, fast = fast_presets._runs(plan, "cora", fast=False), fast_presets._runs(plan, "cora", fast=True)
    assert fast[0]["settings"]["loss_nodes"] == FAST["cora"]["loss_nodes"]
    for seed, run in enumerate(exact):
        records.add(fake(run) | {"result": {"test_accuracy": [0.8 + 0.01 * seed], "val_accuracy": [0.7]}})
    for seed, run in enumerate(fast[:3]):
        records.add(fake(run) | {"result": {"test_accuracy": [0.81 + 0.01 * seed], "val_accuracy": [0.7]}})
    pairs = paired(records, exact, fast)
    assert len(pairs) == 3
    mean, error = difference(pairs, "test_accuracy")
    assert mean == pytest.approx(1.0)
    assert error == pytest.approx(0.0, abs=1e-9)
    row = fast_presets.draw(records, plan, tmp_path).tables[""][0]
    assert row["difference, test"] == "+1.00 ± 0.00"
    assert row["exact"] == "81.00 ± 1.00"


def test_batches_are_an_eighth_of_the_nodes():
    plan = EXPERIMENTS["batches"].plan(datasets=["cora"], n_seeds=1)
    (twice,) = batches._runs(plan, "cora", 2)
    assert (twice["settings"]["batch_nodes"], twice["settings"]["n_steps"]) == (339, 100)
    (whole,) = batches._runs(plan, "cora", None)
    assert "batch_nodes" not in whole["settings"]
