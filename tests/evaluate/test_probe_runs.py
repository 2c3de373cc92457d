import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, roc_auc_score

from ccassg.evaluate import logistic, probe_runs
from ccassg.evaluate.probe import linear_probe
from ccassg.evaluate.probe_runs import C_GRID
from probe_problems import make_split, problem, random_split


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
        monkeypatch.setattr("ccassg.evaluate.probe_runs.CHUNK_BYTES", 1)  # two runs at a time
        monkeypatch.setattr("ccassg.evaluate.probe_runs.BLOCK_ROWS", 7)
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
        monkeypatch.setattr(probe_runs, "MAX_DENSE", 5)
        monkeypatch.setattr(probe_runs, "SPARSE_GRID", tuple(dense.strengths))
        monkeypatch.setattr(probe_runs, "SPARSE_STEPS", 1000)
        found = linear_probe(sp.csr_array(z), y, split, solver="logistic")
        assert found.accuracy == pytest.approx(dense.accuracy, abs=0.011)
        assert found.val_accuracies == pytest.approx(dense.val_accuracies, abs=0.011)
        assert found.roc_auc == pytest.approx(dense.roc_auc, abs=0.002)

    def test_too_much_work_is_bounded_and_said(self, monkeypatch):
        z, y, rng = problem(noise=0.3)
        split = random_split(rng, 120, 40, 30, 50)
        monkeypatch.setattr("ccassg.evaluate.probe_runs.MAX_CELLS", 20 * 4 * 12)
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


def test_strengths_are_half_powers_of_ten():
    np.testing.assert_allclose(C_GRID, 10.0 ** np.arange(-3, 3.1, 0.5))
    np.testing.assert_allclose(probe_runs.SPARSE_GRID, 10.0 ** np.arange(-1, 3.1, 1.0))


def test_columns_are_standardized_over_all_nodes_and_constant_ones_are_zero():
    z = np.array([[1.0, 5.0], [3.0, 5.0], [5.0, 5.0]])
    split = {"train": np.array([0]), "val": np.array([1]), "test": np.array([2])}
    batch = probe_runs.plan([z], [split], 0, True)
    np.testing.assert_allclose(batch.rows(0, np.array([2, 0])), [[1.5**0.5, 0], [-(1.5**0.5), 0]])
    assert probe_runs.plan([z], [split], 0, False).rows(0, np.array([2])).tolist() == [[5, 5]]


def test_runs_are_paired_one_by_one_or_share_what_there_is_one_of():
    z, other = np.zeros((3, 2)), np.ones((3, 2))
    one, two = ({"train": np.array([i])} for i in range(2))
    for given, groups, seeds in [
        (([z], [one], 4), [(0, 0)], [[4]]),
        (([z], [one], [4, 9]), [(0, 0)], [[4, 9]]),
        (([z, other], [one], 4), [(0, 0), (1, 0)], [[4], [5]]),
        (([z, other], [one], [4]), [(0, 0), (1, 0)], [[4], [4]]),
        (([z], [one, two], [4, 9]), [(0, 0), (0, 1)], [[4], [9]]),
        (([z, other], [one, two], 0), [(0, 0), (1, 1)], [[0], [1]]),
    ]:
        batch = probe_runs.plan(*given, False)
        assert (batch.groups, batch.seeds) == (groups, seeds)
    with pytest.raises(ValueError, match="give 1 or 3 of each, got 2 z, 1 splits, 3 seeds"):
        probe_runs.plan([z, other], [one], [1, 2, 3], False)


@pytest.mark.parametrize("solver", ["adam", "logistic"])
@pytest.mark.parametrize(("n_classes", "ranked"), [(100, True), (101, False)])
def test_of_more_than_a_hundred_classes_there_is_no_area(solver, n_classes, ranked):
    z, y, _ = problem()
    y[0] = n_classes - 1
    split = make_split(range(40), range(40, 60), range(60, 120))
    found = linear_probe(z, y, split, solver=solver, epochs=1)
    assert len(found.roc_auc) == ranked
    assert len(found.predictions[0]) == 60


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")  # fifty steps are not enough
@pytest.mark.parametrize("c", [2, 3])
def test_sparse_rows_are_solved_until_no_strength_is_better(monkeypatch, c):
    z, y, _ = problem(n=400, noise=3)
    z, y = np.maximum(z, 0) * np.logspace(0, 1, 12), np.where(y % c == 0, 1, y % c + 2)  # classes with gaps
    split = make_split(range(200), range(200, 300), range(300, 400))
    monkeypatch.setattr(probe_runs, "MAX_DENSE", 11)
    found = linear_probe(sp.csr_array(z), y, split, solver="logistic")
    model, best = LogisticRegression(warm_start=True, max_iter=50), None
    for strength in probe_runs.SPARSE_GRID:
        model.set_params(C=strength).fit(sp.csr_array(z)[split.train], y[split.train])
        score = model.score(z[split.val], y[split.val])
        if best is not None and score <= best[0]:
            break
        best = score, strength, model.predict(z[split.test]), model.predict_proba(z[split.test])
    assert best is not None
    assert best[1] < probe_runs.SPARSE_GRID[-1]  # or the end would show nothing
    assert (found.val_accuracies, found.strengths) == ([best[0]], [best[1]])
    np.testing.assert_array_equal(found.predictions[0], best[2])
    present = np.unique(y)
    areas = [roc_auc_score(y[split.test] == k, best[3][:, i]) for i, k in enumerate(present)]
    assert found.roc_auc == [pytest.approx(np.mean(areas))]


