"""Files written in blocks of rows read back as those written at once, also from a memory-mapped matrix."""

import json
import os
import zlib

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ccassg.io.embedding_formats import is_ours
from ccassg.io.embeddings import read_embeddings, write_embeddings
from ccassg.io.files import Limits
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


@pytest.fixture
def h5ad(tmp_path):
    """A function (change): the path of a whole .h5ad in which ``change`` did something to the open file."""
    write_embeddings(tmp_path / "whole.h5ad", Z, IDS["fixed width"])

    def forge(change):
        path = tmp_path / "z.h5ad"
        path.write_bytes((tmp_path / "whole.h5ad").read_bytes())
        with h5py.File(path, "r+") as file:
            change(file)
        return path

    return forge


@pytest.mark.parametrize("name", ["obs", "obs/_index", "obsm", "obsm/X_ccassg", "uns", "uns/ccassg_ids"])
@pytest.mark.parametrize("kind", ["external", "through a soft one"])
def test_links_to_other_files_are_never_followed(h5ad, tmp_path, bounded, name, kind):
    os.mkfifo(tmp_path / "pipe")

    def link(file):
        del file[name]
        outside = name if kind == "external" else "outside"
        file[outside] = h5py.ExternalLink(str(tmp_path / "pipe"), "/x")
        if kind != "external":
            file[name] = h5py.SoftLink("/outside")

    path = h5ad(link)
    bounded()
    with pytest.raises(ValueError, match=r"z\.h5ad: \w+ is not in the file itself; write the file again without links"):
        read_embeddings(path)


def test_datasets_elsewhere_are_refused(h5ad, tmp_path):
    layout = h5py.VirtualLayout((11, 3), np.float32)
    layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "x", (11, 3))

    def external(file):
        del file["obsm/X_ccassg"]
        file.create_dataset("obsm/X_ccassg", (11, 3), np.float32, external=[(str(tmp_path / "raw"), 0, 11 * 12)])

    def virtual(file):
        del file["obsm/X_ccassg"]
        file.create_virtual_dataset("obsm/X_ccassg", layout)

    for change in (external, virtual):
        with pytest.raises(ValueError, match=r"z\.h5ad: obsm/X_ccassg is not a plain dataset"):
            read_embeddings(h5ad(change))


def test_shapes_in_h5ad_are_believed_in_proportion(h5ad):
    def rows(file):
        del file["obs/_index"], file["obsm/X_ccassg"]
        file.create_dataset("obs/_index", (2_000_000,), "S1", chunks=True)
        file.create_dataset("obsm/X_ccassg", (2_000_000, 1), np.float32, chunks=True)

    def kinds(file):
        del file["uns/ccassg_ids"]
        file.create_dataset("uns/ccassg_ids", (10**9,), "S8", chunks=True)

    def chunk(file):
        del file["obsm/X_ccassg"]
        file.create_dataset("obsm/X_ccassg", (11, 3), np.float32, chunks=(2**20, 128), maxshape=(None, None))

    def pieces(file):
        del file["obsm/X_ccassg"]
        file.create_dataset("obsm/X_ccassg", (11, 10_000), np.float32, chunks=(1, 1))

    for change in (rows, kinds, chunk, pieces):
        with pytest.raises(ValueError, match=r"z\.h5ad.* (claims the shape \(.*\)|110,000 pieces), out of proportion"):
            read_embeddings(h5ad(change))


def test_compressed_h5ad_is_read_within_its_place(h5ad):
    def packed(**options):
        def change(file):
            del file["obsm/X_ccassg"]
            file.create_dataset("obsm/X_ccassg", data=Z, chunks=(4, 3), **options)

        return change

    for options in ({"compression": "gzip", "shuffle": True, "fletcher32": True}, {"compression": "lzf"}):
        assert np.array_equal(read_embeddings(h5ad(packed(**options)))[0], Z)

    def bomb(file):
        packed(compression="gzip")(file)
        file["obsm/X_ccassg"].id.write_direct_chunk((4, 0), zlib.compress(bytes(4 * 3 * 4 + 1)))

    with pytest.raises(ValueError, match=r"a piece of obsm/X_ccassg grows beyond its place when decompressed"):
        read_embeddings(h5ad(bomb))

    def twice(file):
        del file["obsm/X_ccassg"]
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((4, 3))
        properties.set_deflate(9)
        properties.set_deflate(9)
        space, kind = h5py.h5s.create_simple((11, 3)), h5py.h5t.IEEE_F32LE
        h5py.h5d.create(file["obsm"].id, b"X_ccassg", kind, space, properties)

    with pytest.raises(ValueError, match=r"obsm/X_ccassg is compressed neither with gzip nor lzf"):
        read_embeddings(h5ad(twice))


def test_names_that_stand_in_one_place_are_counted(h5ad):
    def point(file):
        del file["obs/_index"]
        names = file["obs"].create_dataset("_index", (11,), h5py.string_dtype(), chunks=(11,))
        names[:] = ["x" * 100_000] + [""] * 10
        names.id.write_direct_chunk((0,), names.id.read_direct_chunk((0,))[1][:16] * 11)

    path = h5ad(point)
    with pytest.raises(ValueError, match=r"z\.h5ad grows beyond 600,000 bytes when read"):
        read_embeddings(path, limits=Limits(growth=1, growth_floor=600_000))


def test_word2vec_of_too_many_columns(tmp_path):
    (tmp_path / "z.vec").write_bytes(b"1 30000\na" + b" 0" * 30_000 + b"\n")
    with pytest.raises(ValueError, match=r"z\.vec, line 1: 30,000 dimensions, more than 20,000; store them as \.npy"):
        read_embeddings(tmp_path / "z.vec")
