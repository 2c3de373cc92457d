import shutil
import subprocess
import sys

import numpy as np
import pytest

from ccassg.datasets import load_dataset
from ccassg.datasets.load import cache_folder, embedded_file, find_folder, read_cora, search_path
from ccassg.datasets.planetoid import read_planetoid


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    monkeypatch.setenv("CCASSG_CACHE", str(cache))
    monkeypatch.delenv("CCASSG_DATA", raising=False)
    return cache


def test_cora_needs_nothing(empty_cache):
    assert load_dataset("cora").graph.n_nodes == 2708
    assert not empty_cache.exists()


def test_missing_says_how_to_get_it(empty_cache, tmp_path):
    with pytest.raises(FileNotFoundError, match="ccassg datasets fetch photo") as error:
        load_dataset("photo", data_dir=tmp_path)
    assert str(tmp_path) in str(error.value)
    assert str(empty_cache) in str(error.value)


def test_a_slip_of_the_pen():
    with pytest.raises(ValueError, match=r"^there is no dataset 'Cora'; did you mean 'cora'\?$"):
        load_dataset("Cora")


@pytest.mark.parametrize("name", ["reddit", "", None, 3])
def test_unknown_name(name):
    with pytest.raises(ValueError, match="choose from cora, citeseer, pubmed, computers, photo, cs, physics"):
        load_dataset(name)


def test_order_of_the_search(empty_cache, tmp_path, monkeypatch):
    assert search_path() == [empty_cache]
    monkeypatch.setenv("CCASSG_DATA", "/from/environment")
    assert [str(folder) for folder in search_path()] == ["/from/environment", str(empty_cache)]
    assert search_path(tmp_path) == [tmp_path, empty_cache]


def test_folder_is_named_by_argument_environment_or_cache(empty_cache, data_dir, tmp_path, monkeypatch):
    if find_folder("photo", data_dir) != data_dir:
        pytest.skip("the file of photo is not here")
    assert load_dataset("photo", data_dir=data_dir).graph.n_nodes == 7650
    monkeypatch.setenv("CCASSG_DATA", str(data_dir))
    assert load_dataset("photo").graph.n_nodes == 7650
    monkeypatch.delenv("CCASSG_DATA")
    assert find_folder("photo") is None
    empty_cache.mkdir()
    shutil.copyfile(data_dir / "amazon_electronics_photo.npz", empty_cache / "amazon_electronics_photo.npz")
    assert load_dataset("photo", data_dir=tmp_path / "nowhere").graph.n_nodes == 7650


def test_incomplete_set_counts_as_missing(empty_cache, data_dir):
    if find_folder("citeseer", data_dir) != data_dir:
        pytest.skip("the files of citeseer are not here")
    shutil.copytree(data_dir / "citeseer", empty_cache / "citeseer", copy_function=shutil.copyfile)
    assert find_folder("citeseer") == empty_cache
    (empty_cache / "citeseer").chmod(0o755)
    (empty_cache / "citeseer" / "ind.citeseer.ty").unlink()
    with pytest.raises(FileNotFoundError, match="fetch citeseer"):
        load_dataset("citeseer")


def test_default_cache_belongs_to_the_user(monkeypatch):
    monkeypatch.delenv("CCASSG_CACHE", raising=False)
    assert "ccassg" in str(cache_folder())
    monkeypatch.setenv("CCASSG_CACHE", "~/elsewhere")
    assert cache_folder().is_absolute()


def test_import_pulls_in_no_network_library():
    code = "import sys, ccassg.datasets as d; d.load_dataset('cora'); print({'pooch', 'requests'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


MEMORY = """
import resource, sys
from ccassg.datasets import load_dataset
load_dataset("cora")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
load_dataset("physics", data_dir=sys.argv[1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux only")
def test_loading_physics_stays_below_300_megabytes(data_dir):
    if find_folder("physics", data_dir) is None:
        pytest.skip("the file of physics is not here")
    done = subprocess.run([sys.executable, "-c", MEMORY, data_dir], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 300 * 1024


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
