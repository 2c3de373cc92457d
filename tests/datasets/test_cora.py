import numpy as np
import pytest

from ccassg.datasets.cora import embedded_file, read_cora
from ccassg.datasets.planetoid import read_planetoid


def test_embedded_cora_equals_the_planetoid_files(data_dir):
    folder = data_dir / "cora"
    if not folder.is_dir():
        pytest.skip("the Planetoid files of Cora are not here")
    ours, theirs = read_cora(), read_planetoid(folder, "cora")
    np.testing.assert_array_equal(ours.graph.indptr, theirs.graph.indptr)
    np.testing.assert_array_equal(ours.graph.indices, theirs.graph.indices)
    assert (ours.graph.features != theirs.graph.features).nnz == 0
    assert ours.graph.features.shape == theirs.graph.features.shape
    np.testing.assert_array_equal(ours.y, theirs.y)
    for part in ("train", "val", "test"):
        np.testing.assert_array_equal(getattr(ours.split(), part), getattr(theirs.split(), part))


def test_rows_sum_to_one():
    sums = read_cora().graph.features.sum(axis=1)
    np.testing.assert_allclose(sums, 1, rtol=1e-5)


def test_nodes_have_the_papers_numbers():
    ids = read_cora().graph.node_ids
    assert len(set(ids.tolist())) == 2708
    assert ids[0] == 1110563


def test_file_is_small_enough_to_embed():
    assert len(embedded_file().read_bytes()) < 100_000
