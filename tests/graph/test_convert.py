"""The door: what comes in is a valid graph, or a ValueError that says what to do."""

import anndata
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ccassg import Graph, as_graph

PATH = np.array([[0, 1], [1, 2]])  # 0 - 1 - 2


def assert_valid(graph: Graph) -> None:
    n = graph.n_nodes
    assert n >= 1
    assert graph.indptr[0] == 0
    assert (np.diff(graph.indptr) >= 0).all()
    assert graph.indptr[-1] == len(graph.indices)
    for i in range(n):
        row = graph.indices[graph.indptr[i] : graph.indptr[i + 1]]
        assert (np.diff(row) > 0).all()
        assert i not in row
        assert ((row >= 0) & (row < n)).all()
    if graph.weights is not None:
        assert graph.weights.dtype == np.float32
        assert (graph.weights > 0).all()
        assert np.isfinite(graph.weights).all()
    if not graph.directed:
        adjacency = graph.adjacency()
        assert (adjacency != adjacency.T).nnz == 0
    if graph.features is not None:
        assert graph.features.shape[0] == n
        assert graph.features.dtype == np.float32
        values = graph.features.data if sp.issparse(graph.features) else graph.features
        assert np.isfinite(values).all()
    assert len(set(graph.node_ids.tolist())) == n


def test_edge_index_is_symmetrised_and_says_so():
    graph = as_graph(PATH, np.eye(3))
    assert_valid(graph)
    assert graph.adjacency().todense().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert graph.notes == ()  # every edge is given once: nothing is missing
    assert as_graph(np.array([[0, 1, 1], [1, 0, 2]])).notes == ("added the missing reverse of 1 edge",)


def test_directed_stays_directed():
    graph = as_graph(PATH, np.eye(3), directed=True)
    assert graph.adjacency().todense().tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert graph.notes == ()
    assert as_graph(graph).directed
    assert as_graph(graph, directed=False).n_edges == 4


def test_repeats_loops_and_zero_weights_are_reported():
    edges = np.array([[0, 0, 1, 1, 1], [1, 1, 0, 1, 2]])
    graph = as_graph(edges, weights_features(3), edge_weights=[1.0, 2.0, 5.0, 1.0, 0.0])
    assert graph.notes == (
        "removed 1 self-loop (every node gets its own inside the encoder)",
        "removed 1 edges of weight 0",
        "merged 1 repeated edge, their weights added",
    )
    assert graph.adjacency().todense().tolist() == [[0, 5, 0], [5, 0, 0], [0, 0, 0]]


def weights_features(n):
    return np.ones((n, 2))


def test_scipy_adjacency_and_sparse_features_stay_sparse():
    x = sp.random(4, 6, density=0.3, random_state=0, format="coo")
    graph = as_graph(sp.coo_array(([1, 1], ([0, 2], [2, 0])), shape=(4, 4)), x)
    assert sp.issparse(graph.features)
    assert graph.weights is None
    assert graph.n_isolated == 2
    np.testing.assert_allclose(graph.features.todense(), x.todense(), rtol=1e-6)


def test_a_users_matrix_is_not_changed():
    adjacency = sp.csr_array(np.array([[0, 3], [0, 0]]))
    as_graph(adjacency)
    assert adjacency.nnz == 1


def test_weights_of_both_directions_take_the_larger():
    adjacency = sp.csr_array(np.array([[0, 2.0, 0], [3.0, 0, 0], [0, 0, 0]]))
    assert as_graph(adjacency, np.ones((3, 1))).adjacency().todense().tolist() == [[0, 3, 0], [3, 0, 0], [0, 0, 0]]


def test_torch_edge_index_pair_and_ids():
    graph = as_graph((torch.tensor(PATH), torch.eye(3)), node_ids=["a", "b", "c"])
    assert graph.node_ids.tolist() == ["a", "b", "c"]
    assert graph.features.dtype == np.float32
    sub = graph.subgraph([2, 1])
    assert sub.node_ids.tolist() == ["c", "b"]
    assert sub.adjacency().todense().tolist() == [[0, 1], [1, 0]]


