"""Embedding files: every format round-trips under the user's ids, and damaged ones are refused."""

import json

import h5py
import numpy as np
import pytest
import torch

from ccassg.io.embeddings import read_embeddings, write_embeddings

SUFFIXES = ["parquet", "csv", "npy", "vec", "h5ad"]
IDS = {
    "default": None,
    "integers": [7, -3, 10**15, 0],
    "strings": ["b", "a", "node-7", "007"],
    "unicode": ["Zürich", "東京", "🙂", "e\u0301"],
}
AWKWARD = ['quo"te', "com,ma", "new\nline", "bl ank"]
rng = np.random.default_rng(0)
Z = (rng.standard_normal((4, 5)) * 10.0 ** rng.integers(-30, 30, (4, 5))).astype(np.float32)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", IDS)
def test_round_trip(tmp_path, suffix, kind):
    path = tmp_path / f"z.{suffix}"
    write_embeddings(path, Z, IDS[kind])
    z, ids = read_embeddings(path)
    assert z.dtype == np.float32
    assert (z == Z).all()
    assert ids.tolist() == (IDS[kind] or [0, 1, 2, 3])
    assert not [name for name in tmp_path.iterdir() if name.suffix == ".tmp"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_awkward_ids(tmp_path, suffix):
    path = tmp_path / f"z.{suffix}"
    if suffix == "vec":
        with pytest.raises(ValueError, match="'new\\\\nline' holds a blank, which word2vec text cannot"):
            write_embeddings(path, Z, AWKWARD)
        assert list(tmp_path.iterdir()) == []
        return
    write_embeddings(path, Z, AWKWARD)
    assert read_embeddings(path)[1].tolist() == AWKWARD


@pytest.mark.parametrize("suffix", ["parquet", "npy", "h5ad"])
def test_digits_as_strings_stay_strings(tmp_path, suffix):
    write_embeddings(tmp_path / f"z.{suffix}", Z, ["1", "2", "3", "4"])
    assert read_embeddings(tmp_path / f"z.{suffix}")[1].tolist() == ["1", "2", "3", "4"]


def test_other_libraries_read_them(tmp_path):
    import anndata
    import pandas as pd
    from gensim.models import KeyedVectors

    names = ["a", "ü", "c", "d"]
    for suffix in SUFFIXES:
        write_embeddings(tmp_path / f"z.{suffix}", Z, names)
    for frame in (pd.read_parquet(tmp_path / "z.parquet"), pd.read_csv(tmp_path / "z.csv")):
        assert frame["id"].tolist() == names
        assert list(frame.columns) == ["id", "e0", "e1", "e2", "e3", "e4"]
        np.testing.assert_allclose(frame.iloc[:, 1:].to_numpy(), Z, rtol=1e-6)
    vectors = KeyedVectors.load_word2vec_format(str(tmp_path / "z.vec"))
    np.testing.assert_allclose(vectors["ü"], Z[1], rtol=1e-6)
    adata = anndata.read_h5ad(tmp_path / "z.h5ad")
    assert adata.obs_names.tolist() == names
    assert (adata.obsm["X_ccassg"] == Z).all()


def test_tables_and_matrices_of_others_are_read(tmp_path):
    (tmp_path / "z.csv").write_text("node,x,y\na,1,2\nb,3,4\n")
    z, ids = read_embeddings(tmp_path / "z.csv")
    assert z.tolist() == [[1, 2], [3, 4]]
    assert ids.tolist() == ["a", "b"]
    np.save(tmp_path / "z.npy", np.eye(3))
    assert read_embeddings(tmp_path / "z.npy")[1].tolist() == [0, 1, 2]
    (tmp_path / "z.txt").write_text("2 2\na 1 2 \nb 3 4 \n")
    assert read_embeddings(tmp_path / "z.txt")[0].tolist() == [[1, 2], [3, 4]]


def test_torch_tensors_and_formats_by_suffix(tmp_path):
    write_embeddings(tmp_path / "z.pq", torch.from_numpy(Z).requires_grad_())
    assert (tmp_path / "z.pq").read_bytes()[:4] == b"PAR1"
    with pytest.raises(ValueError, match=r"the suffix of .*z\.dat names no format"):
        write_embeddings(tmp_path / "z.dat", Z)
    with pytest.raises(ValueError, match=r"the suffix of .*z\.dat names no format"):
        read_embeddings(tmp_path / "z.dat")


def test_what_does_not_fit_is_refused(tmp_path):
    path = tmp_path / "z.parquet"
    for z, ids, sentence in [
        (Z, ["a", "b"], "2 ids for 4 rows"),
        (Z, ["a", "b", "a", "c"], "all be different"),
        (Z, ["1", 1, "2", "3"], "all be different"),
        (Z[0], None, r"shape \(nodes, dimensions\)"),
        (Z[:0], None, "none of them 0"),
        (np.where(Z[2, 3] == Z, np.nan, Z), list("abcd"), "^the embedding of 'c' is not finite; train again$"),
        (np.where(Z[3, 0] == Z, np.inf, Z), None, "^the embedding of 3 is not finite"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            write_embeddings(path, z, ids)
    assert not path.exists()
    with pytest.raises(OSError, match="does not exist; make it first"):
        write_embeddings(tmp_path / "no" / "z.parquet", Z)


def test_matrix_and_ids_of_different_writings_are_noticed(tmp_path):
    write_embeddings(tmp_path / "z.npy", Z, ["a", "b", "c", "d"])
    np.save(tmp_path / "z.npy", Z + 1)
    with pytest.raises(ValueError, match="not of one writing"):
        read_embeddings(tmp_path / "z.npy")
    (tmp_path / "z.ids.json").write_text(json.dumps(["a", "b"]))
    with pytest.raises(ValueError, match=r"has 4 rows, but z\.ids\.json 2 ids"):
        read_embeddings(tmp_path / "z.npy")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("z.csv", "id,e0\na,x\nb,1\n", "line 2: 'x' where an embedding must be a number"),
        ("z.csv", "id,e0,kind\na,1,u\nb,2,v\n", "column 'kind', line 2: 'u' where an embedding must be a number"),
        ("z.csv", "id,e0\na,1\na,2\n", "line 3: the id 'a' was there before"),
        ("z.csv", "id\na\n", "but no numbers"),
        ("z.vec", "a 1 2\n", "line 1: expected the number of rows"),
        ("z.vec", "999999999 999\na 1 2\n", "more than the file can hold"),
        ("z.vec", "2 2\na 1 2\n", "promises 2|more than the file"),
        ("z.vec", "1 2\na 1 nan\n", "z.vec"),
        ("z.npy", "text", "its content is text"),
        ("z.h5ad", "text", "its content is text"),
    ],
)
def test_bad_files_get_their_sentence(tmp_path, name, content, sentence):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=sentence) as caught:
        read_embeddings(tmp_path / name)
    assert name in str(caught.value)


def test_hdf5_tricks_are_refused(tmp_path):
    write_embeddings(tmp_path / "secret.h5ad", Z)
    path = tmp_path / "z.h5ad"
    for trick in ("external", "soft", "huge"):
        path.unlink(missing_ok=True)
        write_embeddings(path, Z)
        with h5py.File(path, "r+") as file:
            del file["obsm/X_ccassg"]
            if trick == "external":
                file["obsm/X_ccassg"] = h5py.ExternalLink(str(tmp_path / "secret.h5ad"), "obsm/X_ccassg")
            elif trick == "soft":
                file["obsm/X_ccassg"] = h5py.SoftLink("/X")
            else:
                file.create_dataset("obsm/X_ccassg", (10**9, 100), "f4", chunks=(1000, 100))
        with pytest.raises(ValueError, match=r"not in the file itself|out of proportion|z\.h5ad"):
            read_embeddings(path)
