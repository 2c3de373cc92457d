"""Batches see the whole graph's views; running means stand in for the whole graph's moments."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ccassg import CCASSG, as_graph
from ccassg.graph import draws, sparse
from ccassg.graph.sparse import CSR
from ccassg.io.store import open_store
from ccassg.io.storewriter import write_store
from ccassg.model.encoder import gcn, mlp
from ccassg.model.loss import Objective
from ccassg.training import loop
from ccassg.training.batches import BatchViews, RunningMoments, batch_of, drawn_ahead, memory_for
from ccassg.training.loop import train
from ccassg.training.settings import Settings
from ccassg.training.step import ExactStep
from ccassg.training.views import Views

N, F = 120, 20
PATTERN = sp.random(N, N, density=0.06, random_state=0)
FEATURES = sp.random(N, F, density=0.3, random_state=1, format="csr")
GRAPHS = {
    "sparse": as_graph(PATTERN.astype(bool), FEATURES),
    "dense": as_graph(PATTERN.astype(bool), FEATURES.toarray()),
    "weighted directed": as_graph(PATTERN, FEATURES, directed=True),
}


def settings(**changes):
    base = {
        "n_steps": 6,
        "learning_rate": 1e-2,
        "weight_decay": 0.0,
        "objective": Objective(1e-2),
        "edge_drop_rate": (0.3, 0.5),
        "feature_mask_rate": (0.2, 0.1),
        "batch_nodes": 40,
    }
    return Settings(**(base | changes))


def test_an_epoch_deals_out_every_node_once():
    for n, size in ((100, 25), (97, 10), (5, 5), (2, 1)):
        n_batches = n // size
        for epoch in (0, 3):
            batches = [batch_of(n, size, seed=1, step=epoch * n_batches + k) for k in range(n_batches)]
            nodes = torch.cat(batches)
            assert len(nodes.unique()) == len(nodes) == n_batches * size
            assert 0 <= nodes.min() <= nodes.max() < n
            assert all((batch.diff() > 0).all() for batch in batches)


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("dims", [(F, 16, 8), (F, 32, 8), (F, 32), (F, 24, 16, 8)])
@pytest.mark.parametrize("both_directions", [False, True])
def test_a_batch_is_the_whole_graphs_loss_on_its_nodes(kind, dims, both_directions, monkeypatch):
    graph = GRAPHS[kind]
    chosen = settings(loss_nodes=40, drop_both_directions=both_directions)
    monkeypatch.setattr(
        draws, "sample_nodes", lambda n, size, *, seed, step, device: batch_of(n, size, seed=seed, step=step)
    )
    whole, batch = gcn(dims), gcn(dims)
    for step in (0, 4):
        expected = ExactStep(whole, chosen.objective)(*Views(graph, whole, chosen)(step))
        got = ExactStep(batch, chosen.objective)(*BatchViews(graph, batch, chosen, edges_at_once=50)(step))
        torch.testing.assert_close(got.loss, expected.loss, rtol=1e-4, atol=1e-4)
        for p, q in zip(batch.parameters(), whole.parameters(), strict=True):
            torch.testing.assert_close(p.grad, q.grad, rtol=1e-3, atol=1e-4)


def test_an_mlp_takes_rows_alone():
    graph, encoder = GRAPHS["dense"], mlp((F, 16, 8))
    features, views, n = BatchViews(graph, encoder, settings())(2)
    assert n == features.n_rows == 40
    assert views[0].layers == [None, None]


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("dims", [(F, 8), (F, 16, 8)])
def test_a_batch_of_pairs_is_the_whole_graphs_loss_on_its_nodes(kind, dims, monkeypatch):
    graph, chosen = GRAPHS[kind], settings(loss_nodes=40, neighbour_view=True)
    monkeypatch.setattr(
        draws, "sample_nodes", lambda n, size, *, seed, step, device: batch_of(n, size, seed=seed, step=step)
    )
    whole, batch = mlp(dims), mlp(dims)
    for step in (0, 4):
        expected = ExactStep(whole, chosen.objective)(*Views(graph, whole, chosen)(step))
        got = ExactStep(batch, chosen.objective)(*BatchViews(graph, batch, chosen)(step))
        torch.testing.assert_close(got.loss, expected.loss, rtol=1e-5, atol=1e-5)
        for p, q in zip(batch.parameters(), whole.parameters(), strict=True):
            torch.testing.assert_close(p.grad, q.grad, rtol=1e-3, atol=1e-5)


def slow_aggregation(views, nodes, step, v):
    """One layer's aggregation from all its edges at once, operation by operation: what `BatchViews` must draw in its blocks."""
    chosen, graph = views.settings, views.graph

    def numbers(receivers, senders):
        keys = draws.edge_keys(receivers, senders, graph.n_nodes, chosen.drop_both_directions)
        return draws.draw(keys, seed=chosen.seed, step=step, view=v, purpose=draws.EDGES)

    def sums(rows, kept):
        return torch.zeros(rows.shape[0]).index_add_(0, sparse.row_ids(rows)[kept], rows.values[kept])

    rate = chosen.edge_drop_rate[v]
    rows = sparse.select_rows(views.received, nodes)
    owner, senders = sparse.row_ids(rows), rows.indices.long()
    drawn = numbers(nodes[owner], senders)
    kept = drawn >= draws.threshold(rate)
    strength, scale = sums(rows, kept), torch.ones(len(nodes))
    if chosen.max_neighbors:
        counts = torch.bincount(owner[kept], minlength=len(nodes)).double()
        share = (chosen.max_neighbors / counts).clamp_(max=1) * (1 - rate)
        bar = (2.0**63 - share * 2.0**64).clamp_(-(2.0**63), 2.0**63 - 1024).long()
        kept = kept & ((drawn >= bar[owner]) | (counts <= chosen.max_neighbors)[owner])
        sampled = sums(rows, kept)
        scale = torch.where(sampled > 0, strength / sampled, scale)
    thin = sparse.select_entries(rows, kept)
    columns, place = torch.cat([nodes, senders[kept]]).unique(return_inverse=True)
    values = thin.values * scale[owner[kept]]
    a = sparse.add_self_loops(CSR(thin.indptr, place[len(nodes) :], values, (len(nodes), len(columns))))
    loops = a.indptr[1:] - 1
    a.indices[loops] = place[: len(nodes)]
    if chosen.max_neighbors and graph.weights is None:
        counts = views.sent.indptr[columns + 1] - views.sent.indptr[columns]
        sent = ((1 - rate) * counts.float() + 1)[a.indices] + rate
        sent[loops] -= rate
    else:
        whose = sparse.select_rows(views.sent, columns)
        kept = numbers(whose.indices.long(), columns[sparse.row_ids(whose)]) >= draws.threshold(rate)
        sent = (sums(whose, kept) + 1)[a.indices]
    return a.with_values(sparse.scale_by_degrees(a.values, (strength + 1)[sparse.row_ids(a)], sent)), columns


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("max_neighbors", [0, 1, 3])
@pytest.mark.parametrize("edges_at_once", [1, 50, 2**15])
def test_blocks_draw_what_all_edges_at_once_draw(kind, max_neighbors, edges_at_once):
    chosen = settings(max_neighbors=max_neighbors)
    views = BatchViews(GRAPHS[kind], gcn((F, 8)), chosen, edges_at_once=edges_at_once)
    for step, v in ((0, 0), (3, 1)):
        nodes = batch_of(N, 40, seed=0, step=step)
        a, columns = views._aggregation(nodes, step, v)
        expected, expected_columns = slow_aggregation(views, nodes, step, v)
        assert torch.equal(columns, expected_columns)
        assert a.shape == expected.shape
        for mine, theirs in ((a.indptr, expected.indptr), (a.indices, expected.indices), (a.values, expected.values)):
            assert torch.equal(mine, theirs.to(mine.dtype))


