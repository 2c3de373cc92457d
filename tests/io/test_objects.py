"""Frames and AnnData to graphs and back."""

import anndata
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from ccassg.io.objects import add_to_anndata, graph_from_anndata, graph_from_frames

EDGES = pd.DataFrame({"source": [10, 20, 20], "target": [20, 30, 30], "weight": [1.0, 2.0, 0.5]})
NODES = pd.DataFrame({"node_id": [30, 20, 10], "x": [0.1, 0.2, 0.3], "kind": ["p", "q", "p"]})


@pytest.mark.parametrize("library", ["pandas", "polars", "lazy", "arrow"])
def test_frames_agree(library):
    edges, nodes = EDGES, NODES
    if library != "pandas":
        edges, nodes = pl.from_pandas(edges), pl.from_pandas(nodes)
    if library == "lazy":
        edges, nodes = edges.lazy(), nodes.lazy()
    if library == "arrow":
        edges, nodes = edges.to_arrow(), nodes.to_arrow()
    graph = graph_from_frames(edges, nodes)
    assert graph.node_ids.tolist() == [30, 20, 10]
    np.testing.assert_allclose(graph.adjacency().toarray(), [[0, 2.5, 0], [2.5, 0, 1], [0, 1, 0]])
    np.testing.assert_allclose(graph.features, [[0.1, 1, 0], [0.2, 0, 1], [0.3, 1, 0]], rtol=1e-6)


def test_index_of_a_frame_holds_ids():
    for nodes in (NODES.set_index("node_id"), NODES.set_index("node_id").rename_axis(None)):
        assert graph_from_frames(EDGES, nodes).node_ids.tolist() == [30, 20, 10]
    categories = NODES.astype({"kind": "category"})
    assert graph_from_frames(EDGES, categories).n_features == 3


def test_bad_frames_get_their_sentence():
    with pytest.raises(ValueError, match="the node table lacks 1 of the 3 nodes that the edge table names"):
        graph_from_frames(EDGES, NODES.iloc[:2])
    with pytest.raises(ValueError, match=r"the node table, column 'x', row 1 \(counted from 0\): no value"):
        graph_from_frames(EDGES, NODES.assign(x=[1.0, np.nan, 2.0]))
    with pytest.raises(ValueError, match="the edge table has no rows"):
        graph_from_frames(EDGES.iloc[:0], NODES)
    with pytest.raises(ValueError, match=r"the node table, column 'node_id', row 1 .*: the id 30 was there before"):
        graph_from_frames(EDGES, NODES.assign(node_id=[30, 30, 10]))
    with pytest.raises(ValueError, match="the node table"):
        graph_from_frames(EDGES, NODES.assign(kind=[1, "a", (2,)]))


@pytest.fixture
def adata():
    connectivities = sp.csr_matrix(np.array([[0, 0.5, 0], [0.5, 0, 1], [0, 1, 0]]))
    return anndata.AnnData(
        X=np.arange(6, dtype=np.float32).reshape(3, 2),
        obs=pd.DataFrame(index=["c1", "c2", "c3"]),
        obsm={"X_pca": np.ones((3, 4))},
        layers={"counts": sp.csr_matrix(np.ones((3, 2)))},
        obsp={"connectivities": connectivities},
    )


def test_anndata_in_and_out(adata):
    graph = graph_from_anndata(adata)
    assert graph.node_ids.tolist() == ["c1", "c2", "c3"]
    assert graph.weights.tolist() == [0.5, 0.5, 1, 1]
    assert (graph.features == adata.X).all()
    assert graph_from_anndata(adata, obsm="X_pca").n_features == 4
    assert sp.issparse(graph_from_anndata(adata, layer="counts").features)
    add_to_anndata(adata, np.zeros((3, 5)))
    assert adata.obsm["X_ccassg"].shape == (3, 5)
    for call, sentence in [
        (lambda: graph_from_anndata(adata, obsp="knn"), r"adata.obsp has no 'knn' \(there is 'connectivities'\)"),
        (lambda: graph_from_anndata(adata, obsm="X_umap"), "adata.obsm has no 'X_umap'"),
        (lambda: graph_from_anndata(adata, obsm="X_pca", layer="counts"), "name one"),
        (lambda: graph_from_anndata("cells.h5ad"), "expected an AnnData, got str"),
        (lambda: add_to_anndata(adata, np.zeros((2, 5))), "each of the 3 observations"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            call()
