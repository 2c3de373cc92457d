"""Encoders side by side: parts, weights, checkpoints, saving."""

import numpy as np
import pytest
import torch

from ccassg import CCASSG
from ccassg.datasets import stochastic_block_graph
from ccassg.defaults.towers import directions, principal_directions, tower_weights
from ccassg.model import augment
from ccassg.model.encoder import Encoder
from ccassg.training.embedding import embed, embed_blocks

SMALL = {"n_steps": 4, "hidden_dim": 16, "embedding_dim": 24, "random_state": 0, "encoder": "joined"}


@pytest.fixture(scope="module", params=[False, True], ids=["dense", "sparse"])
def data(request):
    return stochastic_block_graph(120, 3, 6, 0.9, 20, seed=0, sparse_features=request.param)


@pytest.mark.parametrize(
    ("share", "n_hops", "parts"),
    [
        (0.0, 2, "gcn linear"),
        (0.5, 2, "gcn mlp linear own"),
        (0.5, 0, "gcn mlp linear"),  # without hops, "linear" is the own features
        (1.0, 0, "mlp linear"),
        (0.3, 1, "gcn mlp linear own"),
    ],
)
def test_parts_that_say_too_little_are_left_out(share, n_hops, parts):
    weights = tower_weights(share, n_hops)
    assert " ".join(weights) == parts
    assert max(weights.values()) == 1
    assert weights["linear"] == 1
    if share == 0.3:
        assert weights["mlp"] == weights["own"] == pytest.approx(3 / 7)


def test_a_gcn_that_says_less_than_the_own_features_fades_faster():
    assert tower_weights(0.55, 0)["gcn"] == pytest.approx((45 / 55) ** 2)
    assert tower_weights(0.55, 0)["mlp"] == 1
    assert "gcn" not in tower_weights(0.6, 0)


def test_widths_add_up_and_scales_follow_the_weights(data):
    model = CCASSG(**SMALL | {"embedding_dim": 26}, own_share=0.4, n_hops=2).fit(data.graph)
    assert [part.dims[-1] for part in model.encoder_] == [8, 6, 6, 6]
    assert [part.n_hops for part in model.encoder_] == [2, 0, 2, 0]
    z = model.transform(data.graph)
    np.testing.assert_allclose(z.mean(0), 0, atol=1e-5 * np.abs(z).max())
    scales = [np.sqrt((part**2).mean()) for part in np.split(z, [8, 14, 20], axis=1)]
    np.testing.assert_allclose(np.array(scales) / scales[0], [1, 2 / 3, 1, 2 / 3], rtol=1e-4)
    assert {len(curve) for curve in model.history_.values()} == {4}
    assert model.get_feature_names_out().shape == (26,)


def test_each_trained_part_is_a_plain_fit_up_to_shift_and_scale(data):
    joined = CCASSG(**SMALL, own_share=0.5, n_hops=0, decorrelation=1e-3, edge_drop_rate=0.3).fit(data.graph)
    z = joined.transform(data.graph)
    same = {"n_steps": 4, "hidden_dim": 16, "embedding_dim": 8, "random_state": 0, "decorrelation": 1e-3}
    for start, encoder, rate in ((0, "gcn", 0.3), (8, "mlp", 0.0)):
        alone = CCASSG(encoder=encoder, edge_drop_rate=rate, **same).fit_transform(data.graph)
        alone = alone - alone.mean(0)
        part = z[:, start : start + 8]
        np.testing.assert_allclose(part / np.linalg.norm(part), alone / np.linalg.norm(alone), atol=1e-5)


def test_linear_part_is_the_principal_directions_of_averaged_features(data):
    found = principal_directions(data.graph, 2, 5)
    a = augment.normalized(data.graph).to_scipy()
    x = data.graph.features
    x = np.asarray(x.toarray() if hasattr(x, "toarray") else x, dtype=np.float64)
    averaged = a @ (a @ x)
    exact = np.linalg.svd(averaged - averaged.mean(0), full_matrices=False)[2][:5].T
    np.testing.assert_allclose(np.linalg.svd(exact.T @ found)[1], 1, atol=0.02)
    assert principal_directions(data.graph, 0, 40).shape == (20, 40)


def test_directions_are_turned_so_that_every_column_has_its_share(data):
    plain, turned = principal_directions(data.graph, 2, 12), directions(data.graph, 2, 12)
    np.testing.assert_allclose(turned.T @ turned, np.eye(12), atol=1e-4)
    np.testing.assert_allclose(turned @ turned.T, plain @ plain.T, atol=1e-4)  # the same space
    a = augment.normalized(data.graph).to_scipy()
    spreads = [np.asarray(a @ (a @ (data.graph.features @ d))).std(0) for d in (plain, turned)]
    assert spreads[0].max() / spreads[0].min() > 2 * spreads[1].max() / spreads[1].min()


