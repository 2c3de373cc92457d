"""What a run continues from, and what it refuses."""

import dataclasses
import os

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from safetensors.torch import load_file, save_file

from ccassg.io.store import open_store
from ccassg.io.storewriter import write_store
from ccassg.model.encoder import gcn, mlp
from ccassg.model.loss import Objective
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


@pytest.mark.parametrize("name", ["c.safetensors", "c.safetensors.previous"])
@pytest.mark.parametrize("kind", ["text", "weights", "nothing"])
def test_a_file_that_is_no_checkpoint_is_refused_and_stays(graph, tmp_path, name, kind):
    path = tmp_path / name
    if kind == "weights":
        save_file({"w": torch.ones(3)}, path, metadata={"format": "pt"})
    else:
        path.write_text("my thesis" if kind == "text" else "")
    content = path.read_bytes()
    with pytest.raises(ValueError, match=f"{name} is not a checkpoint of ccassg; give `checkpoint` another name"):
        train(gcn((F, 8)), graph, settings(n_steps=2), checkpoint_path=tmp_path / "c.safetensors")
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {name: content}


def test_a_pipe_in_place_of_a_checkpoint_is_refused_at_once(graph, tmp_path, bounded):
    path = tmp_path / "c.safetensors"
    os.mkfifo(path)
    bounded()
    with pytest.raises(ValueError, match=r"c\.safetensors is not a regular file"):
        train(gcn((F, 8)), graph, settings(n_steps=2), checkpoint_path=path)


def test_a_checkpoint_of_another_run_is_refused(graph, tmp_path):
    path = tmp_path / "c.safetensors"
    train(gcn((F, 8)), graph, settings(n_steps=2), checkpoint_path=path)
    with pytest.raises(ValueError, match="belongs to another run"):
        train(gcn((F, 8)), graph, settings(n_steps=2, learning_rate=0.5), checkpoint_path=path)


def _moved(csr):
    """The same entries in the same columns; one of them is another node's."""
    indptr = csr.indptr.copy()
    indptr[np.flatnonzero(np.diff(indptr) > 0)[0] + 1] -= 1
    return sp.csr_array((csr.data, csr.indices, indptr), shape=csr.shape)


def _weights(graph):
    return np.linspace(1, 2, graph.n_edges, dtype=np.float32)


EDITS = {
    "values": lambda g: dataclasses.replace(g, features=g.features * np.float32(2)),
    "rows": lambda g: dataclasses.replace(g, features=_moved(g.features)),
    "columns": lambda g: g.with_features(g.features[:, ::-1]),
    "kind": lambda g: g.with_features(g.features.toarray()),
    "ends of edges": lambda g: dataclasses.replace(g, indices=np.where(g.indices == 3, 4, g.indices)),
    "starts of edges": lambda g: dataclasses.replace(g, indptr=_moved(g.adjacency()).indptr.astype(np.int64)),
    "weights": lambda g: dataclasses.replace(g, weights=_weights(g)),
    "direction": lambda g: dataclasses.replace(g, directed=True),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_graph_of_the_same_size_is_another_run(graph, edit, tmp_path):
    path = tmp_path / "c.safetensors"
    train(gcn((F, 8)), graph, settings(n_steps=2), checkpoint_path=path)
    with pytest.raises(ValueError, match="another graph"):
        train(gcn((F, 8)), EDITS[edit](graph), settings(n_steps=2), checkpoint_path=path)


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


def test_the_same_graph_is_the_same_run_wherever_it_lies(graph, tmp_path):
    write_store(tmp_path / "store", graph)
    stored = open_store(tmp_path / "store").graph
    assert checkpoint.fingerprint_of(settings(), stored, gcn((F, 8))) == checkpoint.fingerprint_of(
        settings(n_steps=99, stop_when_flat=True), graph, gcn((F, 8))
    )


def test_another_setting_or_encoder_is_another_run(graph):
    first = checkpoint.fingerprint_of(settings(), graph, gcn((F, 8)))
    plain, double, triple = (
        lambda g, *_: g,
        lambda g, *_: g.with_features(g.features * 2),
        lambda g, *_: g.with_features(g.features * 3),
    )
    augmentations = [(plain,), (double,), (triple,)]
    changes = [{"weight_decay": 0.1}, {"edge_drop_rate": (0.3, 0.2)}, {"seed": 1}, {"objective": Objective(1e-2)}]
    changes += [{"augmentations": functions} for functions in augmentations]
    others = [checkpoint.fingerprint_of(settings(**changed), graph, gcn((F, 8))) for changed in changes]
    others += [checkpoint.fingerprint_of(settings(), graph, make) for make in (gcn((F, 9)), mlp((F, 8)))]
    assert len({first, *others}) == 1 + len(others)
    assert {len(each) for each in (first, *others)} == {64}  # 32 bytes


def test_what_a_digest_tells_apart():
    def arrays(dtype="int32", shape=(2, 3), **more):
        return {"a": np.zeros(shape, dtype)} | more

    ones = np.ones(2, np.uint8)
    different = [
        arrays(), arrays("float32"), arrays(shape=(3, 2)), arrays(shape=(6,)), arrays(b=ones), arrays(c=ones),
        arrays(b=ones[:1], c=ones[1:]), {"ab": ones}, {"a": ones, "b": ones[:0]}, {},
    ]  # fmt: skip
    assert len({checkpoint.digest_of(each) for each in different}) == len(different)
    assert len(checkpoint.digest_of({})) == 64
    assert checkpoint.digest_of({"b": ones, "a": ones}) == checkpoint.digest_of({"a": ones, "b": ones[::-1]})


def test_a_checkpoint_with_more_steps_than_asked_for_is_refused(graph, tmp_path):
    path = tmp_path / "c.safetensors"
    train(gcn((F, 8)), graph, settings(n_steps=5), checkpoint_path=path)
    content = path.read_bytes()
    sentence = (
        r"c.safetensors holds 5 steps and n_steps is 4; raise n_steps to at least 5, or delete the file to start anew$"
    )
    with pytest.raises(ValueError, match=sentence):
        train(gcn((F, 8)), graph, settings(n_steps=4), checkpoint_path=path)
    assert path.read_bytes() == content
    assert len(train(gcn((F, 8)), graph, settings(n_steps=5), checkpoint_path=path)["loss"]) == 5