def test_views_are_drawn_one_step_ahead_in_a_second_thread():
    asked = []

    def views(step):
        asked.append((step, threading.current_thread() is threading.main_thread()))
        return step

    drawn = drawn_ahead(views, range(3, 6))
    assert next(drawn) == 3
    assert list(drawn) == [4, 5]
    assert asked == [(3, False), (4, False), (5, False)]


def test_training_with_a_second_thread_gives_the_same_bits(monkeypatch):
    trained, ahead = [], []
    monkeypatch.setattr(loop, "drawn_ahead", lambda *given: ahead.append(given) or drawn_ahead(*given))
    for threads in (1, 2):
        assert not ahead  # a user of one thread is given no second
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        encoder = gcn((F, 16, 8))
        trained.append((train(encoder, GRAPHS["dense"], settings())["loss"], list(encoder.parameters())))
    assert len(ahead) == 1
    train(gcn((F, 8)), GRAPHS["dense"], settings(batch_nodes=0))
    assert len(ahead) == 1
    assert trained[0][0] == trained[1][0]
    assert all(torch.equal(p, q) for p, q in zip(trained[0][1], trained[1][1], strict=True))


def test_shards_divide_a_batch():
    graph, encoder = GRAPHS["sparse"], gcn((F, 8))
    rows = [BatchViews(graph, encoder, settings(), shard=k, n_shards=3)(1) for k in range(3)]
    assert [views[0].layers[-1][0].shape[0] for _, views, _ in rows] == [14, 13, 13]
    assert {n for _, _, n in rows} == {40}


