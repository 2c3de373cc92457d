import dataclasses
import json
from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, f1_score

from ccassg import Dataset
from ccassg.datasets import CARDS, load_dataset, stochastic_block_graph
from ccassg.evaluate import logistic, probe
from ccassg.evaluate.probe import C_GRID, linear_probe


@pytest.fixture(autouse=True)
def one_thread():
    """Thousands of tiny parallel regions crawl on a busy machine; the numbers do not depend on threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def make_split(train, val, test):
    return SimpleNamespace(train=np.asarray(train), val=np.asarray(val), test=np.asarray(test))


def random_split(rng, n, n_train, n_val, n_test):
    order = rng.permutation(n)
    return make_split(*np.split(order[: n_train + n_val + n_test], [n_train, n_train + n_val]))


def problem(seed=0, n=120, d=12, c=4, noise=1.5, dtype=np.float64):
    """Classes as noisy clusters: hard enough that validation accuracy wanders."""
    rng = np.random.default_rng(seed)
    y = rng.integers(c, size=n)
    z = (rng.normal(size=(c, d))[y] + noise * rng.normal(size=(n, d))).astype(dtype)
    return z, y, rng


def plain_probe(z, y, split, seed, learning_rate=1e-2, weight_decay=1e-4, epochs=2000):
    """The protocol as one would write it from the paper: autograd, torch.optim.Adam, one run at a time."""
    z, y = torch.from_numpy(z), torch.from_numpy(y)
    train, val, test = (torch.from_numpy(part) for part in (split.train, split.val, split.test))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        layer = torch.nn.Linear(z.shape[1], int(y.max()) + 1).to(z.dtype)
    optimizer = torch.optim.Adam(layer.parameters(), lr=learning_rate, weight_decay=weight_decay)
    best, best_epoch, weights = -1.0, 0, {}
    for epoch in range(1, epochs + 1):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(layer(z[train]), y[train]).backward()
        optimizer.step()
        with torch.no_grad():
            accuracy = (layer(z[val]).argmax(1) == y[val]).double().mean().item()
        if accuracy > best:
            best, best_epoch = accuracy, epoch
            weights = {name: value.clone() for name, value in layer.state_dict().items()}
    layer.load_state_dict(weights)
    with torch.no_grad():
        return best_epoch, best, layer(z[test]).argmax(1).numpy()


def assert_equals_plain(result, runs, **settings):
    for i, (z, y, split, seed) in enumerate(runs):
        epoch, val_accuracy, predicted = plain_probe(z, y, split, seed, **settings)
        assert result.epochs[i] == epoch
        assert result.val_accuracies[i] == pytest.approx(val_accuracy)
        np.testing.assert_array_equal(result.predictions[i], predicted)
        assert result.accuracies[i] == pytest.approx((predicted == y[split.test]).mean())


class TestAgainstPlainPyTorch:
    def test_seeds_share_one_embedding_and_split(self):
        z, y, rng = problem()
        split = random_split(rng, 120, 20, 30, 60)
        # 77 epochs: not a multiple of the block in which validation is scored
        result = linear_probe(z, y, split, seeds=[3, 0, 7], epochs=77)
        assert_equals_plain(result, [(z, y, split, seed) for seed in (3, 0, 7)], epochs=77)

    def test_one_embedding_split_and_seed_per_run(self):
        runs = []
        for seed in range(3):
            z, _, rng = problem(seed)
            runs.append((z, problem(0)[1], random_split(rng, 120, 20, 30, 60), seed + 5))
        result = linear_probe(
            np.stack([run[0] for run in runs]), runs[0][1], [run[2] for run in runs], seeds=5, epochs=70
        )
        assert_equals_plain(result, runs, epochs=70)

    def test_splits_of_different_sizes(self):
        z, y, rng = problem()
        splits = [
            random_split(rng, 120, 8, 40, 20),
            random_split(rng, 120, 30, 15, 50),
            random_split(rng, 120, 3, 5, 7),
        ]
        result = linear_probe(z, y, splits, seeds=0, epochs=60)
        assert_equals_plain(result, [(z, y, split, i) for i, split in enumerate(splits)], epochs=60)

    def test_settings_reach_the_optimizer(self):
        z, y, rng = problem(2)
        split = random_split(rng, 120, 20, 30, 60)
        settings = {"learning_rate": 0.3, "weight_decay": 0.2, "epochs": 50}
        assert_equals_plain(linear_probe(z, y, split, seeds=1, **settings), [(z, y, split, 1)], **settings)

    def test_without_weight_decay(self):
        z, y, rng = problem(2)
        split = random_split(rng, 120, 20, 30, 60)
        result = linear_probe(z, y, split, weight_decay=0, epochs=50)
        assert_equals_plain(result, [(z, y, split, 0)], weight_decay=0, epochs=50)

    def test_full_protocol_in_single_precision(self):
        z, y, rng = problem(4, n=400, d=32, dtype=np.float32)
        split = random_split(rng, 400, 40, 100, 200)
        result = linear_probe(z, y, split, seeds=0, epochs=600)
        _, val_accuracy, predicted = plain_probe(z, y, split, 0, epochs=600)
        # rounding may move a node on the boundary, not more
        assert result.val_accuracies[0] == pytest.approx(val_accuracy, abs=0.011)
        assert result.accuracies[0] == pytest.approx((predicted == y[split.test]).mean(), abs=0.011)

    def test_test_nodes_do_not_influence_the_choice(self):
        z, y, rng = problem()
        split = random_split(rng, 120, 20, 30, 60)
        other = y.copy()
        other[split.test] = (other[split.test] + 1) % 4
        a, b = (linear_probe(z, labels, split, epochs=60) for labels in (y, other))
        assert a.epochs == b.epochs
        assert a.val_accuracies == b.val_accuracies
        np.testing.assert_array_equal(a.predictions[0], b.predictions[0])

    def test_chunks_of_runs_change_nothing(self, monkeypatch):
        z, y, rng = problem()
        splits = [random_split(rng, 120, 20, 30, 60) for _ in range(5)]
        whole = linear_probe(z, y, splits, epochs=40)
        monkeypatch.setattr("ccassg.evaluate.probe.CHUNK_BYTES", 1)  # two runs at a time
        monkeypatch.setattr("ccassg.evaluate.probe.BLOCK_ROWS", 7)
        parts = linear_probe(z, y, splits, epochs=40)
        assert parts.as_dict() == whole.as_dict()
        np.testing.assert_array_equal(np.stack(parts.predictions), np.stack(whole.predictions))

    def test_first_of_equal_epochs_wins(self):
        # Far apart classes: right from some early epoch on until the end.
        z = np.array([[-9.0], [9.0]] * 3)
        y = np.array([0, 1] * 3)
        split = make_split([0, 1], [2, 3], [4, 5])
        short, long = (linear_probe(z, y, split, seeds=range(4), epochs=epochs) for epochs in (150, 400))
        assert short.val_accuracies == [1.0] * 4
        assert short.epochs == long.epochs


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


class TestLogistic:
    def test_strength_is_chosen_on_validation(self):
        z, y, rng = problem(noise=3)
        split = random_split(rng, 120, 20, 30, 60)
        result = linear_probe(z, y, split, solver="logistic")
        scores = {
            strength: LogisticRegression(C=strength, tol=1e-10, max_iter=10000).fit(z[split.train], y[split.train])
            for strength in C_GRID
        }
        best = max(C_GRID, key=lambda strength: (scores[strength].score(z[split.val], y[split.val]), -strength))
        assert result.strengths == [best]
        predicted = scores[best].predict(z[split.test])
        np.testing.assert_array_equal(result.confusion, confusion_matrix(y[split.test], predicted))
        assert result.val_accuracies[0] == pytest.approx(scores[best].score(z[split.val], y[split.val]))
        assert result.accuracies[0] == pytest.approx(scores[best].score(z[split.test], y[split.test]))
        assert result.epochs == []

    def test_close_to_adam_on_an_easy_problem(self):
        z, y, rng = problem(noise=0.3)
        split = random_split(rng, 120, 20, 30, 60)
        assert linear_probe(z, y, split, solver="logistic").accuracy == 1.0
        assert linear_probe(z, y, split, epochs=300).accuracy > 0.9

    def test_runs_that_share_embedding_and_nodes_are_one_problem(self, monkeypatch):
        z, y, rng = problem(noise=3)
        one, other = random_split(rng, 120, 20, 30, 60), random_split(rng, 120, 20, 30, 60)
        same = make_split(one.train, one.val, one.test[:30])
        alone = [linear_probe(z, y, split, solver="logistic") for split in (one, other, same)]
        fits = []
        fit = logistic.fit
        monkeypatch.setattr(
            logistic, "fit", lambda rows, *given, **more: fits.append(len(rows)) or fit(rows, *given, **more)
        )
        together = linear_probe(z, y, [one, other, same, one], solver="logistic")
        assert sum(fits) == 2
        for run, expected in enumerate([*alone, alone[0]]):
            assert together.strengths[run] == expected.strengths[0]
            assert together.val_accuracies[run] == expected.val_accuracies[0]
            np.testing.assert_array_equal(together.predictions[run], expected.predictions[0])
        assert together.notes == []

    @pytest.mark.parametrize("solver", ["logistic", "adam"])
    def test_sparse_rows_are_as_dense_ones(self, solver):
        z, y, _ = problem(dtype=np.float32)
        z[z < 0] = 0
        same = {"solver": solver, "epochs": 30}
        found = [
            linear_probe(rows, y, make_split(range(40), range(40, 60), range(60, 120)), **same)
            for rows in (z, sp.csr_array(z))
        ]
        assert found[0].as_dict() == found[1].as_dict()
        with pytest.raises(ValueError, match="sparse rows cannot be standardized"):
            linear_probe(sp.csr_array(z), y, solver=solver, standardize=True)

    @pytest.mark.parametrize("c", [2, 4])
    def test_many_wide_sparse_rows_have_the_same_problem(self, monkeypatch, c):
        z, y, _ = problem(n=400, noise=1)
        z, y = np.maximum(z, 0), y % c
        split = make_split(range(200), range(200, 300), range(300, 400))
        dense = linear_probe(z, y, split, solver="logistic", tolerance=1e-6)
        monkeypatch.setattr(probe, "MAX_DENSE", 5)
        monkeypatch.setattr(probe, "SPARSE_GRID", tuple(dense.strengths))
        monkeypatch.setattr(probe, "SPARSE_STEPS", 1000)
        found = linear_probe(sp.csr_array(z), y, split, solver="logistic")
        assert found.accuracy == pytest.approx(dense.accuracy, abs=0.011)
        assert found.val_accuracies == pytest.approx(dense.val_accuracies, abs=0.011)
        assert found.roc_auc == pytest.approx(dense.roc_auc, abs=0.002)

    def test_too_much_work_is_bounded_and_said(self, monkeypatch):
        z, y, rng = problem(noise=0.3)
        split = random_split(rng, 120, 40, 30, 50)
        monkeypatch.setattr("ccassg.evaluate.probe.MAX_CELLS", 20 * 4 * 12)
        monkeypatch.setattr(logistic, "MAX_PRODUCTS", 1)
        monkeypatch.setattr(logistic, "MIN_GRADIENTS", 2)
        result = linear_probe(z, y, split, solver="logistic")
        assert (
            result.notes
            == result.as_dict()["notes"]
            == [
                "logistic regression saw 20 training nodes drawn at random of 40, to bound the work",
                "logistic regression was stopped before its solution: 4 classes x 20 training nodes x 12 columns are too much work",
                "logistic regression saw 20 validation nodes drawn at random of 30, to bound the work",
            ]
        )
        assert len(result.predictions[0]) == 50
        assert result.accuracy > 0.9

    def test_classes_that_are_only_tested_cost_nothing(self, monkeypatch):
        z, y, _ = problem()
        y[:60] += 4
        split = make_split(range(60, 90), range(90, 105), range(105, 120))
        fits = []
        fit = logistic.fit
        monkeypatch.setattr(logistic, "fit", lambda *given, **more: fits.append(given[2]) or fit(*given, **more))
        result = linear_probe(z, y, split, solver="logistic")
        assert fits == [4]
        assert result.confusion.shape == (8, 8)
        assert set(result.predictions[0]) <= set(range(4))


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
