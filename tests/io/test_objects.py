"""Graphs that other libraries hold are read as files are: the same features, ids, labels, notes and scaling."""

import anndata
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import torch

from ccassg import Dataset, as_graph, load_dataset, read_graph


@pytest.fixture
def clubs() -> nx.Graph:
    g = nx.karate_club_graph()
    nx.relabel_nodes(g, {i: f"member {i}" for i in g}, copy=False)
    for i, name in enumerate(g):
        g.nodes[name].update(year=1900.0 + i, share=i / 34, kind="ab"[i % 2], label="xyz"[i % 3])
    return g


def same(a: Dataset, b: Dataset) -> None:
    assert a.ids.tolist() == b.ids.tolist()
    assert (a.graph.adjacency() != b.graph.adjacency()).nnz == 0
    assert a.labels == b.labels
    assert columns_of(a) == columns_of(b)


def columns_of(data: Dataset) -> dict[str, tuple]:
    """What each feature is, whatever their order: a file may list attributes in its own."""
    scaling = data.scaling or [[None] * data.graph.n_features] * 2
    matrix = data.graph.features
    matrix = matrix.toarray() if sp.issparse(matrix) else matrix
    return {name: (tuple(matrix[:, i]), scaling[0][i], scaling[1][i]) for i, name in enumerate(data.feature_names)}


def test_networkx_is_read_as_its_graphml(clubs, tmp_path):
    path = tmp_path / "clubs.graphml"
    nx.write_graphml(clubs, path)
    data, of_file = read_graph(clubs), read_graph(path)
    same(data, of_file)
    assert data.labels[:3] == ["x", "y", "z"]
    assert data.scaling is not None
    assert any("were brought to mean 0" in note for note in data.notes)
    assert any("; labels in 'label'" in note for note in data.notes)
    told = {note.removeprefix(f"{path}: ") for note in of_file.notes}
    assert any(note.startswith("learns from ") and note.endswith("; labels in 'label'") for note in told)
    assert "'club' (2 values)" in data.notes[0]
    assert "'kind' (2 values)" in data.notes[0]
    club = read_graph(clubs, label_column="club", feature_columns=["share"])
    assert club.class_names == ("Mr. Hi", "Officer")
    assert club.feature_names == ("share",)


def test_networkx_attributes_of_all_kinds():
    g = nx.Graph([(0, (1, 1)), ((1, 1), "c")])
    values = {0: np.array([1.0, 2.0]), (1, 1): [3, 4], "c": torch.tensor([5.0, 6.0])}
    nx.set_node_attributes(g, values, "vector")
    nx.set_node_attributes(g, {0: 1, (1, 1): "two", "c": "two"}, "mixed")
    nx.set_node_attributes(g, {name: {"r": 3} for name in g}, "viz")
    nx.set_node_attributes(g, {name: i for i, name in enumerate(g)}, "id")
    data = read_graph(g)
    assert data.ids.tolist() == ["0", "(1, 1)", "c"]
    assert data.feature_names == ("vector[0]", "vector[1]", "mixed=1", "mixed=two")
    assert "left out the node attributes 'viz', 'id'" in " ".join(data.notes)
    with pytest.raises(ValueError, match=r"two nodes of the Graph have the name '1' as text; rename one"):
        read_graph(nx.Graph([(1, "1")]))
    for held in g.nodes.values():
        del held["mixed"]
    g.nodes["c"].clear()
    with pytest.raises(ValueError, match="'vector'"):
        read_graph(g)


def test_networkx_without_attributes_gets_structural_features():
    data = read_graph(nx.path_graph(6))
    assert data.structural
    assert "no features were given" in " ".join(data.notes)
    directed = read_graph(nx.DiGraph([(0, 1), (1, 2)]))
    assert directed.graph.n_edges == 4
    assert "the DiGraph is directed" in " ".join(directed.notes)
    assert read_graph(nx.DiGraph([(0, 1), (1, 2)]), directed=True).graph.n_edges == 2


