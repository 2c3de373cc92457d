import dataclasses
import json
from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.metrics import confusion_matrix, f1_score

from ccassg import Dataset, as_graph
from ccassg.datasets import CARDS, load_dataset, stochastic_block_graph
from ccassg.evaluate import logistic, probe
from ccassg.evaluate.probe import linear_probe
from probe_problems import make_split, problem, random_split


class TestResult:
    def test_scores_agree_with_scikit_learn(self):
        z, y, rng = problem(noise=3)
        splits = [random_split(rng, 120, 20, 30, 60) for _ in range(3)]
        result = linear_probe(z, y, splits, epochs=30)
        expected = np.zeros((4, 4), int)
        for i, split in enumerate(splits):
            true, predicted = y[split.test], result.predictions[i]
            assert result.accuracies[i] == pytest.approx((true == predicted).mean())
            assert result.macro_f1[i] == pytest.approx(f1_score(true, predicted, average="macro"))
            expected += confusion_matrix(true, predicted, labels=range(4))
        np.testing.assert_array_equal(result.confusion, expected)
        assert result.accuracy == pytest.approx(np.mean(result.accuracies))
        assert result.std == pytest.approx(np.std(result.accuracies, ddof=1))

    def test_as_dict_survives_json(self):
        z, y, rng = problem()
        result = linear_probe(z, y, random_split(rng, 120, 20, 30, 60), seeds=[1, 2], epochs=5)
        back = json.loads(json.dumps(result.as_dict()))
        assert back == result.as_dict()
        assert back["n_runs"] == 2
        assert linear_probe(z, y, random_split(rng, 120, 20, 30, 60), epochs=5).std == 0.0


class TestRuns:
    def test_same_seed_same_bits_and_global_generator_untouched(self):
        z, y, rng = problem(dtype=np.float32)
        split = random_split(rng, 120, 20, 30, 60)
        before = torch.random.get_rng_state()
        a, b = (linear_probe(z, y, split, seeds=[0, 1], epochs=40) for _ in range(2))
        assert a.as_dict() == b.as_dict()
        assert torch.equal(before, torch.random.get_rng_state())

    def test_int_seed_counts_up(self):
        z, y, rng = problem()
        splits = [random_split(rng, 120, 20, 30, 60) for _ in range(2)]
        assert (
            linear_probe(z, y, splits, seeds=4, epochs=20).as_dict()
            == linear_probe(z, y, splits, seeds=[4, 5], epochs=20).as_dict()
        )

    def test_forms_of_the_embedding_are_equal(self):
        z, y, rng = problem()
        split = random_split(rng, 120, 20, 30, 60)
        expected = linear_probe(z, y, split, epochs=20).as_dict()
        for form in (z[None], [z], torch.from_numpy(z), [torch.from_numpy(z)], z.tolist(), np.asfortranarray(z)):
            given = linear_probe(form, torch.from_numpy(y), split, epochs=20).as_dict()
            assert given["epochs"] == expected["epochs"]
            assert given["accuracies"] == pytest.approx(expected["accuracies"])

    def test_named_tuple_is_one_split(self):
        z, y, rng = problem()
        split = random_split(rng, 120, 20, 30, 60)
        named = namedtuple("Named", "train val test")(split.train, split.val, split.test)
        expected = linear_probe(z, y, split, epochs=5).as_dict()
        for form in (named, [split], (split,), iter([named])):
            assert linear_probe(z, y, form, epochs=5).as_dict() == expected

    def test_unlabelled_nodes_outside_the_split_are_ignored(self):
        z, y, rng = problem()
        split = random_split(rng, 120, 20, 30, 60)
        hidden = y.copy()
        hidden[np.setdiff1d(np.arange(120), np.concatenate([split.train, split.val, split.test]))] = -1
        assert linear_probe(z, hidden, split, epochs=20).as_dict() == linear_probe(z, y, split, epochs=20).as_dict()

    @pytest.mark.parametrize("solver", ["adam", "logistic"])
    def test_one_class_in_train_is_predicted(self, solver):
        z = problem()[0] / 100  # the bias decides
        y = np.zeros(120, int)
        y[-3:] = 1
        split = make_split(range(20), range(20, 60), range(60, 120))
        result = linear_probe(z, y, split, epochs=200, solver=solver)
        assert (result.predictions[0] == 0).all()
        assert result.accuracy == pytest.approx(57 / 60)

    @pytest.mark.parametrize("solver", ["adam", "logistic"])
    def test_standardizing_undoes_shift_and_scale(self, solver):
        z, y, rng = problem()
        split = random_split(rng, 120, 20, 30, 60)
        moved = np.hstack([z * 100 + 7, np.full((120, 1), 3.0)])
        flat = np.hstack([(z - z.mean(0)) / z.std(0), np.zeros((120, 1))])
        a = linear_probe(moved, y, split, standardize=True, epochs=50, solver=solver)
        b = linear_probe(flat, y, split, epochs=50, solver=solver)
        np.testing.assert_array_equal(a.predictions[0], b.predictions[0])


