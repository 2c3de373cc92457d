"""The loop: same seed same bits, resumed equals uninterrupted, and what it refuses."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ccassg import CCASSG, as_graph
from ccassg.datasets import stochastic_block_graph
from ccassg.model.encoder import gcn, mlp
from ccassg.training import checkpoint
from ccassg.training.batches import BatchViews, RunningMoments
from ccassg.training.embedding import embed
from ccassg.training.loop import is_flat, train
from ccassg.training.settings import NonFiniteLossError
from ccassg.training.step import ExactStep
from ccassg.training.views import Views
from short_runs import F, N, same_weights, settings, sparse_graph


@pytest.fixture(scope="module")
def graph():
    return sparse_graph()


def test_the_loss_falls(graph):
    history = train(gcn((F, 16, 8)), graph, settings(n_steps=40))
    assert np.mean(history["loss"][-5:]) < np.mean(history["loss"][:5])
    assert len(history["loss"]) == len(history["invariance"]) == len(history["decorrelation"]) == 40


def test_same_seed_same_bits_other_seed_other_bits(graph):
    runs = []
    for seed in (0, 0, 1):
        encoder = gcn((F, 16, 8), seed=0)
        train(encoder, graph, settings(seed=seed))
        runs.append(encoder)
    assert same_weights(runs[0], runs[1])
    assert not same_weights(runs[0], runs[2])


@pytest.mark.parametrize("make", [gcn, mlp])
@pytest.mark.parametrize("loss_nodes", [0, 30])
def test_resumed_equals_uninterrupted(graph, tmp_path, make, loss_nodes):
    whole = make((F, 16, 8))
    expected = train(whole, graph, settings(loss_nodes=loss_nodes))
    path = tmp_path / "run" / "checkpoint.safetensors"

    class StopError(Exception):
        pass

    def stop(step, terms, n_steps):
        if step == 4:
            raise StopError

    with pytest.raises(StopError):
        train(
            make((F, 16, 8)),
            graph,
            settings(loss_nodes=loss_nodes),
            checkpoint_path=path,
            checkpoint_every=2,
            on_step=stop,
        )
    resumed = make((F, 16, 8), seed=7)  # other initial weights: they must come from the file
    history = train(resumed, graph, settings(loss_nodes=loss_nodes), checkpoint_path=path)
    assert history == expected
    assert same_weights(resumed, whole)


@pytest.mark.parametrize("kind", [{}, {"loss_nodes": 30}, {"batch_nodes": 30}])
def test_a_neighbour_view_resumes_to_the_same_bits_and_is_another_run(graph, tmp_path, kind):
    whole, resumed = mlp((F, 16, 8)), mlp((F, 16, 8), seed=7)
    expected = train(whole, graph, settings(neighbour_view=True, **kind))
    path = tmp_path / "c.safetensors"
    train(mlp((F, 16, 8)), graph, settings(neighbour_view=True, n_steps=3, **kind), checkpoint_path=path)
    with pytest.raises(ValueError, match="belongs to another run"):
        train(mlp((F, 16, 8)), graph, settings(**kind), checkpoint_path=path)
    assert train(resumed, graph, settings(neighbour_view=True, **kind), checkpoint_path=path) == expected
    assert same_weights(resumed, whole)


@pytest.mark.parametrize("kind", [{}, {"loss_nodes": 30}, {"batch_nodes": 30}])
def test_without_edges_a_neighbour_view_is_the_papers_to_the_bit(graph, kind):
    alone = as_graph(sp.csr_array((N, N)), graph.features)
    paper, ours = mlp((F, 16, 8)), mlp((F, 16, 8))
    assert train(paper, alone, settings(**kind)) == train(ours, alone, settings(neighbour_view=True, **kind))
    assert same_weights(paper, ours)


def test_partners_take_the_features_of_the_second_augmented_view(graph):
    def silence(g, seed, step, view):
        return g.with_features(g.features * np.float32(view == 0))

    history = train(mlp((F, 8)), graph, settings(neighbour_view=True, n_steps=1, augmentations=(silence,)))
    assert history["invariance"] == [0.0]  # the second view is constant
    identity = settings(neighbour_view=True, augmentations=(lambda g, *_: g,))
    plain, same = mlp((F, 16, 8)), mlp((F, 16, 8))
    expected = train(plain, graph, settings(neighbour_view=True))["loss"]
    assert train(same, graph, identity)["loss"] == pytest.approx(expected, rel=1e-3)


def test_a_neighbour_view_reaches_the_estimator(graph):
    given = {"encoder": "mlp", "n_steps": 3, "hidden_dim": 8, "embedding_dim": 4, "random_state": 0}
    z = CCASSG(second_view="neighbour", **given).fit_transform(graph)
    assert z.shape == (N, 4)
    assert not np.array_equal(z, CCASSG(**given).fit_transform(graph))


def test_a_finished_run_can_be_lengthened(graph, tmp_path):
    path = tmp_path / "c.safetensors"
    train(gcn((F, 8)), graph, settings(n_steps=4), checkpoint_path=path)
    longer, whole = gcn((F, 8)), gcn((F, 8))
    train(longer, graph, settings(n_steps=8), checkpoint_path=path)
    train(whole, graph, settings(n_steps=8))
    assert same_weights(longer, whole)


def test_a_non_finite_loss_stops_at_once(graph):
    with pytest.raises(NonFiniteLossError, match=r"not finite at step [1-9].*learning_rate 1e"):
        train(gcn((F, 8)), graph, settings(learning_rate=1e38, n_steps=20))


def test_a_loss_that_was_never_finite_is_the_features_fault(graph):
    huge = graph.with_features(graph.features * np.float32(1e30))
    with pytest.raises(NonFiniteLossError, match="not finite at step 0; most likely the features' scale is extreme"):
        train(gcn((F, 8)), huge, settings(n_steps=1))


def test_a_checkpoint_every_fifty_steps_and_at_the_end(graph, tmp_path):
    path, seen = tmp_path / "c.safetensors", []

    def note(step, terms, n_steps):
        seen.append((path.exists(), checkpoint.previous(path).exists()))

    train(gcn((F, 2)), graph, settings(n_steps=53), checkpoint_path=path, on_step=note)
    assert seen == [(False, False)] * 49 + [(True, False)] * 3 + [(True, True)]


def test_further_augmentations_see_step_and_view_and_change_the_result(graph):
    calls = []

    def shuffle(g, seed, step, view):
        calls.append((seed, step, view))
        order = np.random.default_rng([seed, step, view]).permutation(g.n_nodes)
        return g.with_features(g.features[order])

    plain, shuffled = gcn((F, 8)), gcn((F, 8))
    train(plain, graph, settings(n_steps=2))
    train(shuffled, graph, settings(n_steps=2, augmentations=(shuffle,)))
    assert calls == [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1)]
    assert not same_weights(plain, shuffled)
    identity = gcn((F, 8))
    train(identity, graph, settings(n_steps=2, augmentations=(lambda g, seed, step, view: g,)))
    for p, q in zip(identity.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=1e-3, atol=2e-4)


def test_an_augmentation_may_not_change_the_nodes(graph):
    with pytest.raises(ValueError, match="must keep the nodes"):
        train(gcn((F, 8)), graph, settings(augmentations=(lambda g, *_: g.subgraph(range(10)),)))


def test_views_with_rates_of_their_own(graph):
    one, other = gcn((F, 8)), gcn((F, 8))
    train(one, graph, settings(edge_drop_rate=(0.1, 0.6)))
    train(other, graph, settings(edge_drop_rate=(0.6, 0.1)))
    assert not same_weights(one, other)


def test_edge_weights_count(graph):
    weighted = as_graph(sp.csr_array(graph.adjacency() * np.float32(3.0)), graph.features)
    one, other = gcn((F, 8)), gcn((F, 8))
    train(one, graph, settings())
    train(other, weighted, settings())
    assert not same_weights(one, other)


def test_a_permuted_graph_gives_permuted_embeddings(graph):
    encoder = gcn((F, 16, 8))
    train(encoder, graph, settings())
    order = np.random.default_rng(0).permutation(N)
    torch.testing.assert_close(
        embed(encoder, graph.subgraph(order)), embed(encoder, graph)[order], rtol=1e-4, atol=1e-5
    )


def stop_step(loss):
    """The number of steps after which a whole course of training would have been stopped."""
    return next((n for n in range(1, len(loss) + 1) if is_flat(loss[:n])), len(loss))


def test_a_curve_is_flat_once_its_steps_bring_less_than_a_twentieth():
    falling = [100.0 - i for i in range(40)]
    assert not is_flat(falling)
    assert not is_flat([1.0] * 19)
    assert is_flat(falling + [60.0] * 11)
    assert stop_step(falling) == 40
    assert 40 < stop_step(falling + [60.0] * 30) <= 51


def test_both_limits_of_a_flat_curve():
    start = [120.0] * 5 + [110.0] * 5
    assert is_flat(start + [100.0] * 10)  # twenty steps are enough
    assert not is_flat(start[1:] + [100.0] * 10)
    # Twenty down and one since then: a twentieth, which is not less than one.
    assert not is_flat(start + [100.0] * 5 + [99.0] * 5)
    assert is_flat(start + [100.0] * 5 + [99.0] * 4 + [99.01])


def test_noise_does_not_decide():
    rng = np.random.default_rng(0)
    falling = 100 * np.exp(-np.arange(200) / 20)
    assert stop_step(list(falling)) == pytest.approx(stop_step(list(falling + rng.normal(size=200))), abs=15)


def test_training_stops_there_and_resumes_to_the_same_bits(tmp_path):
    graph = stochastic_block_graph(100, 3, 6, 0.9, 10, seed=0).graph
    given = {"encoder": "gcn", "hidden_dim": 8, "embedding_dim": 4, "learning_rate": 0.05, "random_state": 0}
    whole = CCASSG(n_steps=300, **given).fit(graph)
    expected = stop_step(whole.history_["loss"])
    assert 20 <= expected < 300
    stopped = CCASSG(n_steps=300, early_stopping=True, **given).fit(graph, checkpoint=tmp_path / "run.safetensors")
    assert len(stopped.history_["loss"]) == expected
    assert stopped.history_["loss"] == whole.history_["loss"][:expected]
    again = CCASSG(n_steps=300, early_stopping=True, **given).fit(graph, checkpoint=tmp_path / "run.safetensors")
    assert np.array_equal(again.transform(graph), stopped.transform(graph))


@pytest.mark.parametrize("batch_nodes", [0, 30])
def test_the_loop_is_adam_on_the_steps_losses(graph, batch_nodes):
    chosen = settings(n_steps=5, weight_decay=0.1, batch_nodes=batch_nodes)
    trained, plain = gcn((F, 16, 8)), gcn((F, 16, 8))
    history = train(trained, graph, chosen)
    # Two nodes for each of 16 dimensions are more than a batch has: 32 / 30.
    smooth = RunningMoments(32 / 30) if batch_nodes else None
    views = (BatchViews if batch_nodes else Views)(graph, plain, chosen)
    compute = ExactStep(plain, chosen.objective, smooth=smooth)
    optimizer = torch.optim.Adam(plain.parameters(), lr=1e-2, weight_decay=0.1)
    for step in range(5):
        terms = compute(*views(step))
        for name, value in terms._asdict().items():
            assert history[name][step] == pytest.approx(float(value), rel=1e-5)
        optimizer.step()
    for p, q in zip(plain.parameters(), trained.parameters(), strict=True):
        torch.testing.assert_close(p, q)
    assert not trained.training
    assert all(len(curve) == 5 for curve in history.values())


def test_steps_are_told_and_saved_as_often_as_said(graph, tmp_path):
    path, told = tmp_path / "c.safetensors", []

    def note(step, terms, n_steps):
        told.append((step, n_steps, path.exists() and path.stat().st_mtime_ns, terms["loss"]))

    history = train(gcn((F, 2)), graph, settings(n_steps=7), checkpoint_path=path, checkpoint_every=3, on_step=note)
    assert [(step, n_steps) for step, n_steps, _, _ in told] == [(step, 7) for step in range(7)]
    assert [loss for *_, loss in told] == history["loss"]
    saved = [at for _, _, at, _ in told]
    assert saved[:2] == [False, False]
    assert saved[2] == saved[3] == saved[4] < saved[5] < saved[6]


def test_a_finished_run_is_not_trained_again(graph, tmp_path):
    path, told = tmp_path / "c.safetensors", []
    expected = train(gcn((F, 2)), graph, settings(n_steps=3, batch_nodes=20), checkpoint_path=path)
    again = train(
        gcn((F, 2), seed=5),
        graph,
        settings(n_steps=3, batch_nodes=20),
        checkpoint_path=path,
        on_step=lambda *given: told.append(given),
    )
    assert again == expected
    assert told == []


def test_what_was_saved_last_is_named_where_a_loss_is_not_finite(graph, tmp_path):
    path = tmp_path / "c.safetensors"
    with pytest.raises(NonFiniteLossError) as raised:
        train(gcn((F, 8)), graph, settings(learning_rate=1e38, n_steps=20), checkpoint_path=path)
    assert "last good state" not in str(raised.value)  # none was saved
    train(gcn((F, 8)), graph, settings(learning_rate=1e30, n_steps=1), checkpoint_path=path)
    with pytest.raises(NonFiniteLossError, match=f"learning_rate 1e.30 is too high; the last good state is in {path}"):
        train(gcn((F, 8)), graph, settings(learning_rate=1e30, n_steps=20), checkpoint_path=path)
