"""Settings determine a run: every one of them counts, and those left out are the paper's."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ccassg import as_graph
from ccassg.model.encoder import Encoder
from ccassg.model.loss import Objective, cca_ssg_loss
from ccassg.training.loop import train
from ccassg.training.settings import NonFiniteLossError, Settings

N, F = 80, 10
REQUIRED = {
    "n_steps": 6,
    "learning_rate": 1e-2,
    "weight_decay": 0.0,
    "objective": Objective(1e-3),
    "edge_drop_rate": (0.3, 0.3),
    "feature_mask_rate": (0.2, 0.2),
}


def reverse(graph, seed, step, view):
    return graph.with_features(graph.features[::-1])


CHANGES = {
    "n_steps": {"n_steps": 7},
    "learning_rate": {"learning_rate": 2e-2},
    "weight_decay": {"weight_decay": 0.1},
    "objective": {"objective": Objective(1e-2)},
    "edge_drop_rate": {"edge_drop_rate": (0.3, 0.6)},
    "feature_mask_rate": {"feature_mask_rate": (0.5, 0.2)},
    "drop_both_directions": {"drop_both_directions": True},
    "neighbour_view": {"neighbour_view": True},
    "loss_nodes": {"loss_nodes": 40},
    "batch_nodes": {"batch_nodes": 40},
    "max_neighbors": {"batch_nodes": 40, "max_neighbors": 1},
    "seed": {"seed": 1},
    "augmentations": {"augmentations": (reverse,)},
    "stop_when_flat": {"stop_when_flat": True, "n_steps": 200},
}


@pytest.fixture(scope="module")
def graph():
    adjacency = sp.random(N, N, density=0.06, random_state=0)
    return as_graph(adjacency.astype(bool), np.random.default_rng(1).normal(size=(N, F)))


def make_encoder(propagate=True):
    return Encoder((F, 8, 4), propagate=propagate, batch_norm=False, seed=3)


def losses(graph, propagate=True, **changes):
    return train(make_encoder(propagate), graph, Settings(**(REQUIRED | changes)))["loss"]


def test_every_setting_is_tried_here():
    assert list(CHANGES) == [field.name for field in dataclasses.fields(Settings)]


@pytest.mark.parametrize("name", CHANGES)
def test_every_setting_changes_the_run(graph, name):
    changes = CHANGES[name]
    without = {key: value for key, value in changes.items() if key != name}
    propagate = name != "neighbour_view"
    assert losses(graph, propagate, **changes) != losses(graph, propagate, **without)


def test_what_is_left_out_is_the_papers(graph):
    """Without a rate both views are the graph, and the first loss is the definition's, on all nodes."""
    encoder = make_encoder()
    z = torch.from_numpy(dense_output(encoder, graph))
    settings = Settings(**(REQUIRED | {"n_steps": 1, "edge_drop_rate": (0.0, 0.0), "feature_mask_rate": (0.0, 0.0)}))
    history = train(encoder, graph, settings)
    assert history["invariance"] == pytest.approx([-4.0])  # four columns, each correlates with itself by 1
    assert history["decorrelation"] == pytest.approx([float(cca_ssg_loss(z, z, Objective(1e-3)).decorrelation)])
    assert history["loss"] == pytest.approx([history["invariance"][0] + 1e-3 * history["decorrelation"][0]])


def dense_output(encoder, graph):
    """Return the two-layer encoder's output in dense arithmetic: A relu(A X W1 + b1) W2 + b2."""
    loops = graph.adjacency().toarray() + np.eye(N)
    scale = loops.sum(1) ** -0.5
    a = scale[:, None] * loops * scale
    (w1, w2), (b1, b2) = ([p.detach().double().numpy() for p in given] for given in (encoder.weights, encoder.biases))
    return a @ np.maximum(a @ graph.features @ w1 + b1, 0) @ w2 + b2


def test_settings_do_not_change_under_a_run():
    settings = Settings(**REQUIRED)
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.n_steps = 1
    with pytest.raises(TypeError, match="feature_mask_rate"):
        Settings(**{name: value for name, value in REQUIRED.items() if name != "feature_mask_rate"})


def test_a_loss_that_is_no_number_is_an_arithmetic_error(graph):
    """And no ValueError: what was given was possible."""
    with pytest.raises(ArithmeticError) as caught:
        losses(graph, learning_rate=1e38, n_steps=20)
    assert type(caught.value) is NonFiniteLossError
    assert not isinstance(caught.value, ValueError)


def test_a_run_is_the_papers_where_nothing_else_is_said():
    plain = Settings(3, 1e-3, 0.0, Objective(1e-3), (0.1, 0.2), (0.3, 0.4))
    said = {
        "drop_both_directions": False, "neighbour_view": False, "loss_nodes": 0, "batch_nodes": 0, "max_neighbors": 0,
        "seed": 0, "augmentations": (), "stop_when_flat": False,
    }  # fmt: skip
    assert plain == dataclasses.replace(plain, **said)
