"""Embedding in blocks gives what embedding at once gives."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ccassg import CCASSG, as_graph
from ccassg.defaults import canonical
from ccassg.io.store import open_store
from ccassg.io.storewriter import write_store
from ccassg.model import augment
from ccassg.model.canonical import Canonical
from ccassg.model.encoder import gcn, mlp
from ccassg.training import embedding, share
from ccassg.training.embedding import embed, embed_blocks, require_finite_rows
from ccassg.training.rows import feature_tensor, neighbours

N, F = 90, 12
PATTERN = sp.random(N, N, density=0.06, random_state=0)
FEATURES = sp.random(N, F, density=0.3, random_state=1, format="csr")
GRAPHS = {
    "sparse": as_graph(PATTERN.astype(bool), FEATURES),
    "dense": as_graph(PATTERN.astype(bool), FEATURES.toarray()),
    "weighted directed": as_graph(PATTERN, FEATURES, directed=True),
}


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("make", [gcn, mlp])
@pytest.mark.parametrize("dims", [(F, 16, 8), (F, 6), (F, 16, 16, 20)])
@pytest.mark.parametrize("spill_from", [0, 2**28])
def test_blocks_equal_the_whole(kind, make, dims, spill_from, tmp_path):
    graph, encoder = GRAPHS[kind], make(dims)
    expected = embed(encoder, graph).numpy()
    for block in (7, 64, 1000):
        z = embed_blocks(encoder, graph, tmp_path / "z.npy", block=block, spill_from=spill_from)
        np.testing.assert_allclose(z, expected, rtol=1e-4, atol=1e-5)
    write_store(tmp_path / "store", graph)
    out = embed_blocks(
        encoder, open_store(tmp_path / "store").graph, tmp_path / "z.npy", block=32, spill_from=spill_from
    )
    assert isinstance(out, np.memmap)
    np.testing.assert_allclose(np.load(tmp_path / "z.npy"), expected, rtol=1e-4, atol=1e-5)
    assert {path.name for path in tmp_path.iterdir()} == {"store", "z.npy"}


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("spill_from", [0, 2**28])
def test_canonical_parts_in_blocks_equal_the_whole(kind, spill_from, tmp_path, monkeypatch):
    monkeypatch.setattr(embedding, "BLOCK", 32)
    encoder, _ = canonical.fit(GRAPHS[kind], (5, 6, 4))
    expected = encoder(feature_tensor(GRAPHS[kind], "cpu"), augment.normalized(GRAPHS[kind])).numpy()
    write_store(tmp_path / "store", GRAPHS[kind])
    z = embed_blocks(encoder, open_store(tmp_path / "store").graph, tmp_path / "z.npy", block=32, spill_from=spill_from)
    np.testing.assert_allclose(z, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(embed(encoder, GRAPHS[kind]).numpy(), expected, rtol=1e-4, atol=1e-5)
    edgeless = as_graph(sp.csr_array((N, N)), FEATURES)
    encoder, _ = canonical.fit(edgeless, (5, 5, 0))
    expected = encoder(feature_tensor(edgeless, "cpu")).numpy()
    z = embed_blocks(encoder, edgeless, tmp_path / "z.npy", block=32, spill_from=spill_from)
    np.testing.assert_allclose(z, expected, rtol=1e-4, atol=1e-5)
    monkeypatch.setattr(Canonical, "forward", None)  # on a CPU never all nodes at once
    np.testing.assert_allclose(embed(encoder, edgeless).numpy(), expected, rtol=1e-4, atol=1e-5)


def test_changes_to_features_in_a_private_mapping_count(tmp_path):
    np.save(tmp_path / "x.npy", FEATURES.toarray().astype(np.float32))
    features = np.load(tmp_path / "x.npy", mmap_mode="c")
    features -= features.mean(0)
    graph = as_graph(PATTERN.astype(bool), features)
    assert np.shares_memory(graph.features, features)
    encoder = gcn((F, 16, 8))
    expected = embed(encoder, graph).numpy()
    z = embed_blocks(encoder, graph, tmp_path / "z.npy", block=20)
    np.testing.assert_allclose(z, expected, rtol=1e-4, atol=1e-5)


def test_no_room_on_the_disk_is_said_before_any_work(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(share.os, "posix_fallocate", full)
    with pytest.raises(OSError, match=r"cannot write .*z\.npy: No space left on device"):
        embed_blocks(gcn((F, 4)), GRAPHS["dense"], tmp_path / "z.npy")
    assert list(tmp_path.iterdir()) == []


def test_no_room_for_activations_on_the_disk_is_said_as_well(tmp_path, monkeypatch):
    reserved = []

    def full(_, start, n_bytes):
        reserved.append((start, n_bytes))
        if n_bytes == 4 * N * 16:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(share.os, "posix_fallocate", full)
    with pytest.raises(OSError, match=r"cannot write .*z\.npy: No space left on device"):
        embed_blocks(gcn((F, 16, 4)), GRAPHS["dense"], tmp_path / "z.npy", spill_from=0)
    assert reserved == [(0, 128 + 4 * N * 4), (0, 4 * N * 16)]  # the result with its header, then a hidden layer
    assert list(tmp_path.iterdir()) == []


def test_a_block_has_a_node(tmp_path):
    with pytest.raises(ValueError, match="block must be at least 1"):
        embed_blocks(gcn((F, 4)), GRAPHS["dense"], tmp_path / "z.npy", block=0)


def test_the_estimator_embeds_into_a_file(tmp_path):
    model = CCASSG(encoder="gcn", n_steps=2, hidden_dim=8, embedding_dim=4, random_state=0).fit(GRAPHS["dense"])
    z = model.transform(GRAPHS["dense"], out=tmp_path / "z.npy")
    assert isinstance(z, np.memmap)
    np.testing.assert_allclose(z, model.transform(GRAPHS["dense"]), rtol=1e-4, atol=1e-5)


def test_the_first_node_that_is_not_finite_is_named():
    z = np.ones((4, 2), np.float32)
    assert require_finite_rows(z) is z
    z[2, 1] = z[3, 0] = np.nan
    with pytest.raises(ValueError, match="the embedding of node 2 is not finite"):
        require_finite_rows(z)
    with pytest.raises(ValueError, match="the embedding of node 12 is not finite"):
        require_finite_rows(torch.from_numpy(z), 10)
    large = np.full((2, 2), 3e38, np.float32)  # only their sum is infinite
    assert require_finite_rows(large) is large


@pytest.mark.parametrize("make", [gcn, mlp])
def test_one_node_at_a_time(make, tmp_path):
    encoder = make((F, 16, 8))
    for spill_from in (4 * N * 16, 4 * N * 16 - 1):
        z = embed_blocks(encoder, GRAPHS["sparse"], tmp_path / "z.npy", block=1, spill_from=spill_from)
        np.testing.assert_allclose(z, embed(encoder, GRAPHS["sparse"]).numpy(), rtol=1e-4, atol=1e-5)


def test_weighted_degrees_in_blocks(monkeypatch):
    received, _ = neighbours(GRAPHS["weighted directed"])
    a = GRAPHS["weighted directed"].adjacency()
    expected = 1 + np.asarray(a.sum(axis=0)).ravel()
    for block in (65_536, 7):
        monkeypatch.setattr(embedding, "BLOCK", block)
        np.testing.assert_allclose(embedding._degrees(received, weighted=True), expected, rtol=1e-6)
    counts = 1 + np.diff(a.tocsc().indptr)
    assert embedding._degrees(received, weighted=False).tolist() == counts.tolist()


@pytest.mark.parametrize(
    ("make", "width", "expected"),
    [
        (mlp, 8, "features z | features z | features"),
        # Multiplied before it is aggregated, or after, whichever is narrower.
        (gcn, F - 1, "features room | features room | features z | z | room"),
        (gcn, F, "z | z | features"),
        (gcn, F + 1, "z | z | features"),
    ],
)
def test_what_is_read_in_order_is_released_after_every_block_and_the_rest_at_the_end(
    make, width, expected, tmp_path, monkeypatch
):
    graph, released = GRAPHS["dense"], []
    names = {id(graph.features): "features", id(graph.indices): "|", id(None): ""}

    def note(array):
        released.append(names.get(id(array), "z" if hasattr(array, "filename") else "room"))

    monkeypatch.setattr(share, "release", note)
    embed_blocks(make((F, width)), graph, tmp_path / "z.npy", block=45)
    assert " ".join(released).split() == f"{expected} z | z |".split()  # at last, whether all is finite