def test_features_and_labels_given_beside_an_object(clubs):
    nodes = pd.DataFrame({"id": list(clubs)[::-1], "n": np.arange(34.0), "label": ["p", "q"] * 17})
    data = read_graph(clubs, nodes)
    assert data.ids.tolist() == list(clubs)[::-1]
    assert data.feature_names == ("n",)
    assert data.labels[:2] == ["p", "q"]
    same(data, read_graph(clubs, pl.from_pandas(nodes)))
    matrix = np.random.default_rng(0).normal(size=(34, 3)).astype(np.float32)
    kept = matrix.copy()
    data = read_graph(clubs, matrix * [1, 1, 1000])
    assert data.ids.tolist() == list(clubs)
    assert data.scaling is not None
    assert np.array_equal(read_graph(clubs, matrix, scale=True).graph.features.mean(axis=0).round(5), np.zeros(3))
    assert np.array_equal(matrix, kept)
    assert read_graph(clubs, "share").graph.n_features == 1
    assert sp.issparse(read_graph(clubs, sp.csr_array(matrix)).graph.features)
    with pytest.raises(ValueError, match="the node table lacks 1 of the 34"):
        read_graph(clubs, nodes[1:])


def test_pyg_data():
    data_module = pytest.importorskip("torch_geometric.data")
    edges = torch.tensor([[0, 1, 2], [1, 2, 2]])
    x = torch.tensor([[1.0, 1000.0], [2.0, 3000.0], [0.5, 9000.0], [1.0, 1.0]])
    data = read_graph(data_module.Data(x=x, edge_index=edges, y=torch.tensor([[1], [0], [-1], [1]])))
    assert data.labels == ["1", "0", None, "1"]
    assert data.graph.n_nodes == 4
    assert data.scaling is not None
    assert "removed 1 self-loop" in " ".join(data.notes)
    assert data.graph.n_isolated == 1
    plain = read_graph(data_module.Data(edge_index=edges, num_nodes=4, y=torch.rand(4)))
    assert plain.structural
    assert plain.y is None
    assert "left out y, which is float32 of shape (4,)" in " ".join(plain.notes)
    by_name = data_module.Data(x=x, edge_index=edges, topic=torch.tensor([0, 1, 0, 1]))
    assert read_graph(by_name, label_column="topic").class_names == ("0", "1")
    with pytest.raises(ValueError, match="the Data has no 'colour' of one value per node"):
        read_graph(by_name, label_column="colour")


def test_anndata():
    connectivities = sp.csr_matrix(np.array([[0, 0.5, 0], [0.5, 0, 1], [0, 1, 0]]))
    adata = anndata.AnnData(
        X=np.arange(6, dtype=np.float32).reshape(3, 2) / 6 + 0.5,
        obs=pd.DataFrame({"label": ["t", "b", "t"], "batch": ["1", "2", "2"]}, index=["c1", "c2", "c3"]),
        var=pd.DataFrame(index=["gene a", "gene b"]),
        obsm={"X_pca": np.ones((3, 4))},
        obsp={"connectivities": connectivities},
    )
    data = read_graph(adata)
    assert data.ids.tolist() == ["c1", "c2", "c3"]
    assert data.feature_names == ("gene a", "gene b")
    assert data.labels == ["t", "b", "t"]
    assert read_graph(adata, label_column="batch").class_names == ("1", "2")
    assert read_graph(adata, "X_pca").graph.n_features == 4
    assert read_graph(adata, "X_pca").feature_names is None


def test_matrices_and_arrays():
    adjacency = sp.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    data = read_graph(adjacency, np.eye(3))
    assert data.graph.n_edges == 4
    assert data.graph.n_features == 3
    assert read_graph(adjacency).structural
    assert read_graph(as_graph(adjacency, np.eye(3))).graph.n_features == 3
    # Two rows of ids are the two columns of an edge file.
    names = read_graph(np.array([["ann", "bob"], ["bob", "cid"]]))
    assert names.ids.tolist() == ["ann", "bob", "cid"]
    assert read_graph(torch.tensor([[10, 20], [20, 30]])).ids.tolist() == [10, 20, 30]
    assert read_graph([[0, 1], [1, 2]], torch.eye(4)).graph.n_nodes == 4


BAD = [
    (np.array([[0, 1], [1, 2], [2, 0]]), r"edges is an array of shape \(3, 2\); .* read_graph\(edges.T\)"),
    ([("a", "b"), ("b", "c"), ("c", "a")], r"read_graph\(numpy.transpose\(edges\)\)"),
    (load_dataset, "expected a Graph"),
    ({0: [1]}, "expected a Graph"),
]


@pytest.mark.parametrize(("edges", "message"), BAD)
def test_what_is_no_graph_is_refused(edges, message):
    with pytest.raises(ValueError, match=message):
        read_graph(edges)
    with pytest.raises(ValueError, match="read already"):
        read_graph(load_dataset("cora"))
    with pytest.raises(ValueError, match="'strength' names a column of an edge table, and the Graph has none"):
        read_graph(nx.path_graph(3), weight="strength")