GOOD = {"train": [0, 1], "val": [2, 3], "test": [4, 5]}


class TestErrors:
    def test_classes_with_huge_gaps(self):
        with pytest.raises(
            ValueError, match=r"y has the class 1,000,000,000 on 7 nodes; number the classes without gaps"
        ):
            linear_probe(np.ones((7, 2)), [0, 1, 0, 1, 0, 1, 10**9], make_split(**GOOD))

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"train": []}, "split.train must be a list of at least one node"),
            ({"val": np.zeros((1, 2), int)}, r"split.val .* got shape \(1, 2\)"),
            ({"test": [4, 6]}, "names 1 nodes without a label"),
            ({"test": [4, 7]}, "names node 7, but nodes are 0 .. 6"),
            ({"val": [-2, 3]}, "names node -2"),
            ({"test": [3, 4]}, "split.val and split.test share 1 nodes, first 3"),
            ({"train": [True, False, True, True, True, True, True]}, "numpy.flatnonzero"),
        ],
    )
    def test_splits(self, change, message):
        split = make_split(**{**GOOD, **change}) if change != {"train": []} else make_split(np.zeros(0, int), [2], [4])
        with pytest.raises(ValueError, match=message):
            linear_probe(np.ones((7, 2)), [0, 1, 0, 1, 0, 1, -1], split)

    @pytest.mark.parametrize(
        ("z", "y", "settings", "message"),
        [
            (np.ones((6, 2)), [0] * 5, {}, "give one label per row"),
            (np.ones((6, 2)), [-1] * 6, {}, "no node has a label"),
            (np.ones((6, 2)), [0.5] * 6, {}, "must hold integers"),
            (np.ones((6, 2)), [-3] + [0] * 5, {}, "got -3"),
            (np.ones(6), [0] * 6, {}, r"shape \(n, d\)"),
            (np.ones((6, 0)), [0] * 6, {}, "both at least 1"),
            ([np.ones((6, 2)), np.ones((5, 2))], [0] * 6, {}, "one shape"),
            ([], [0] * 6, {}, "z is empty"),
            (np.full((6, 2), np.nan), [0] * 6, {}, "NaN or infinite values in 6 rows"),
            (np.full((6, 2), "a"), [0] * 6, {}, "must be numeric"),
            (np.ones((2, 6, 2)), [0] * 6, {"seeds": [1, 2, 3]}, "got 2 z, 1 splits, 3 seeds"),
            (np.ones((6, 2)), [0] * 6, {"seeds": []}, "seeds is empty; give at least one"),
            (np.ones((6, 2)), [0] * 6, {"epochs": 0}, "epochs must be an integer, at least 1, got 0"),
            (np.ones((6, 2)), [0] * 6, {"learning_rate": 0}, "learning_rate must be positive"),
            (np.ones((6, 2)), [0] * 6, {"solver": "sgd"}, "got 'sgd'"),
        ],
    )
    def test_arguments(self, z, y, settings, message):
        with pytest.raises(ValueError, match=message):
            linear_probe(z, y, make_split(**GOOD), **settings)

    def test_missing_part(self):
        with pytest.raises(ValueError, match="no attribute 'val'"):
            linear_probe(np.ones((6, 2)), [0] * 6, SimpleNamespace(train=[0]))


