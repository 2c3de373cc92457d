import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.metrics import confusion_matrix, f1_score

from ccassg.evaluate import linear_probe


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
        layer = torch.nn.Linear(z.shape[1], int(y.max()) + 1, dtype=z.dtype)
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

    def test_full_protocol_in_single_precision(self):
        z, y, rng = problem(4, n=400, d=32, dtype=np.float32)
        split = random_split(rng, 400, 40, 100, 200)
        result = linear_probe(z, y, split, seeds=0)
        epoch, val_accuracy, predicted = plain_probe(z, y, split, 0)
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
