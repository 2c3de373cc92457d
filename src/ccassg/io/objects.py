"""Graphs from what people hold in memory: pandas and Polars frames, AnnData.

PyG, NetworkX and SciPy objects go through `ccassg.as_graph`; a transform for PyG is in `ccassg.io.pyg`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ccassg.graph import Graph, as_graph
from ccassg.io.embedding_writers import OBSM_KEY
from ccassg.io.graphs import read_graph


def graph_from_frames(edges: Any, nodes: Any = None, **options: Any) -> Graph:
    """Make a graph of data frames.

    Parameters
    ----------
    edges : pandas.DataFrame, polars.DataFrame, polars.LazyFrame or pyarrow.Table
        One row per edge.
    nodes : the same
        One row per node: ids (a column, or the index of a pandas frame), features, perhaps labels. Nodes come in the order of
        its rows.
    **options
        Of `ccassg.io.graphs.read_graph`: source, target, weight, id_column, feature_columns, label_column, directed, text.
        That function also takes frames, and returns labels and notes too.

    Returns
    -------
    Graph
    """
    return read_graph(edges, nodes, **options).graph


def graph_from_anndata(
    adata: Any,
    obsp: str = "connectivities",
    obsm: str | None = None,
    *,
    layer: str | None = None,
    directed: bool = False,
) -> Graph:
    """Make a graph of an AnnData: cells are nodes, a matrix in ``obsp`` their edges.

    Parameters
    ----------
    adata : anndata.AnnData
    obsp : str
        The graph, such as scanpy's ``connectivities``; values are weights.
    obsm : str
        Features from ``adata.obsm`` (such as ``X_pca``) instead of ``adata.X``.
    layer : str
        Features from ``adata.layers`` instead of ``adata.X``.
    directed : bool
        Keep directions.

    Returns
    -------
    Graph
        Its ids are ``adata.obs_names``.
    """
    if obsm is not None and layer is not None:
        raise ValueError(f"features come from obsm={obsm!r} or from layer={layer!r}, not from both; name one")
    graph = _entry(adata, "obsp", obsp, "run scanpy.pp.neighbors(adata) first")
    if obsm is not None:
        features = _entry(adata, "obsm", obsm, "run scanpy.pp.pca(adata), or leave obsm out to use X")
    elif layer is not None:
        features = _entry(adata, "layers", layer, "leave layer out to use X")
    else:
        features = adata.X
        if features is None:
            raise ValueError("the AnnData has no X; name features with obsm= or layer=")
    # A frame in obsm, a backed or dense array, a sparse matrix: all end as an array or CSR.
    features = sp.csr_array(features) if sp.issparse(features) else np.asarray(features)
    names = np.array([str(name) for name in adata.obs_names], dtype=object)
    return as_graph(sp.csr_array(graph), features, node_ids=names, directed=directed)


def add_to_anndata(adata: Any, z: Any, key: str = OBSM_KEY) -> None:
    """Store embeddings, in the order of ``adata.obs_names``, as ``adata.obsm[key]``; scanpy takes it as ``use_rep=key``."""
    matrix = np.asarray(z, dtype=np.float32)
    if matrix.ndim != 2 or len(matrix) != adata.n_obs:
        raise ValueError(f"z must have one row for each of the {adata.n_obs:,} observations, got shape {matrix.shape}")
    adata.obsm[key] = matrix


def _entry(adata: Any, slot: str, key: str, advice: str) -> Any:
    entries = getattr(adata, slot, None)
    if entries is None:
        raise ValueError(f"expected an AnnData, got {type(adata).__name__}")
    if key not in entries:
        there = ", ".join(repr(name) for name in entries) or "nothing"
        raise ValueError(f"adata.{slot} has no {key!r} (there is {there}); {advice}")
    return entries[key]
