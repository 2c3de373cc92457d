"""The views of training are those of the definition, and come with their transposes; partners are random neighbours."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ccassg import as_graph
from ccassg.graph import draws, sparse
from ccassg.model import augment
from ccassg.model.encoder import gcn, mlp
from ccassg.training.rows import neighbours
from ccassg.training.views import TwoWayEdges, Views, needed_rows, onto, pair_layers, partners, step_views
from short_runs import settings

N = 60


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_a_view_is_the_definitions_to_the_bit_with_its_transpose(weighted, directed, rate):
    matrix = sp.random(N, N, density=0.1, random_state=0, format="csr")
    graph = as_graph(matrix if weighted else matrix.astype(bool), np.ones((N, 1)), directed=directed)
    structure = augment.edge_structure(graph)
    edges = TwoWayEdges(structure, weighted=weighted)
    for view in (0, 1):
        a, a_t = edges.drop(rate, seed=1, step=2, view=view)
        expected = augment.drop_edges(structure, rate, seed=1, step=2, view=view)
        for got, want in ((a, expected), (a_t, sparse.transpose(expected))):
            assert got.shape == want.shape
            assert torch.equal(got.indptr, want.indptr)
            assert torch.equal(got.to_dense(), want.to_dense())


def test_what_others_receive_counts_for_the_sender():
    graph = as_graph(sp.random(N, N, density=0.1, random_state=0), np.ones((N, 1)))
    edges = TwoWayEdges(augment.edge_structure(graph), weighted=True)
    alone, _ = edges.drop(0.3, seed=1, step=2, view=0)
    shared, _ = edges.drop(0.3, seed=1, step=2, view=0, total_sent=lambda sent: 4 * sent)
    torch.testing.assert_close(shared.to_dense(), alone.to_dense() / 2)


def test_every_sender_is_counted_whether_it_sends_to_these_or_not():
    """As in a part of a graph: rows are some nodes, columns those and others, of which the last may have lost its edges."""
    a = sparse.CSR(torch.tensor([0, 1, 2]), torch.tensor([0, 1]), torch.ones(2), (2, 4))
    edges = TwoWayEdges(augment.EdgeStructure(a, torch.arange(2), torch.tensor([0, 1])), weighted=False)
    seen = []
    edges.drop(0.0, seed=0, step=0, view=0, total_sent=lambda sent: seen.append(sent.tolist()) or sent)
    assert seen == [[1, 1, 0, 0]]


def test_an_augmentation_may_give_each_view_edges_of_its_own():
    rings = [as_graph([list(range(6)), [(i + k) % 6 for i in range(6)]], np.eye(6)) for k in (1, 2)]
    changed = settings(edge_drop_rate=(0.0, 0.0), augmentations=(lambda graph, seed, step, view: rings[view],))
    _, views, _ = Views(rings[0], gcn((6, 4)), changed)(0)
    for view, ring in zip(views, rings, strict=True):
        assert torch.equal(view.layers[0][0].to_dense(), augment.normalized(ring).to_dense())


def test_some_rows_of_two_layers_are_those_of_the_whole():
    graph = as_graph(sp.random(N, N, density=0.05, random_state=0), np.ones((N, 1)))
    a, h, nodes = augment.normalized(graph), torch.rand(N, 3), torch.tensor([3, 17, 40])
    whole = a.to_dense() @ (a.to_dense() @ h)
    layers, outer = needed_rows(a, nodes, 2)
    assert len(outer) < N
    everything = torch.arange(N)
    for (first, second), taken in ((layers, outer), (onto(everything, layers, outer), everything)):
        torch.testing.assert_close(second.to_dense() @ (first.to_dense() @ h[taken]), whole[nodes])


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("density", [0.01, 0.3])
def test_a_loss_on_some_nodes_takes_in_no_more_than_these_need(density, form):
    x = sp.random(N, 9, density=1.0 if form == "dense" else 0.1, random_state=1, format="csr", dtype=np.float32)
    graph = as_graph(sp.random(N, N, density=density, random_state=0), x)
    chosen = settings(loss_nodes=9)
    features, views, n = Views(graph, gcn((9, 4, 3)), chosen)(5)
    assert n == 9
    assert (features.n_rows < N) == (density < 0.1)  # where nearly all are needed, none is left out
    nodes, structure = draws.sample_nodes(N, 9, seed=chosen.seed, step=5), augment.edge_structure(graph)
    product = features.x if form == "dense" else features.x.to_dense()
    for v, view in enumerate(views):
        a = augment.drop_edges(structure, chosen.edge_drop_rate[v], seed=chosen.seed, step=5, view=v).to_dense()
        (first, first_t), (second, second_t) = view.layers
        got = second.to_dense() @ first.to_dense() @ product
        torch.testing.assert_close(got, (a @ a @ torch.from_numpy(x.toarray()))[nodes])
        assert torch.equal(first_t.to_dense(), first.to_dense().T)
        assert torch.equal(second_t.to_dense(), second.to_dense().T)


def drawn_on(graph, nodes=None, *, seed=0, step=0):
    received, _ = neighbours(graph)
    return partners(received, torch.arange(graph.n_nodes) if nodes is None else nodes, seed=seed, step=step)


def test_partners_by_hand():
    """A path 0 - 1 - 2 and a node alone: the ends have one neighbour, the middle two."""
    path = as_graph([[0, 1], [1, 2]], np.ones((4, 1)))
    drawn = torch.stack([drawn_on(path, step=step) for step in range(40)])
    assert set(drawn[:, 0].tolist()) == set(drawn[:, 2].tolist()) == {1}
    assert set(drawn[:, 1].tolist()) == {0, 2}
    assert set(drawn[:, 3].tolist()) == {3}


def test_partners_are_those_a_node_receives_from():
    arrows = as_graph([[0, 1], [1, 2]], np.ones((3, 1)), directed=True)
    assert drawn_on(arrows).tolist() == [0, 0, 1]


@pytest.mark.parametrize("weighted", [False, True])
def test_partners_are_uniform_whatever_the_weights(weighted):
    hub = sp.csr_array(np.arange(1.0, 11.0)[None] if weighted else np.ones((1, 10)))
    star = as_graph(sp.block_array([[None, hub], [hub.T, None]], format="csr"), np.ones((11, 1)))
    drawn = torch.cat([drawn_on(star, torch.tensor([0]), step=step) for step in range(5000)])
    counts = np.bincount(drawn, minlength=11)
    assert counts[0] == 0
    assert ((counts[1:] - 500) ** 2 / 500).sum() < 28  # 0.1 % quantile of chi-square with 9 degrees of freedom


def test_partners_of_different_nodes_are_independent():
    whole = as_graph(sp.csr_array(np.ones((40, 40)) - np.eye(40)), np.ones((40, 1)))
    drawn = torch.stack([drawn_on(whole, step=step) for step in range(300)]).double().numpy()
    correlations = np.corrcoef(drawn.T) - np.eye(40)
    assert np.abs(correlations).max() < 5 / 300**0.5


def test_partners_do_not_depend_on_the_batch_but_on_seed_and_step():
    graph = as_graph(sp.random(N, N, density=0.2, random_state=0), np.ones((N, 1)))
    whole = drawn_on(graph, seed=1, step=2)
    some = torch.tensor([40, 3, 17, 3])
    assert torch.equal(drawn_on(graph, some, seed=1, step=2), whole[some])
    for other in ({"seed": 1, "step": 3}, {"seed": 2, "step": 2}):
        assert (drawn_on(graph, **other) != whole).double().mean() > 0.5


def test_the_first_layer_picks_the_rows_of_each_view():
    nodes, drawn = torch.tensor([1, 4, 6]), torch.tensor([4, 9, 4])
    needed, layers = pair_layers(nodes, drawn, 2, torch.device("cpu"))
    assert needed.tolist() == [1, 4, 6, 9]
    for (pick, _), rows in zip((layers[0][0], layers[1][0]), (nodes, drawn), strict=True):
        torch.testing.assert_close(pick.to_dense() @ needed.float(), rows.float())
    for (pick, pick_t), second in layers:
        assert second is None
        assert torch.equal(pick_t.to_dense(), pick.to_dense().T)


def test_a_process_may_have_no_node_of_a_batch():
    nothing = torch.zeros(0, dtype=torch.int64)
    needed, layers = pair_layers(nothing, drawn_on(as_graph([[0], [1]], np.ones((2, 1))), nothing), 1, nothing.device)
    assert len(needed) == 0
    assert [layer[0] is None or layer[0][0].shape == (0, 0) for layer in layers] == [True, True]


def test_the_first_view_of_all_nodes_needs_no_picking():
    graph = as_graph([[0, 1], [1, 2]], np.ones((4, 1)))
    make = Views(graph, mlp((1, 2, 2)), settings(neighbour_view=True))
    features, (first, second), n = make(0)
    assert n == 4
    assert features is make.features
    assert first.layers == [None, None]
    assert second.layers[0][0].indices[0] == 1


def test_a_gcn_has_no_neighbour_view():
    graph = as_graph([[0, 1], [1, 2]], np.ones((4, 1)))
    with pytest.raises(ValueError, match="neighbour_view is for an MLP"):
        Views(graph, gcn((1, 2)), settings(neighbour_view=True))


def test_partners_are_those_of_a_plain_loop():
    graph = as_graph(sp.random(N, N, density=0.1, random_state=0), np.ones((N, 1)), directed=True)
    received = graph.adjacency().tocsc()
    for seed, step in ((0, 0), (3, 5)):
        numbers = draws.draw(draws.numbered_keys(N), seed=seed, step=step, view=1, purpose=draws.PARTNERS).tolist()
        expected = []
        for node in range(N):
            there = received.indices[received.indptr[node] : received.indptr[node + 1]].tolist() or [node]
            expected.append(there[numbers[node] % len(there)])
        assert drawn_on(graph, seed=seed, step=step).tolist() == expected


@pytest.mark.parametrize(
    "change", [lambda g, *_: g.subgraph(range(5)), lambda g, *_: g.with_features(np.eye(6)[:, :3])]
)
def test_augmentations_keep_nodes_and_width(change):
    ring = as_graph([list(range(6)), [(i + 1) % 6 for i in range(6)]], np.eye(6))
    with pytest.raises(ValueError, match="must keep the nodes and the features' width"):
        Views(ring, gcn((6, 4)), settings(augmentations=(change,)))(0)


def test_masks_are_drawn_for_each_view_at_its_own_rate():
    chosen = settings(feature_mask_rate=(0.3, 0.6), seed=4)
    views = step_views(chosen, 200, 7, [[None], [None]], torch.device("cpu"))
    for v, (view, rate) in enumerate(zip(views, (0.3, 0.6), strict=True)):
        kept = draws.keep(draws.numbered_keys(200), rate, seed=4, step=7, view=v, purpose=draws.COLUMNS)
        assert torch.equal(view.columns, kept)
