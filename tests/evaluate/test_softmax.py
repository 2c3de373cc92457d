import pytest
import torch

from ccassg.evaluate import softmax


def data(g=2, n_train=7, n_val=9, d=3, c=4, seed=0):
    generator = torch.Generator().manual_seed(seed)
    rows = [softmax.with_ones(torch.randn(g, n, d, generator=generator, dtype=torch.float64)) for n in (n_train, n_val)]
    y = [torch.randint(c, (g, n), generator=generator) for n in (n_train, n_val)]
    return rows[0], y[0], rows[1], y[1]


def start(g=2, s=3, c=4, d=3):
    return torch.stack(
        [torch.stack([softmax.initial_weights(10 * i + j, c, d) for j in range(s)]) for i in range(g)]
    ).double()


SETTINGS = {"learning_rate": 0.05, "weight_decay": 0.01}


def test_initial_weights_are_those_of_a_linear_layer():
    with torch.random.fork_rng():
        torch.manual_seed(5)
        layer = torch.nn.Linear(16, 3)
    weights = softmax.initial_weights(5, 3, 16)
    torch.testing.assert_close(weights[:, :-1], layer.weight.detach())
    torch.testing.assert_close(weights[:, -1], layer.bias.detach())


@pytest.fixture
def history(monkeypatch):
    """The weights after every epoch, (g, s, c, d + 1) each."""
    seen = []
    original = softmax._Choice.see

    def see(self, w):
        seen.append(w.reshape(2, 3, 4, 4).clone())
        original(self, w)

    monkeypatch.setattr(softmax._Choice, "see", see)
    return seen


def test_training_follows_autograd_and_adam(history):
    rows, y, val_rows, val_y = data()
    weights = start()
    softmax.train(weights, rows, y, val_rows, val_y, epochs=6, **SETTINGS)
    leaf = weights.clone().requires_grad_()
    optimizer = torch.optim.Adam([leaf], lr=0.05, weight_decay=0.01)
    for _ in range(6):
        optimizer.zero_grad()
        logits = torch.einsum("gscd,gnd->gscn", leaf, rows)
        losses = torch.nn.functional.cross_entropy(
            logits.permute(0, 1, 3, 2).reshape(-1, 4), y[:, None].expand(2, 3, 7).reshape(-1), reduction="sum"
        )
        (losses / 7).backward()
        optimizer.step()
    torch.testing.assert_close(history[-1], leaf.detach(), rtol=0, atol=2e-8)


@pytest.mark.parametrize("block", [1, 4, 5, 100])
def test_blocks_of_epochs_find_the_same_first_best_epoch(block, history):
    rows, y, val_rows, val_y = data()
    fitted = softmax.train(start(), rows, y, val_rows, val_y, epochs=23, block=block, **SETTINGS)
    for g in range(2):
        for s in range(3):
            accuracies = [((w[g, s] @ val_rows[g].T).argmax(0) == val_y[g]).double().mean().item() for w in history]
            best = accuracies.index(max(accuracies))
            assert fitted.epochs[g, s] == best + 1
            assert fitted.val_accuracies[g, s].item() == pytest.approx(accuracies[best])
            torch.testing.assert_close(fitted.weights[g, s], history[best][g, s])


def test_padding_changes_nothing():
    rows, y, val_rows, val_y = data()
    plain = softmax.train(start(), rows, y, val_rows, val_y, epochs=15, **SETTINGS)
    padded = softmax.train(
        start(),
        torch.nn.functional.pad(rows, (0, 0, 0, 2)),
        torch.nn.functional.pad(y, (0, 2), value=-1),
        torch.nn.functional.pad(val_rows, (0, 0, 0, 5)),
        torch.nn.functional.pad(val_y, (0, 5), value=-1),
        epochs=15,
        **SETTINGS,
    )
    torch.testing.assert_close(padded.weights, plain.weights)
    assert torch.equal(padded.epochs, plain.epochs)
    torch.testing.assert_close(padded.val_accuracies, plain.val_accuracies)


def test_runs_do_not_touch_each_other_or_their_input():
    rows, y, val_rows, val_y = data()
    weights = start()
    before = weights.clone()
    both = softmax.train(weights, rows, y, val_rows, val_y, epochs=10, **SETTINGS)
    alone = softmax.train(weights[1:, 2:], rows[1:], y[1:], val_rows[1:], val_y[1:], epochs=10, **SETTINGS)
    torch.testing.assert_close(both.weights[1, 2], alone.weights[0, 0])
    assert both.epochs[1, 2] == alone.epochs[0, 0]
    assert torch.equal(weights, before)


def test_the_last_epoch_on_request(history):
    given = data()
    best = softmax.train(start(), *given, epochs=40, **SETTINGS)
    after = [weights.clone() for weights in history]
    last = softmax.train(start(), *given, epochs=40, last_only=True, **SETTINGS)
    torch.testing.assert_close(last.weights, after[-1])
    assert (last.epochs == 40).all()
    assert (last.val_accuracies <= best.val_accuracies).all()
    assert (best.epochs < 40).any()  # or the test would show nothing


def test_the_bias_multiplies_a_column_of_ones():
    assert softmax.with_ones(torch.tensor([[2.0, 3.0]])).tolist() == [[2, 3, 1]]


def test_of_several_trainings_the_first_best_counts_per_run():
    def fitted(value, accuracies):
        weights = torch.full((1, 3, 2, 2), float(value))
        return softmax.Fitted(weights, torch.full((1, 3), value), torch.tensor([accuracies]))

    found = softmax.best([fitted(1, [0.5, 0.2, 0.3]), fitted(2, [0.5, 0.4, 0.1]), fitted(3, [0.4, 0.4, 0.9])])
    assert found.epochs.tolist() == [[1, 2, 3]]
    assert found.weights[0, :, 0, 0].tolist() == [1, 2, 3]
    assert found.val_accuracies.tolist() == [[0.5, pytest.approx(0.4), pytest.approx(0.9)]]