def test_networkx_with_names_weights_and_attributes():
    g = nx.Graph()
    g.add_edge("x", "y", weight=2.0)
    g.add_edge("y", "y", weight=1.0)
    for name, value in (("x", [1.0, 0.0]), ("y", [0.0, 1.0]), ("lonely", [0.0, 0.0])):
        g.add_node(name, feat=value)
    graph = as_graph(g, "feat")
    assert_valid(graph)
    assert graph.node_ids.tolist() == ["x", "y", "lonely"]
    assert graph.weights.tolist() == [2.0, 2.0]
    assert graph.n_isolated == 1
    assert len(graph.notes) == 1
    directed = as_graph(nx.DiGraph([(1, 0)]), np.eye(2), directed=True)
    assert directed.node_ids.tolist() == [1, 0]
    assert directed.n_edges == 1


def test_pyg_data():
    data_module = pytest.importorskip("torch_geometric.data")
    data = data_module.Data(
        x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 0]]), edge_weight=torch.tensor([0.5, 0.5])
    )
    graph = as_graph(data)
    assert_valid(graph)
    assert graph.n_nodes == 3
    assert graph.weights.tolist() == [0.5, 0.5]


BAD = [
    (lambda: as_graph(sp.csr_array((2, 3))), r"square, got shape \(2, 3\)"),
    (lambda: as_graph(PATH, np.ones((2, 2))), r"names node 2, but nodes are 0 .. 1"),
    (lambda: as_graph(sp.csr_array((3, 3)), np.ones((2, 2))), "2 rows, but the graph has 3 nodes"),
    (lambda: as_graph(np.array([[0, -1], [1, 0]]), np.eye(2)), "names node -1"),
    (lambda: as_graph(PATH, edge_weights=[1.0, np.inf]), "edge weights must be finite"),
    (lambda: as_graph(PATH, edge_weights=[1.0, -2.0]), "must not be negative, got -2"),
    (lambda: as_graph(PATH, edge_weights=[1.0]), "2 edges"),
    (lambda: as_graph(np.ones((3, 2))), r"expected a Graph, .*of shape \(3, 2\) and dtype float64"),
    (lambda: as_graph(np.ones((3, 3), int)), "dense adjacency goes in as"),
    (lambda: as_graph(np.zeros((2, 0), int)), "empty"),
    (lambda: as_graph(sp.csr_array((0, 0))), "empty"),
    (lambda: as_graph(PATH, need_features=True), "no features and this method needs them"),
    (lambda: as_graph(PATH, np.full((3, 2), np.nan)), "features must be finite"),
    (lambda: as_graph(PATH, node_ids=["a", "a", "b"]), "'a' occurs more than once"),
    (lambda: as_graph(PATH, node_ids=["a"]), "names node 1|1 entries"),
    (lambda: as_graph(PATH, np.eye(3), n_nodes=4), "n_nodes is 4"),
    (lambda: as_graph(np.ones((3, 3))), "csr_array"),
    (lambda: as_graph("cora"), "expected a Graph"),
    (lambda: as_graph(None), "expected a Graph"),
    (lambda: as_graph((PATH, np.eye(3)), np.eye(3)), "given twice"),
    (lambda: as_graph(nx.Graph([("a", "b", {"weight": 1}), ("b", "c")])), "1 of 2 edges have no 'weight'"),
    (lambda: as_graph(nx.Graph([("a", "b")]), "feat"), "no attribute 'feat'"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input_says_what_and_what_to_do(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_sparse_torch_tensors_are_matrices():
    coo = torch.sparse_coo_tensor([[0, 1, 1], [1, 2, 2]], [1.0, 2.0, 1.0], (3, 3), check_invariants=True)
    features = torch.eye(3).to_sparse()
    for matrix in (coo, coo.to_sparse_csr()):
        graph = as_graph(matrix, features)
        assert graph.adjacency().toarray().tolist() == [[0, 1, 0], [1, 0, 3], [0, 3, 0]]
        assert sp.issparse(graph.features)


def test_a_pyg_adjacency_is_read_from_target_to_source():
    pyg = pytest.importorskip("torch_geometric")
    data = pyg.data.Data(x=torch.eye(3), edge_index=torch.tensor(PATH))
    sparse = pyg.transforms.ToSparseTensor(layout=torch.sparse_csr)(data.clone())
    assert sparse.edge_index is None
    graph = as_graph(sparse, directed=True)
    assert graph.adjacency().toarray().tolist() == as_graph(data, directed=True).adjacency().toarray().tolist()


def test_what_is_several_graphs_or_none_is_refused_with_the_call_that_works():
    pyg = pytest.importorskip("torch_geometric.data")
    data = pyg.Data(x=torch.eye(3), edge_index=torch.tensor(PATH))
    hetero = pyg.HeteroData()
    hetero["a"].x = torch.eye(3)
    hetero["a", "to", "a"].edge_index = torch.tensor(PATH)
    for many in ([data, data], [nx.path_graph(3)], [as_graph(PATH)]):
        with pytest.raises(ValueError, match=r"got a list of [12] graphs; .*networkx.disjoint_union_all"):
            as_graph(many)
    with pytest.raises(ValueError, match=r"HeteroData .*to_homogeneous\(\)"):
        as_graph(hetero)
    with pytest.raises(ValueError, match=r"read_graph\(edges, nodes\)"):
        as_graph(pd.DataFrame({"a": [0, 1, 2], "b": [1, 2, 0]}))
    with pytest.raises(ValueError, match=r"edge_index is an array of shape \(3, 2\).*as_graph\(edge_index.T\)"):
        as_graph(np.array([[0, 1], [1, 2], [2, 0]]))
    with pytest.raises(ValueError, match=r"read_graph\(edge_index\)"):
        as_graph(np.array([["a", "b"], ["b", "c"]]))


anything = st.one_of(
    hnp.arrays(
        st.sampled_from([np.int64, np.int8, np.uint16, np.float64, np.float32, bool, object]),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
    ),
    hnp.arrays(np.int64, st.tuples(st.just(2), st.integers(0, 8)), elements=st.integers(-1, 6)),
    st.builds(
        lambda dense, kind: getattr(sp, kind)(dense),
        hnp.arrays(
            st.sampled_from([np.float64, np.float32, np.int32]),
            hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=5),
        ),
        st.sampled_from(["csr_array", "coo_array", "csc_matrix"]),
    ),
    st.none(),
    st.text(max_size=3),
    st.lists(st.lists(st.integers(0, 3), max_size=3), max_size=3),
)


@settings(max_examples=300, deadline=None)
@given(anything, anything, st.booleans(), st.one_of(st.none(), st.integers(-1, 8)))
@pytest.mark.filterwarnings("ignore")
def test_as_graph_gives_a_valid_graph_or_a_value_error(data, features, directed, n_nodes):
    try:
        graph = as_graph(data, features, directed=directed, n_nodes=n_nodes)
    except ValueError:
        return
    assert_valid(graph)


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


def test_anndata(adata):
    graph = as_graph(adata)
    assert graph.node_ids.tolist() == ["c1", "c2", "c3"]
    assert graph.weights.tolist() == [0.5, 0.5, 1, 1]
    assert (graph.features == adata.X).all()
    assert as_graph(adata, "X_pca").n_features == 4
    assert sp.issparse(as_graph(adata, "counts").features)
    assert as_graph(adata, np.ones((3, 9)), node_ids=[7, 8, 9]).node_ids.tolist() == [7, 8, 9]
    with pytest.raises(ValueError, match=r"no 'X_umap' in obsm or layers \(there is 'X_pca', 'counts'\)"):
        as_graph(adata, "X_umap")
    without = anndata.AnnData(obs=adata.obs, obsp={"connectivities": adata.obsp["connectivities"]})
    with pytest.raises(ValueError, match="the AnnData has no X"):
        as_graph(without)
    del adata.obsp["connectivities"]
    with pytest.raises(ValueError, match=r"adata.obsp has no 'connectivities' \(there is nothing\); run scanpy"):
        as_graph(adata)


def test_pyg_data_with_and_without_its_parts():
    data_module = pytest.importorskip("torch_geometric.data")
    edge_index, x = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.eye(4)
    plain = as_graph(data_module.Data(edge_index=edge_index, num_nodes=5))
    assert (plain.n_nodes, plain.features, plain.weights) == (5, None, None)
    with_x = data_module.Data(edge_index=edge_index, x=x, edge_attr=torch.tensor([2.0, 2, 3, 3]))
    assert as_graph(with_x).weights.tolist() == [2, 2, 3, 3]
    assert as_graph(with_x).n_features == 4
    assert as_graph(with_x, torch.ones(4, 2)).n_features == 2
    assert as_graph(with_x, node_ids=list("abcd")).node_ids.tolist() == list("abcd")
    for attributes in (torch.ones(4, 1) * 7, torch.ones(4, 2)):  # of several columns none is the weight
        assert as_graph(data_module.Data(edge_index=edge_index, x=x, edge_attr=attributes)).weights is None
    both = data_module.Data(
        edge_index=edge_index, x=x, edge_attr=torch.full((4,), 9.0), edge_weight=torch.full((4,), 5.0)
    )
    assert as_graph(both).weights.tolist() == [5] * 4
    assert as_graph(data_module.Data(edge_index=edge_index[:, :1], x=x), directed=True).n_edges == 1
    with pytest.raises(ValueError, match="the PyG Data has no edge_index"):
        as_graph(data_module.Data(x=x))


def test_networkx_directions_loops_and_weights():
    arrows = nx.DiGraph()
    arrows.add_weighted_edges_from([(0, 1, 2.0), (1, 0, 5.0), (2, 2, 3.0), (1, 2, 4.0)])
    assert as_graph(arrows).adjacency().toarray().tolist() == [[0, 5, 0], [5, 0, 4], [0, 4, 0]]
    assert as_graph(arrows, directed=True).adjacency().toarray().tolist() == [[0, 2, 0], [5, 0, 4], [0, 0, 0]]
    undirected = nx.Graph([(0, 1), (1, 1)])
    assert not as_graph(undirected, directed=True).directed
    assert as_graph(undirected).notes == ("removed 1 self-loop (every node gets its own inside the encoder)",)
    twice = nx.MultiGraph([(0, 1), (0, 1), (0, 0), (0, 0)])
    assert as_graph(twice).notes == (
        "removed 2 self-loops (every node gets its own inside the encoder)",
        "merged 2 repeated edges",
    )
    assert as_graph(nx.empty_graph(3)).n_nodes == 3
    some = nx.Graph([(0, 1, {"weight": 1.0}), (1, 2), (2, 3)])
    with pytest.raises(ValueError, match="2 of 3 edges have no 'weight' attribute; give it to all edges or to none"):
        as_graph(some)
    for name, row in ((0, 1.0), (1, 2.0), (2, 3.0)):
        arrows.nodes[name]["feat"] = row
    assert as_graph(arrows, "feat").features.tolist() == [[1], [2], [3]]
    del arrows.nodes[1]["feat"], arrows.nodes[2]["feat"]
    with pytest.raises(ValueError, match="2 nodes have no attribute 'feat', first 1"):
        as_graph(arrows, "feat")


def test_parts_of_an_edge_index():
    assert as_graph(PATH, n_nodes=7).n_nodes == 7
    assert as_graph(PATH).n_nodes == 3
    assert as_graph(PATH, node_ids=list("abcd")).n_nodes == 4
    assert as_graph(PATH, np.eye(3), n_nodes=3).n_nodes == 3
    assert as_graph(np.zeros((2, 0), int), n_nodes=2).n_edges == 0
    assert as_graph(np.zeros((2, 0)), n_nodes=2).n_edges == 0  # of no edges any type will do
    assert as_graph(PATH.astype(np.uint8), edge_weights=torch.tensor([2.0, 3.0])).weights.tolist() == [2, 2, 3, 3]
    ones = as_graph(PATH, edge_weights=[1.0, 1.0])
    assert ones.weights is None
    assert as_graph(PATH).indices.dtype == np.int32
    assert as_graph(PATH).indptr.dtype == np.int64
    for data, sentence in [
        (np.zeros((2, 3, 1), int), r"of shape \(2, 3, 1\)"),
        (np.ones((4, 2), int), r"not \(2, n_edges\); it goes in as as_graph\(edge_index.T\)"),
        (np.array([["a", "b"], ["b", "c"], ["c", "a"]]), r"ccassg.read_graph\(edge_index.T\)"),
        (np.array([["a", "b", "c"], ["b", "c", "a"]]), r"ccassg.read_graph\(edge_index\)"),
        (np.array([["a", "b"], ["b", "c"]]), r"ccassg.read_graph\(edge_index\)"),
        (np.ones((2, 2)) / 2, r"expected a Graph, .* of shape \(2, 2\) and dtype float64"),
        (np.ones((3, 3)), r"a dense adjacency goes in as scipy.sparse.csr_array"),
        (pd.DataFrame({"a": [1], "b": [2]}), "a DataFrame goes in through ccassg.read_graph"),
        ([[0, 1], [2]], "edge_index cannot be read as an array"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            as_graph(data)
    for arguments, sentence in [
        ({"n_nodes": 2}, "names node 2, but nodes are 0"),
        ({"n_nodes": 2.5}, "n_nodes must be an integer"),
        ({"edge_weights": np.ones((2, 1))}, r"edge_weights has shape \(2, 1\), but there are 2 edges"),
        ({"edge_weights": ["a", "b"]}, "edge weights must be numeric"),
        ({"edge_weights": [1.0, 1e39]}, "edge weights must be finite"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            as_graph(PATH, **arguments)


def test_sums_of_weights_and_kinds_of_adjacencies():
    twice = np.array([[0, 0], [1, 1]])
    with pytest.raises(ValueError, match="edge weights must be finite"):
        as_graph(twice, edge_weights=[3e38, 3e38])
    many = as_graph(np.repeat([[0], [1]], 512, axis=1))  # a byte would come round to 0
    assert many.n_edges == 2
    assert many.notes == ("merged 511 repeated edges",)
    assert as_graph(sp.coo_array(np.array([[False, True], [False, False]]))).weights is None
    assert as_graph(sp.csr_array(np.array([[0, 2], [0, 0]], np.int8))).weights.tolist() == [2, 2]
    with pytest.raises(ValueError, match="adjacency must hold numbers, got dtype complex128"):
        as_graph(sp.csr_array(np.ones((2, 2), complex)))
    loops = as_graph(sp.csr_array(np.diag([1.0, 2.0]) + np.array([[0, 4], [0, 0]])))
    assert loops.adjacency().toarray().tolist() == [[0, 4], [4, 0]]
    three = as_graph(np.array([[0, 0, 1, 2], [1, 2, 0, 1]]))
    assert three.notes == ("added the missing reverse of 2 edges",)


def test_changes_to_a_graph():
    graph = as_graph(PATH, np.eye(3), directed=True)
    assert as_graph(graph) is graph
    assert as_graph(graph, np.ones((3, 1))).n_features == 1
    assert as_graph(graph, node_ids=list("abc")).node_ids.tolist() == ["a", "b", "c"]
    both = as_graph(graph, directed=False)
    assert not both.directed
    assert both.weights is None
    assert both.features is graph.features
    heavy = as_graph(PATH, edge_weights=[1.0, 2.0], directed=True)
    assert as_graph(heavy, directed=False).weights.tolist() == [1, 1, 2, 2]
    assert as_graph(as_graph(PATH), directed=True).directed is False
    with pytest.raises(ValueError, match="2 rows, but the graph has 3 nodes"):
        as_graph(graph, np.ones((2, 1)))


def test_names_of_cells_are_objects(adata):
    assert as_graph(adata).ids.dtype == object
    adata.obs_names = ["1", "2", "3"]
    assert as_graph(adata).node_ids.tolist() == ["1", "2", "3"]
    assert as_graph(adata, directed=True).directed


def test_more_nodes_than_memory_holds_are_refused():
    with pytest.raises(ValueError, match=r"a graph of 1000000000000 nodes needs at least 14,901\.2 GiB of memory"):
        as_graph(np.array([[0], [1]]), n_nodes=10**12)
