"""What a run continues from, and what it refuses."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ccassg import as_graph
from ccassg.model.encoder import gcn
from ccassg.model.loss import Objective
from ccassg.training import checkpoint
from ccassg.training.loop import train
from ccassg.training.settings import Settings

N, F = 80, 20


@pytest.fixture(scope="module")
def graph():
    adjacency = sp.random(N, N, density=0.06, random_state=0)
    return as_graph(adjacency, sp.random(N, F, density=0.3, random_state=1, format="csr"))


def settings(**changes):
    base = {
        "n_steps": 8,
        "learning_rate": 1e-2,
        "weight_decay": 0.0,
        "objective": Objective(1e-3),
        "edge_drop_rate": (0.3, 0.3),
        "feature_mask_rate": (0.2, 0.2),
    }
    return Settings(**(base | changes))


def same_weights(one, other):
    return all(torch.equal(p, q) for p, q in zip(one.state_dict().values(), other.state_dict().values(), strict=True))


def test_a_damaged_checkpoint_falls_back_to_the_previous_one(graph, tmp_path):
    path = tmp_path / "c.safetensors"
    whole = gcn((F, 8))
    train(whole, graph, settings(), checkpoint_path=path, checkpoint_every=3)
    assert checkpoint.previous(path).exists()
    for damage in (lambda b: b[: len(b) // 2], lambda b: b[:-9] + bytes([b[-9] ^ 1]) + b[-8:], lambda b: b""):
        content = path.read_bytes()
        path.write_bytes(damage(content))
        resumed = gcn((F, 8))
        history = train(resumed, graph, settings(), checkpoint_path=path, checkpoint_every=100)
        assert len(history["loss"]) == 8
        assert same_weights(resumed, whole)


def test_a_checkpoint_of_another_run_is_refused(graph, tmp_path):
    path = tmp_path / "c.safetensors"
    train(gcn((F, 8)), graph, settings(n_steps=2), checkpoint_path=path)
    with pytest.raises(ValueError, match="belongs to another run"):
        train(gcn((F, 8)), graph, settings(n_steps=2, learning_rate=0.5), checkpoint_path=path)


def test_an_edited_graph_of_the_same_size_is_another_run(graph, tmp_path):
    path = tmp_path / "c.safetensors"
    train(gcn((F, 8)), graph, settings(n_steps=2), checkpoint_path=path)
    edited = graph.with_features(graph.features * np.float32(2))
    with pytest.raises(ValueError, match="another graph"):
        train(gcn((F, 8)), edited, settings(n_steps=2), checkpoint_path=path)