def test_save_load_blocks_and_new_nodes(data, tmp_path):
    model = CCASSG(**SMALL, own_share=0.5, n_hops=4).fit(data.graph)
    z = model.transform(data.graph)
    model.save(tmp_path / "model")
    again = CCASSG.load(tmp_path / "model")
    assert [tower.dims for tower in again.encoder_] == [tower.dims for tower in model.encoder_]
    assert np.array_equal(again.transform(data.graph), z)
    assert again.settings_ | {"augmentations": ()} == model.settings_
    assert again.reasons_ == model.reasons_
    in_blocks = embed_blocks(model.encoder_, data.graph, tmp_path / "blocks.npy", block=50)
    np.testing.assert_allclose(in_blocks, z, atol=1e-5 * np.abs(z).max())
    on_disk = model.transform(data.graph, out=tmp_path / "z.npy")
    np.testing.assert_allclose(on_disk, z, atol=1e-5 * np.abs(z).max())
    few = data.graph.subgraph(np.arange(30))
    assert model.transform(few).shape == (30, 24)


def test_config_that_claims_too_much_is_refused(data, tmp_path):
    CCASSG(**SMALL, own_share=0.0, n_hops=1).fit(data.graph).save(tmp_path)
    config = tmp_path / "config.json"
    text = config.read_text()
    for old, new, message in (
        ('"extra_hops": 1', '"extra_hops": 1000000', "extra_hops 1000000"),
        ('"propagate": false', '"propagate": false, "dims": [20, 9]', "do not fit"),
        ('"towers": [', '"towers": [], "others": [', "do not fit its config"),
    ):
        assert old in text
        config.write_text(text.replace(old, new))
        with pytest.raises(ValueError, match=message):
            CCASSG.load(tmp_path)


def test_an_interrupted_run_continues_to_the_same_bits(data, tmp_path):
    whole = CCASSG(**SMALL, own_share=0.5, n_hops=2).fit_transform(data.graph)

    class Interrupted(Exception):
        pass

    for stop_at in (2, 6):  # in the first part, in the second

        def on_step(step, terms, total, stop_at=stop_at):
            assert total == 8
            if step == stop_at:
                raise Interrupted

        model = CCASSG(**SMALL, own_share=0.5, n_hops=2)
        path = tmp_path / str(stop_at) / "run.safetensors"
        with pytest.raises(Interrupted):
            model.fit(data.graph, checkpoint=path, checkpoint_every=1, on_step=on_step)
        seen = []
        model.fit(data.graph, checkpoint=path, on_step=lambda step, *_, seen=seen: seen.append(step))
        assert seen == list(range(stop_at + 1, 8))
        assert np.array_equal(model.transform(data.graph), whole)


def test_impossible_parts_are_refused(data):
    for given, message in (
        ({"own_share": 1.5}, "own_share must be a number from 0 to 1, got 1.5"),
        ({"n_hops": -1}, "n_hops must be an integer, at least 0, got -1"),
        ({"n_hops": 100}, "n_hops must be at most 64"),
        ({"embedding_dim": 2, "own_share": 0.5}, "too narrow for 4 parts"),
        ({"batch_nodes": 10}, "batch_nodes goes with a plain encoder"),
    ):
        with pytest.raises(ValueError, match=message):
            CCASSG(**SMALL | {"own_share": 0.5, "n_hops": 1} | given).fit(data.graph)


def test_a_probe_can_use_either():
    """Useless edges: the default keeps what the features say, where a GCN loses it."""
    from ccassg.evaluate.probe import linear_probe
    from ccassg.graph.dataset import random_split

    graph = stochastic_block_graph(600, 4, 8, 0.25, 40, 0.85, seed=0)
    split = random_split(graph.y, 0)
    scores = {
        encoder: linear_probe(
            CCASSG(encoder=encoder, random_state=0).fit_transform(graph.graph), graph.y, split, epochs=300
        ).accuracy
        for encoder in ("auto", "gcn", "mlp")
    }
    assert scores["gcn"] < scores["mlp"] - 0.1
    assert scores["auto"] > scores["mlp"] - 0.05


def test_embedding_is_that_of_the_parts(data):
    model = CCASSG(**SMALL, own_share=0.5, n_hops=2).fit(data.graph)
    parts = [embed(Encoder([tower]), data.graph) for tower in model.encoder_]
    assert np.array_equal(torch.cat(parts, 1).numpy(), model.transform(data.graph))