@pytest.mark.parametrize(("n_train", "width", "is_sparse"), [(13, 12, True), (11, 12, False), (40, 11, False)])
def test_only_many_rows_of_many_columns_are_solved_sparse(monkeypatch, n_train, width, is_sparse):
    z, y, _ = problem()
    monkeypatch.setattr(probe_runs, "MAX_DENSE", 11)
    monkeypatch.setattr(probe_runs, "SPARSE_GRID", (0.5,))
    split = make_split(range(n_train), range(60, 90), range(90, 120))
    found = linear_probe(sp.csr_array(z[:, :width]), y, split, solver="logistic")
    assert (found.strengths == [0.5]) is is_sparse
    assert linear_probe(z[:, :width], y, split, solver="logistic").strengths != [0.5]


def test_as_many_nodes_are_seen_as_there_is_room_for(monkeypatch):
    z, y, rng = problem(noise=3)
    split = random_split(rng, 120, 40, 30, 50)
    whole = linear_probe(z, y, split, solver="logistic")
    assert whole.notes == []
    n_classes = len(np.unique(y[split.train]))
    monkeypatch.setattr(probe_runs, "MAX_CELLS", 40 * n_classes * 12)
    assert linear_probe(z, y, split, solver="logistic").as_dict() == whole.as_dict()
    for cells, n in ((40 * n_classes * 12 - 1, 39), (12 * 4, 2), (12 * 144, 36)):  # or the root, if that is more
        monkeypatch.setattr(probe_runs, "MAX_CELLS", cells)
        found = linear_probe(z, y, split, solver="logistic")
        assert found.notes[0] == (
            f"logistic regression saw {n} training nodes drawn at random of 40, to bound the work"
        )
    labels = np.array([0] * 9 + [1, 2])
    batch = probe_runs.plan([np.zeros((11, 5))], [{"train": np.arange(11)}], 0, False)
    for cells, n in ((5 * 33, 11), (5 * 33 - 1, 10), (5 * 3 - 1, 1), (5 * 4, 2), (5 * 9, 3)):
        monkeypatch.setattr(probe_runs, "MAX_CELLS", cells)
        nodes = probe_runs._draw(batch, 0, "train", labels, [])
        expected = np.arange(11) if n == 11 else np.sort(np.random.default_rng(0).choice(11, n, replace=False))
        assert nodes.tolist() == expected.tolist()


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_logits_come_in_blocks_of_nodes(monkeypatch, make):
    z, _, rng = problem()
    weights = torch.from_numpy(rng.normal(size=(2, 3, 13)))
    nodes = rng.permutation(120)[:50]
    batch = probe_runs.plan([make(z)], [{"train": nodes}], 0, False)
    expected = np.einsum("scd,nd->scn", weights, np.column_stack([z, np.ones(120)])[nodes])
    for rows, n_bytes in ((8192, 10**9), (7, 10**9), (8192, 1)):
        monkeypatch.setattr(probe_runs, "BLOCK_ROWS", rows)
        monkeypatch.setattr(probe_runs, "BLOCK_BYTES", n_bytes)
        blocks = list(probe_runs._logits(batch, 0, nodes, weights))
        np.testing.assert_allclose(np.concatenate(blocks, axis=2), expected)
        np.testing.assert_array_equal(probe_runs._predict(batch, 0, nodes, weights), expected.argmax(1))
        assert max(block.shape[2] for block in blocks) == (1 if n_bytes == 1 else min(rows, 50))


def test_each_of_several_sparse_embeddings_has_its_own_problem(monkeypatch):
    monkeypatch.setattr(probe_runs, "MAX_DENSE", 5)
    several = [problem(seed, noise=1)[0] for seed in (0, 1)]
    y, split = problem(0)[1], make_split(range(40), range(40, 80), range(80, 120))
    together = linear_probe([sp.csr_array(z) for z in several], y, split, solver="logistic")
    alone = [linear_probe(sp.csr_array(z), y, split, solver="logistic") for z in several]
    assert together.roc_auc == [one.roc_auc[0] for one in alone]
    assert together.roc_auc[0] != together.roc_auc[1]
