"""What a run continues from, and what it refuses."""

import numpy as np
import pytest

from ccassg.model.encoder import gcn
from ccassg.training import checkpoint
from ccassg.training.loop import train
from short_runs import F, same_weights, settings, sparse_graph


@pytest.fixture(scope="module")
def graph():
    return sparse_graph()


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
