"""AnnData files that point elsewhere, claim what they do not hold or grow when they are inflated."""

import os
import zlib

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

from ccassg.io.embeddings import read_embeddings, write_embeddings
from ccassg.io.files import Limits, within
from ccassg.io.graphs import read_graph
from ccassg.io.h5ad import read_h5ad_graph

Z = np.random.default_rng(0).standard_normal((11, 3)).astype(np.float32)


@pytest.fixture
def h5ad(tmp_path):
    """A function (change): the path of a whole .h5ad in which ``change`` did something to the open file."""
    write_embeddings(tmp_path / "whole.h5ad", Z, [f"n{i}" for i in range(11)])

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


def test_a_heap_that_never_ends_is_refused(h5ad, bounded):
    path = h5ad(lambda file: file["obs"].attrs.create("_index", "_index", dtype=h5py.string_dtype()))
    content = path.read_bytes()
    heap = content.index(b"GCOL\x01")
    path.write_bytes(content[: heap + 16] + bytes(16) + content[heap + 32 :])
    bounded()
    with pytest.raises(ValueError, match=r"z\.h5ad is damaged where its strings are, near byte"):
        read_embeddings(path)


def test_names_that_stand_in_one_place_are_counted(h5ad):
    def point(file):
        del file["obs/_index"]
        names = file["obs"].create_dataset("_index", (11,), h5py.string_dtype(), chunks=(11,))
        names[:] = ["x" * 100_000] + [""] * 10
        names.id.write_direct_chunk((0,), names.id.read_direct_chunk((0,))[1][:16] * 11)

    path = h5ad(point)
    with pytest.raises(ValueError, match=r"z\.h5ad grows beyond 600,000 bytes when read"):
        read_embeddings(path, limits=Limits(growth=1, growth_floor=600_000))


@pytest.fixture
def cells(tmp_path):
    """A function (dense, compression): the path of cells with neighbours, genes, components, types and an old name or two."""
    anndata, pd = pytest.importorskip("anndata"), pytest.importorskip("pandas")

    def write(dense=False, compression=None):
        kinds = pd.Categorical(["T", "B", "T", np.nan])
        obs = pd.DataFrame({"kind": kinds, "age": [3, 4, 5, 6], "label": ["u", "v", "u", "v"]}, index=list("abcd"))
        x = sp.csr_matrix(np.arange(8, dtype=np.float32).reshape(4, 2))
        adata = anndata.AnnData(x.toarray() if dense else x, obs=obs, var=pd.DataFrame(index=["g1", "g2"]))
        adata.obsp["connectivities"] = sp.csr_matrix(([0.5, 1.0, 2.0], ([0, 1, 2], [1, 2, 0])), shape=(4, 4))
        adata.obsm["X_pca"] = np.arange(12.0).reshape(4, 3)
        adata.layers["counts"] = sp.csc_matrix(x * 2)
        adata.write_h5ad(tmp_path / "cells.h5ad", compression=compression)
        return tmp_path / "cells.h5ad", adata

    return write


@pytest.mark.parametrize(
    "options", [{}, {"dense": True}, {"compression": "gzip"}, {"compression": "lzf", "dense": True}]
)
def test_a_file_is_read_as_the_object_is(cells, options):
    path, adata = cells(**options)
    for column in (None, "kind", "age", "label"):
        found, expected = read_graph(path, label_column=column), read_graph(adata, label_column=column)
        assert (found.graph.adjacency() != expected.graph.adjacency()).nnz == 0
        assert np.array_equal(dense(found), dense(expected))
        assert found.feature_names == expected.feature_names == ("g1", "g2")
        assert found.labels == expected.labels
        assert found.ids.tolist() == list("abcd")
    assert dense(read_graph(path, "X_pca", scale=False)).shape == (4, 3)
    assert np.array_equal(dense(read_graph(path, "counts")), dense(read_graph(adata, "counts")))


def test_other_files_beside_the_neighbours(cells, write):
    path, _ = cells()
    nodes = write("n.csv", "id,size,label\nd,1,x\nc,2,y\nb,3,x\na,4,y\n")
    data = read_graph(path, nodes)
    assert (data.feature_names, data.labels) == (("size",), ["x", "y", "x", "y"])


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        (lambda file: file["obsp"].pop("connectivities"), {}, r"has no obsp\['connectivities'\]; run scanpy"),
        (lambda file: None, {"label_column": "no"}, "obs has no column 'no'; it has"),
        (lambda file: None, {"features": "X_umap"}, "has no 'X_umap' in obsm or layers"),
        (lambda file: file["X"].attrs.modify("shape", [10**9, 2]), {}, "claims the shape"),
        (lambda file: file["X"].attrs.modify("encoding-type", "dataframe"), {}, "X is no matrix of numbers"),
        (lambda file: file["obs"].pop("_index"), {}, "has no column obs/_index"),
        (lambda file: instead(file, "obs/label", np.arange(9)), {}, "cells.h5ad cannot be read"),
        (
            lambda file: instead(file, "obs/kind/codes", [9, 9, 9, 9]),
            {"label_column": "kind"},
            "cells.h5ad cannot be read",
        ),
        (lambda file: instead(file, "obsp/connectivities/indices", [1, 2, 9]), {}, "cells.h5ad cannot be read"),
        (lambda file: instead(file, "X", h5py.ExternalLink("other.h5", "/X")), {}, "X is not in the file itself"),
        (
            lambda file: instead(file, "obs/label", h5py.ExternalLink("/dev/zero", "/X")),
            {},
            "label is not in the file itself",
        ),
        (lambda file: instead(file, "obs/label", h5py.SoftLink("/obs/_index")), {}, "label is not in the file itself"),
    ],
)
def test_bad_graphs_get_their_sentence(cells, change, options, sentence):
    path, _ = cells()
    with h5py.File(path, "r+") as file:
        change(file)
    with pytest.raises(ValueError, match=sentence) as caught:
        read_graph(path, **options)
    assert "\n" not in str(caught.value)


def test_names_and_categories_stay_within_the_budget(cells):
    path, _ = cells()
    with h5py.File(path, "r+") as file:
        instead(file, "obs/kind/categories", [b"B", b"x" * 5000])
    tight = within(Limits(growth=0, growth_floor=8000, row=1))
    with tight, pytest.raises(ValueError, match=r"grows beyond 8,000 bytes when (read|decoded)"):
        read_h5ad_graph(path, None, "kind")
    with h5py.File(path, "r+") as file:
        instead(file, "obs/_index", [b"x" * 2500, b"B", b"c", b"d"])
    tight = within(Limits(growth=0, growth_floor=4096, row=1))
    with tight, pytest.raises(ValueError, match="when the ids of its edges are written out"):
        read_h5ad_graph(path, None, "age")


def instead(file, name, value):
    del file[name]
    file[name] = value


def dense(data):
    features = data.graph.features
    return features.toarray() if sp.issparse(features) else features
