"""Files written in blocks of rows read back as those written at once, also from a memory-mapped matrix."""

import json

import numpy as np
import pytest

from ccassg.io.embeddings import read_embeddings, write_embeddings

Z = np.random.default_rng(0).standard_normal((11, 3)).astype(np.float32)
IDS = {
    "numbers": None,
    "integers": np.arange(11) * 7,
    "fixed width": np.array([f"n{i}" for i in range(10)] + ["東京"]),
    "objects": np.array([f"n{i}" for i in range(11)], dtype=object),
}


@pytest.fixture
def mapped(tmp_path):
    (tmp_path / "in").mkdir()
    np.save(tmp_path / "in" / "z.npy", Z)
    return np.load(tmp_path / "in" / "z.npy", mmap_mode="r")


@pytest.mark.parametrize("suffix", ["parquet", "csv", "npy", "vec", "h5ad"])
@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("block_rows", [1, 4, 11, 100])
def test_blocks_make_no_difference(mapped, suffix, kind, block_rows, tmp_path):
    ids = IDS[kind]
    for z in (Z, mapped, Z.astype(np.float64)):
        write_embeddings(tmp_path / f"z.{suffix}", z, ids, block_bytes=block_rows * Z.shape[1] * 4)
        back, names = read_embeddings(tmp_path / f"z.{suffix}")
        assert np.array_equal(back, Z)
        assert names.tolist() == (list(range(11)) if ids is None else ids.tolist())


def test_npy_is_what_numpy_writes(mapped, tmp_path):
    write_embeddings(tmp_path / "z.npy", mapped, ['q"', *map(str, range(10))], block_bytes=40)
    assert (tmp_path / "z.npy").read_bytes() == (tmp_path / "in" / "z.npy").read_bytes()
    text = (tmp_path / "z.ids.json").read_text()
    assert json.dumps(json.loads(text), ensure_ascii=False, indent=0) == text


def test_changes_of_a_private_mapping_are_written(tmp_path):
    np.save(tmp_path / "z.npy", Z)
    private = np.load(tmp_path / "z.npy", mmap_mode="c")
    private += 1
    write_embeddings(tmp_path / "out.parquet", private, block_bytes=40)
    assert np.array_equal(read_embeddings(tmp_path / "out.parquet")[0], Z + 1)
    assert np.array_equal(private, Z + 1)


def test_a_bad_id_in_a_late_block_leaves_nothing(mapped, tmp_path):
    with pytest.raises(ValueError, match="'a b' holds a blank"):
        write_embeddings(tmp_path / "z.vec", mapped, [*map(str, range(10)), "a b"], block_bytes=40)
    with pytest.raises(ValueError, match="a quote or control character"):
        write_embeddings(tmp_path / "z.vec", mapped, [*map(str, range(10)), '"'], block_bytes=40)
    assert {path.name for path in tmp_path.iterdir()} == {"in"}


def test_ids_that_repeat_are_refused(tmp_path):
    for ids in (np.zeros(11, int), np.array(["a"] * 11)):
        with pytest.raises(ValueError, match="all be different"):
            write_embeddings(tmp_path / "z.csv", Z, ids)