def test_the_last_epoch_counts_on_request():
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(60, 5)).astype(np.float32), rng.integers(0, 3, 60)
    split = SimpleNamespace(train=np.arange(20), val=np.arange(20, 40), test=np.arange(40, 60))
    assert linear_probe(z, y, split, epochs=30, choose="last").epochs == [30]
    best = linear_probe(z, y, split, epochs=30)
    assert best.epochs[0] < 30
    shorter = linear_probe(z, y, split, epochs=best.epochs[0], choose="last")
    assert shorter.accuracies == best.accuracies  # the same weights, reached on purpose
    with pytest.raises(ValueError, match="choose must be 'validation' or 'last', got 'test'"):
        linear_probe(z, y, split, choose="test")


def test_of_several_decays_validation_takes_the_best_per_run():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 90)
    z = (np.eye(3)[y] + rng.normal(size=(90, 3))).astype(np.float32)
    splits = [SimpleNamespace(train=p[:20], val=p[20:50], test=p[50:]) for p in (rng.permutation(90) for _ in range(4))]
    decays = [1.0, 1e-4, 0.1]
    alone = [linear_probe(z, y, splits, epochs=50, weight_decay=x) for x in decays]
    together = linear_probe(z, y, splits, epochs=50, weight_decay=decays)
    for run in range(4):
        best = max(range(3), key=lambda i: alone[i].val_accuracies[run])  # the first of equals
        assert together.val_accuracies[run] == alone[best].val_accuracies[run]
        assert together.accuracies[run] == alone[best].accuracies[run]
        assert together.epochs[run] == alone[best].epochs[run]
    assert together.accuracies != alone[0].accuracies  # or the choice would show nothing
    with pytest.raises(ValueError, match="weight_decay not empty"):
        linear_probe(z, y, splits, weight_decay=[])


def test_a_dataset_brings_labels_splits_and_the_papers_rates():
    data = load_dataset("cora")
    z = data.graph.features[:, :40].toarray()
    expected = linear_probe(z, data.y, [data.split()] * 2, seeds=range(2), epochs=15, **CARDS["cora"].probe)
    found = linear_probe(z, data, seeds=range(2), epochs=15)
    assert found.as_dict() == expected.as_dict()
    slow = dataclasses.replace(data, card=dataclasses.replace(data.card, probe={"learning_rate": 1e-6}))
    assert linear_probe(z, slow, epochs=15).accuracies != linear_probe(z, data, epochs=15).accuracies
    assert linear_probe(z, slow, learning_rate=1e-2, epochs=15).as_dict() == linear_probe(z, data, epochs=15).as_dict()
    with pytest.raises(ValueError, match="the dataset has no labels"):
        linear_probe(z, Dataset(data.graph))


def test_without_splits_they_are_random_and_one_per_run():
    data = stochastic_block_graph(120, n_classes=3, seed=0)
    z = data.graph.features
    expected = linear_probe(z, data.y, [data.split(seed) for seed in (4, 5)], seeds=(4, 5), epochs=10).as_dict()
    assert linear_probe(z, data, seeds=iter((4, 5)), epochs=10).as_dict() == expected
    assert linear_probe(z, data.y, seeds=(4, 5), epochs=10).as_dict() == expected
    assert linear_probe([z, z], data.y, seeds=4, epochs=10).as_dict() == expected
    with pytest.raises(ValueError, match="at least 10 labelled nodes, got 3"):
        linear_probe(z, np.where(np.arange(120) < 3, data.y, -1))


