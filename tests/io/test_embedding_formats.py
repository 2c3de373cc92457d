"""Files written in blocks of rows read back as those written at once, also from a memory-mapped matrix."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ccassg.io.embedding_formats import is_ours
from ccassg.io.embeddings import read_embeddings, write_embeddings
from ccassg.io.folders import write_index

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


@pytest.mark.parametrize("suffix", ["parquet", "pq", "csv", "npy", "vec", "w2v", "txt", "h5ad"])
def test_only_embeddings_written_here_are_replaced(tmp_path, suffix):
    path = tmp_path / f"z.{suffix}"
    for ids in (None, [f"n{i}" for i in range(11)], [str(i) for i in range(11)]):
        write_embeddings(path, Z, ids)
        assert is_ours(path)
    path.write_text("mine")
    with pytest.raises(ValueError, match=rf"z\.{suffix} is there already and is not known to be an earlier output"):
        write_embeddings(path, Z)
    assert path.read_text() == "mine"


def test_files_of_the_same_kind_are_not_taken_for_ours(tmp_path):
    """Tables, matrices and vectors as others make them, and our own with something added."""
    import anndata
    import pandas as pd

    frame = pd.DataFrame(Z, columns=["e0", "e1", "e2"]).assign(id=range(11))[["id", "e0", "e1", "e2"]]
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    write_embeddings(tmp_path / "b.parquet", Z)
    added = pq.read_table(tmp_path / "b.parquet")
    pq.write_table(added.append_column("label", pa.array(["x"] * 11)), tmp_path / "b.parquet")
    np.save(tmp_path / "a.npy", Z)
    (tmp_path / "a.ids.json").write_text(json.dumps([*range(11)]))
    write_embeddings(tmp_path / "b.npy", Z)
    np.save(tmp_path / "b.npy", Z + 1)
    (tmp_path / "a.vec").write_text("2 2\na 0.1 0.2\nb 0.3 0.4\n")
    (tmp_path / "b.vec").write_text("2 2\na 0.1 0.2 \nb 0.3 0.4 \n")
    for name, text in (("a", "3 1\n1 2\n2 0\n0 3\n"), ("b", "3 1 \n1 2 \n2 0 \n0 3 \n"), ("c", "0 1 0.5\n1 2 0.5\n")):
        (tmp_path / f"{name}.txt").write_text(text)
    anndata.AnnData(Z).write_h5ad(tmp_path / "a.h5ad")
    write_embeddings(tmp_path / "b.h5ad", Z)
    clustered = anndata.read_h5ad(tmp_path / "b.h5ad")
    clustered.obs["cluster"] = "1"
    clustered.write_h5ad(tmp_path / "b.h5ad")
    assert [path.name for path in sorted(tmp_path.iterdir()) if is_ours(path)] == []


def test_ids_of_somebody_else_beside_a_new_matrix_stay(tmp_path):
    (tmp_path / "z.ids.json").write_text('["a", "b"]')
    with pytest.raises(ValueError, match=r"z\.ids\.json is there already"):
        write_embeddings(tmp_path / "z.npy", Z)
    assert (tmp_path / "z.ids.json").read_text() == '["a", "b"]'


def test_the_embedding_of_a_run_is_no_place_for_another(tmp_path):
    write_embeddings(tmp_path / "embedding.parquet", Z)
    write_index(tmp_path, "run.json", {})
    with pytest.raises(ValueError, match="is there already"):
        write_embeddings(tmp_path / "embedding.parquet", Z)


def test_word2vec_of_too_many_columns(tmp_path):
    (tmp_path / "z.vec").write_bytes(b"1 30000\na" + b" 0" * 30_000 + b"\n")
    with pytest.raises(ValueError, match=r"z\.vec, line 1: 30,000 dimensions, more than 20,000; store them as \.npy"):
        read_embeddings(tmp_path / "z.vec")
