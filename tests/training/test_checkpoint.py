"""What a run continues from, and what it refuses."""

import numpy as np
import pytest
from safetensors.torch import load_file

from ccassg.model.encoder import gcn, mlp
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


def test_a_damaged_name_is_damage(graph, tmp_path):
    path = tmp_path / "c.safetensors"
    train(gcn((F, 8)), graph, settings(n_steps=2), checkpoint_path=path)
    path.write_bytes(path.read_bytes().replace(b'"encoder.weights.0"', b'"encoder.weights.8"'))
    assert "encoder.weights.8" in load_file(path)
    again, whole = gcn((F, 8)), gcn((F, 8))
    train(again, graph, settings(), checkpoint_path=path)
    train(whole, graph, settings())
    assert same_weights(again, whole)  # from the beginning, as the file was passed over
    assert path.with_name("c.safetensors.damaged").exists()


@pytest.mark.parametrize("dims", [(F, 8), (F, 16, 8)])
@pytest.mark.parametrize("make", [gcn, mlp])
def test_batches_resume_to_the_same_bits_two_missing_folders_deep(graph, tmp_path, make, dims):
    batches = {"batch_nodes": 10}  # so few that moments reach back to earlier batches
    path = tmp_path / "not" / "there" / "c.safetensors"
    whole, resumed = make(dims), make(dims, seed=7)
    expected = train(whole, graph, settings(**batches))
    train(make(dims), graph, settings(n_steps=3, **batches), checkpoint_path=path)
    assert train(resumed, graph, settings(**batches), checkpoint_path=path) == expected
    assert same_weights(resumed, whole)