def test_what_is_done_where_nothing_is_said():
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(40, 2)).astype(np.float32), rng.integers(0, 2, 40)
    split = make_split(range(20), range(20, 30), range(30, 40))
    said = {"seeds": [0], "learning_rate": 1e-2, "weight_decay": 1e-4, "epochs": 2000, "standardize": False}
    assert linear_probe(z, y, split).as_dict() == linear_probe(z, y, split, **said).as_dict()
    card = dataclasses.replace(CARDS["cora"], probe={"weight_decay": 3.0})
    data = Dataset(as_graph(np.zeros((2, 0), int), n_nodes=40), y, card=card)
    decayed = linear_probe(z, y, split, epochs=30, weight_decay=3.0).as_dict()
    assert linear_probe(z, data, split, epochs=30).as_dict() == decayed
    assert (
        linear_probe(z, data, split, epochs=30, weight_decay=1e-4).as_dict()
        == linear_probe(z, y, split, epochs=30).as_dict()
    )
    exact = linear_probe(z, y, split, solver="logistic", tolerance=1e-3)
    assert linear_probe(z, y, split, solver="logistic").as_dict() == exact.as_dict()


def test_the_limits_of_the_arguments(monkeypatch):
    z, y = np.random.default_rng(0).normal(size=(12, 2)), np.arange(12) % 2
    split = make_split(**GOOD)
    for arguments, sentence in [
        ({"epochs": 10**6 + 1}, "epochs must be at most 1000000, got 1000001"),
        ({"solver": "logistic", "tolerance": 0}, "tolerance must be positive, got 0"),
        ({"weight_decay": -1}, "weight_decay must be a finite number, at least 0, got -1"),
        ({"weight_decay": [0.1, "a"]}, "weight_decay must be a finite number"),
        ({"splits": [split, make_split([0], [1], [])]}, r"splits\[1\].test must be a list of at least one node"),
        ({"splits": [split] * 2, "seeds": [1, 2, 3]}, "got 1 z, 2 splits, 3 seeds"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            linear_probe(z, y, **{"splits": split} | arguments)
    assert linear_probe(z, y, split, epochs=1).epochs == [1]
    with pytest.raises(ValueError, match="y has the class 10,000 on 12 nodes"):
        linear_probe(z, np.where(np.arange(12) == 11, 10_000, y), split)
    monkeypatch.setattr(probe, "MAX_NUMBERED", 30)
    gaps = np.where(np.arange(12) == 11, 29, y)
    assert linear_probe(z, gaps, split, solver="logistic").confusion.shape == (30, 30)
    with pytest.raises(ValueError, match="y has the class 30 on 12 nodes"):
        linear_probe(z, np.where(gaps == 29, 30, gaps), split)
    assert len(linear_probe(z, np.where(np.arange(12) < 10, y, -1), solver="logistic").accuracies) == 1
    with pytest.raises(ValueError, match="at least 10 labelled nodes, got 9"):
        linear_probe(z, np.where(np.arange(12) < 9, y, -1))


def test_several_embeddings_seeds_and_splits_are_paired():
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(2, 40, 3)), rng.integers(0, 2, 40)
    splits = [make_split(*np.split(rng.permutation(40), [15, 25])) for _ in range(2)]
    both = linear_probe(z, y, splits, seeds=7, epochs=20)
    for run in range(2):
        alone = linear_probe(z[run], y, splits[run], seeds=7 + run, epochs=20)
        np.testing.assert_array_equal(both.predictions[run], alone.predictions[0])
    one_seed = linear_probe(z, y, splits, seeds=[7], epochs=20)
    np.testing.assert_array_equal(
        one_seed.predictions[1], linear_probe(z[1], y, splits[1], seeds=7, epochs=20).predictions[0]
    )


def test_weights_are_known_to_a_thousandth_where_nothing_is_said(monkeypatch):
    z, y, rng = problem()
    asked, fit = [], logistic.fit
    monkeypatch.setattr(
        logistic, "fit", lambda *given, tolerance: asked.append(tolerance) or fit(*given, tolerance=tolerance)
    )
    split = random_split(rng, 120, 20, 30, 60)
    linear_probe(z, y, split, solver="logistic")
    linear_probe(z, y, split, solver="logistic", tolerance=0.1)
    assert asked == [1e-3, 0.1]
