"""Files written in blocks of rows read back as those written at once, also from a memory-mapped matrix."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ccassg.io.embedding_formats import encoder_of, is_ours
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
    for i, z in enumerate((Z, mapped, Z.astype(np.float64))):
        write_embeddings(tmp_path / f"z{i}.{suffix}", z, ids, block_bytes=block_rows * Z.shape[1] * 4)
        back, names = read_embeddings(tmp_path / f"z{i}.{suffix}")
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


@pytest.mark.parametrize("suffix", ["parquet", "pq", "npy", "h5ad"])
def test_only_embeddings_written_here_and_not_changed_since_are_replaced(tmp_path, suffix):
    path = tmp_path / f"z.{suffix}"
    for ids in (None, [f"n{i}" for i in range(11)], [str(i) for i in range(11)]):
        write_embeddings(path, Z, ids)
        assert is_ours(path)
    content = path.read_bytes()
    numbers = Z[:, 1] if suffix in ("parquet", "pq") else Z[5]
    for place in (len(content) - 1, content.index(numbers.tobytes())):
        changed = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        path.write_bytes(changed)
        with pytest.raises(ValueError, match=rf"z\.{suffix} is there already and is not known to be an earlier output"):
            write_embeddings(path, Z)
        assert path.read_bytes() == changed
    path.write_bytes(content)
    write_embeddings(path, Z)


@pytest.mark.parametrize("suffix", ["csv", "vec", "w2v", "txt"])
def test_text_has_no_place_for_a_seal_and_is_not_replaced(tmp_path, suffix):
    path = tmp_path / f"z.{suffix}"
    write_embeddings(path, Z)
    content = path.read_bytes()
    with pytest.raises(ValueError, match=rf"z\.{suffix} is there already and .*; give another name, or `overwrite` it"):
        write_embeddings(path, Z)
    assert path.read_bytes() == content
    write_embeddings(path, Z + 1, overwrite=True)
    assert path.read_bytes() != content


def test_parquet_says_what_its_embeddings_were_made_by(tmp_path):
    for suffix, kept in (("parquet", "canonical"), ("csv", None)):
        write_embeddings(tmp_path / f"z.{suffix}", Z, encoder="canonical")
        assert encoder_of(tmp_path / f"z.{suffix}") == kept
    write_embeddings(tmp_path / "z.parquet", Z)
    assert encoder_of(tmp_path / "z.parquet") is None


def test_no_part_of_a_run_is_overwritten(tmp_path):
    write_embeddings(tmp_path / "embedding.parquet", Z)
    write_index(tmp_path, "run.json", {})
    with pytest.raises(ValueError, match=r"embedding\.parquet is there already"):
        write_embeddings(tmp_path / "embedding.parquet", Z, overwrite=True)


def test_ids_that_somebody_changed_keep_their_matrix_from_being_replaced(tmp_path):
    write_embeddings(tmp_path / "z.npy", Z)
    ids = tmp_path / "z.ids.json"
    ids.write_text(ids.read_text().replace("10", "11"))
    with pytest.raises(ValueError, match=r"z\.npy is there already"):
        write_embeddings(tmp_path / "z.npy", Z)


def test_files_of_the_same_kind_are_not_taken_for_ours(tmp_path):
    """Tables, matrices and vectors as others make them, and our own that others wrote again."""
    import anndata
    import pandas as pd

    frame = pd.DataFrame(Z, columns=["e0", "e1", "e2"]).assign(id=range(11))[["id", "e0", "e1", "e2"]]
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    write_embeddings(tmp_path / "b.parquet", Z)
    ours = pq.read_table(tmp_path / "b.parquet")
    pq.write_table(ours.set_column(1, "e0", pa.array(Z[:, 1])), tmp_path / "b.parquet")  # keeps the seal
    assert b"ccassg embedding" in (tmp_path / "b.parquet").read_bytes()
    np.save(tmp_path / "a.npy", Z)
    (tmp_path / "a.ids.json").write_text(json.dumps([*range(11)]))
    write_embeddings(tmp_path / "b.npy", Z)
    np.save(tmp_path / "b.npy", Z + 1)
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
