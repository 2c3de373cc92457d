import numpy as np

from ccassg.bench import scale as module
from ccassg.bench.scale import Scale, run_scale, write_synthetic
from ccassg.io.store import open_store

SMALL = Scale(
    n_nodes=600, n_edges=6000, n_features=12, n_classes=3, n_nuisance=2, trace=2.0, n_steps=3, batch_nodes=100,
    max_neighbors=5, hidden_dim=16, embedding_dim=8, labels_per_class=10, n_scored=400,
)  # fmt: skip


def test_the_graph_is_what_it_says(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 1000)  # several pieces
    write_synthetic(tmp_path / "s", SMALL)
    store = open_store(tmp_path / "s", verify=True)
    adjacency = store.graph.adjacency()
    assert (adjacency != adjacency.T).nnz == 0
    assert adjacency.diagonal().sum() == 0
    assert 0.9 * 12000 < store.graph.n_edges <= 12000
    assert all((np.diff(row) > 0).all() for row in np.split(store.graph.indices, store.graph.indptr[1:-1]))
    senders = np.repeat(np.arange(600), np.diff(store.graph.indptr))
    same = (store.y[senders] == store.y[store.graph.indices]).mean()
    assert 0.6 < same < 0.73  # half by choice, and a third of the rest by chance
    assert store.graph.features.shape == (600, 12)
    write_synthetic(tmp_path / "again", SMALL)
    for file in (tmp_path / "s").iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


def test_every_stage_is_recorded(tmp_path):
    lines = []
    result = run_scale(SMALL, folder=tmp_path, say=lines.append)
    assert set(result["stages"]) == {"convert", "open", "verify", "train", "embed", "probe", "embed untrained"}
    assert all(stage["peak_rss_bytes"] > 1e7 and stage["seconds"] >= 0 for stage in result["stages"].values())
    assert set(result["accuracy"]) == {"raw features", "trained", "untrained"}
    assert all(0.2 < value <= 1 for value in result["accuracy"].values())
    assert len(result["loss"]) == 3
    assert result["store_bytes"]["features.npy"] > 600 * 12 * 4
    assert len(lines) == len(result["stages"]) + 1
    assert list(tmp_path.iterdir()) == []  # nothing is left behind