def test_fewer_neighbours_keep_the_mean_of_an_aggregation():
    rng = np.random.default_rng(0)
    hub = np.stack([np.zeros(400, int), np.arange(1, 401)])
    graph = as_graph(hub, rng.normal(1.0, 1.0, size=(401, 3)).astype(np.float32))
    encoder = gcn((3, 4))
    every = settings(edge_drop_rate=(0.5, 0.5), feature_mask_rate=(0.0, 0.0), batch_nodes=401)
    few = settings(edge_drop_rate=(0.5, 0.5), feature_mask_rate=(0.0, 0.0), batch_nodes=401, max_neighbors=20)

    def hub_sums(chosen):
        views = BatchViews(graph, encoder, chosen)
        return torch.stack([views(step)[0].products[0].x[0] for step in range(30)])

    exact, sampled = hub_sums(every), hub_sums(few)
    torch.testing.assert_close(sampled.mean(0), exact.mean(0), rtol=0.1, atol=0.1)
    layers, _ = BatchViews(graph, encoder, few)._field(torch.arange(401), 0, 0)
    assert 8 <= int(layers[0].indptr[1]) - 1 <= 40


def test_memory_is_what_a_batch_lacks():
    assert memory_for(batch_nodes=1024, width=512) == 1  # two nodes per dimension: the batch alone
    assert memory_for(batch_nodes=100_000, width=512) == 1
    assert memory_for(batch_nodes=256, width=512) == 4
    assert memory_for(batch_nodes=1, width=512) == 8  # never further back: the weights have moved on


def test_running_moments_are_weighted_means():
    batches = torch.rand(5, 3, 3)
    moments = RunningMoments(memory=4)
    for batch in batches:
        result = moments(batch.clone())
    weights = 0.75 ** torch.arange(4, -1, -1.0)
    torch.testing.assert_close(result, (weights[:, None, None] * batches).sum(0) / weights.sum())
    other = RunningMoments(memory=4)
    moments.weight += 1e-9  # it is kept to the last digit
    other.restore(moments.state(), torch.device("cpu"))
    assert other.weight == moments.weight
    assert torch.equal(other(batches[0].clone()), moments(batches[0].clone()))
    assert torch.equal(RunningMoments(memory=1)(batches[1].clone()), batches[1])


@pytest.mark.parametrize("make", [gcn, mlp])
def test_a_resumed_run_of_batches_equals_an_uninterrupted_one(tmp_path, make):
    graph = GRAPHS["sparse"]
    whole, resumed = make((F, 16, 8)), make((F, 16, 8), seed=9)
    expected = train(whole, graph, settings())
    path = tmp_path / "c.safetensors"
    train(make((F, 16, 8)), graph, settings(n_steps=3), checkpoint_path=path)
    assert train(resumed, graph, settings(), checkpoint_path=path) == expected
    for p, q in zip(whole.state_dict().values(), resumed.state_dict().values(), strict=True):
        assert torch.equal(p, q)


def test_a_store_trains_to_the_same_bits_as_memory(tmp_path):
    for kind, graph in GRAPHS.items():
        write_store(tmp_path / kind, graph)
        stored = open_store(tmp_path / kind).graph
        for chosen in (settings(), settings(batch_nodes=0)):
            one, other = gcn((F, 16, 8)), gcn((F, 16, 8))
            assert train(one, graph, chosen) == train(other, stored, chosen)


def test_batches_reach_the_estimator():
    graph = GRAPHS["dense"]
    small = {"encoder": "gcn", "n_steps": 3, "hidden_dim": 8, "embedding_dim": 4, "random_state": 0}
    z = CCASSG(batch_nodes=30, max_neighbors=3, **small).fit_transform(graph)
    assert z.shape == (N, 4)
    assert np.isfinite(z).all()
    assert not np.array_equal(z, CCASSG(**small).fit_transform(graph))
    for change, message in (
        ({"batch_nodes": 1}, "batch_nodes must be an integer, at least 2, got 1"),
        ({"batch_nodes": 9, "loss_nodes": 9}, "neither loss_nodes nor augmentations"),
        ({"max_neighbors": 3}, "give batch_nodes as well"),
        ({"batch_nodes": 9, "max_neighbors": 0}, "max_neighbors must be"),
    ):
        with pytest.raises(ValueError, match=message):
            CCASSG(**change, **small).fit(graph)
