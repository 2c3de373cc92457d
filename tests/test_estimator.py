"""CCASSG as scikit-learn and its users expect it."""

import types

import anndata
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from ccassg import CCASSG, as_graph, read_graph
from ccassg.datasets import stochastic_block_graph
from ccassg.model.presets import PRESETS
from ccassg.systems import make

SMALL = {"encoder": "gcn", "n_steps": 3, "hidden_dim": 8, "embedding_dim": 4, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    return stochastic_block_graph(n_nodes=90, n_classes=3, mean_degree=6, homophily=0.9, n_features=12, seed=0)


@parametrize_with_checks([CCASSG()])
def test_scikit_learn_contract_on_plain_features(estimator, check):
    check(estimator)


def test_parameters_and_clone():
    model = CCASSG.preset("cora", random_state=3)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(decorrelation=0.5).decorrelation == 0.5
    for name in PRESETS:
        CCASSG.preset(name)
    with pytest.raises(ValueError, match="no preset 'corra'; there are cora, citeseer"):
        CCASSG.preset("corra")


def test_fit_attributes(data):
    model = CCASSG(**SMALL).fit(data.graph)
    assert {len(values) for values in model.history_.values()} == {3}
    assert model.n_parameters_ == 12 * 8 + 8 + 8 * 4 + 4
    assert model.settings_["encoder"] == "gcn"
    assert model.reasons_
    assert model.get_feature_names_out().tolist() == [f"ccassg{i}" for i in range(4)]
    assert model.transform(data.graph).dtype == np.float32


def test_paper_parameter_count_on_cora(dataset):
    assert CCASSG.preset("cora", n_steps=0).fit(dataset("cora").graph).n_parameters_ == 996_864  # paper: 997K


@pytest.mark.parametrize("given", [{"encoder": "gcn"} | SMALL, {"encoder": "mlp"} | SMALL, {"random_state": 0}])
def test_save_and_load_give_the_same_bits(data, tmp_path, given):
    model = CCASSG(**given).fit(data.graph)
    model.save(tmp_path / "model")
    again = CCASSG.load(tmp_path / "model")
    assert np.array_equal(again.transform(data.graph), model.transform(data.graph))
    assert again.get_params() == model.get_params()
    assert again.history_ == model.history_
    assert {p.name for p in (tmp_path / "model").iterdir()} == {"model.safetensors", "config.json", "README.md"}
    again.save(tmp_path / "again")
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == (
        tmp_path / "model" / "model.safetensors"
    ).read_bytes()


def test_new_nodes_and_twins(data):
    model = CCASSG(**SMALL).fit(data.graph)
    graph = data.graph
    # A twin of node 0: same features, same neighbours.
    adjacency = sp.lil_array((91, 91))
    adjacency[:90, :90] = graph.adjacency()
    adjacency[90, :90] = graph.adjacency()[[0]].todense()
    bigger = as_graph(sp.csr_array(adjacency), np.vstack([graph.features, graph.features[:1]]))
    z = model.transform(bigger)
    assert z.shape == (91, 4)
    np.testing.assert_allclose(z[90], z[0], rtol=1e-5)
    with pytest.raises(ValueError, match="X has 3 features, but CCASSG is expecting 12"):
        model.transform(graph.with_features(np.ones((90, 3))))


def test_pair_of_adjacency_and_features(data):
    model = CCASSG(**SMALL)
    pair = (data.graph.adjacency(), data.graph.features)
    np.testing.assert_array_equal(model.fit_transform(pair), model.fit_transform(data.graph))


def test_pipeline_on_plain_features():
    x = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    y = (x[:, 0] > 0).astype(int)
    pipeline = make_pipeline(CCASSG(**SMALL | {"encoder": "mlp"}), LogisticRegression())
    assert pipeline.fit(x, y).score(x, y) > 0.6


@pytest.mark.parametrize("given", [{}, {"encoder": "gcn", "n_steps": 1}])
def test_defaults_never_exceed_what_the_data_can_fill(given):
    rng = np.random.default_rng(0)
    for n, f in ((10, 50), (50, 3), (4, 1), (2000, 700)):
        graph = as_graph(np.array([[0], [1]]), rng.normal(size=(n, f)))
        model = CCASSG(random_state=0, **given).fit(graph)
        width = model.transform(graph).shape[1]
        assert width == model.settings_["embedding_dim"]
        most = min(f, max(1, n // 2))
        assert width == min(512, most) if given else width == 5 * min(128, most) + 4 * min(256, most)


def test_nothing_named_trains_nothing_and_a_setting_of_training_asks_for_an_encoder(data):
    model = CCASSG(random_state=0).fit(data)
    assert model.settings_["encoder"] == "canonical"
    assert model.n_parameters_ == 0
    assert model.history_ == {"loss": [], "invariance": [], "decorrelation": []}
    assert any(reason.startswith("weight of neighbours = 1") for reason in model.reasons_)
    # A value that is the default says nothing of training, and any other never changes the method.
    assert CCASSG(learning_rate=0.001).fit(data).settings_["encoder"] == "canonical"
    for given in ({"learning_rate": 0.003}, {"n_steps": 5}, {"second_view": "neighbour"}):
        with pytest.raises(ValueError, match=f"^{next(iter(given))} is of training.* name another encoder"):
            CCASSG(**given).fit(data)
    for width in (10, 20, 103):
        with pytest.raises(
            ValueError, match=f"embedding_dim must be at least 104.*got {width}; for a narrower one name"
        ):
            CCASSG(embedding_dim=width).fit(data)


def test_a_saved_model_whose_encoder_was_not_named_loads_all_the_same(data, tmp_path):
    """Before, a setting of training alone chose an encoder."""
    model = CCASSG(**SMALL).fit(data.graph)
    z = model.transform(data.graph)
    model.encoder = "auto"
    model.save(tmp_path / "model")
    again = CCASSG.load(tmp_path / "model")
    assert (again.encoder, again.n_steps) == ("auto", 3)
    assert np.array_equal(again.transform(data.graph), z)


def test_new_nodes_without_edges_are_embedded_by_their_own_features(data):
    model = CCASSG(random_state=0).fit(data.graph)
    alone = as_graph(sp.csr_array((90, 90)), data.graph.features)
    z, own = model.transform(data.graph), model.transform(alone)
    assert own.shape == z.shape
    n_own = 3 * 12  # the parts of no hop: own, principal and neighbour directions of twelve features
    np.testing.assert_allclose(own[:, :n_own], z[:, :n_own], atol=1e-5)


HARD = {
    "zero features": (np.zeros((20, 5)), 0.1),
    "constant rows": (np.ones((20, 5)), 0.1),
    "huge scale": (np.random.default_rng(0).normal(size=(20, 5)) * 1e18, 0.1),
    "tiny scale": (np.random.default_rng(0).normal(size=(20, 5)) * 1e-18, 0.1),
    "no edges": (np.random.default_rng(0).normal(size=(20, 5)), 0.0),
    "two nodes": (np.eye(2), 0.9),
    "wider than long": (np.random.default_rng(0).normal(size=(6, 40)), 0.3),
}


@pytest.mark.parametrize("case", HARD)
@pytest.mark.parametrize("encoder", ["gcn", "mlp"])
@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_hard_cases_are_finite(case, encoder, n_layers):
    x, density = HARD[case]
    n = len(x)
    adjacency = sp.random(n, n, density=density, random_state=0)
    model = CCASSG(encoder=encoder, n_layers=n_layers, hidden_dim=16, embedding_dim=8, n_steps=3, random_state=0)
    z = model.fit_transform(as_graph(adjacency, x))
    assert np.isfinite(z).all()
    assert np.isfinite(model.history_["loss"]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edge_drop_rate": 1.2}, r"edge_drop_rate must be in \[0, 1\), got 1.2"),
        ({"edge_drop_rate": 1.0}, "got 1.0"),
        ({"feature_mask_rate": -0.1}, "feature_mask_rate must be"),
        ({"feature_mask_rate": (0.1, 0.2, 0.3)}, "pair of rates"),
        ({"n_layers": 0}, "n_layers must be an integer, at least 1, got 0"),
        ({"hidden_dim": 2.5}, "hidden_dim"),
        ({"decorrelation": float("nan")}, "decorrelation must be a finite number"),
        ({"learning_rate": -1}, "learning_rate"),
        ({"encoder": "transformer"}, "encoder must be 'auto', 'canonical', 'gcn' or 'mlp', got 'transformer'"),
        ({"loss_nodes": 1}, "loss_nodes"),
        ({"second_view": "friend"}, "second_view must be 'node' or 'neighbour', got 'friend'"),
        ({"encoder": "gcn", "second_view": "neighbour"}, "goes with encoder='mlp'"),
        ({"embedding_dim": 0}, "embedding_dim must be an integer, at least 1, got 0"),
        ({"random_state": -3}, "random_state"),
        ({"device": "gpu"}, r"device 'gpu' cannot be used \(.*\); cpu always can"),
        ({"device": 3.5}, "device 3.5 cannot be used"),
    ],
)
def test_impossible_settings_are_named(data, change, message):
    with pytest.raises(ValueError, match=message):
        CCASSG(**(SMALL | change)).fit(data.graph)


@pytest.mark.parametrize("case", sorted(set(HARD) - {"zero features", "constant rows"}))
def test_hard_cases_of_the_default_are_finite(case):
    x, density = HARD[case]
    graph = as_graph(sp.random(len(x), len(x), density=density, random_state=0), x)
    z = CCASSG(random_state=0).fit_transform(graph)
    assert np.isfinite(z).all()
    if case in ("huge scale", "tiny scale"):
        scaled = graph.with_features(x / np.abs(x).max())
        again = CCASSG(random_state=0).fit_transform(scaled)
        np.testing.assert_allclose(again @ again.T, z @ z.T, atol=1e-3)


@pytest.mark.filterwarnings("ignore:removed", "ignore:merged")
@pytest.mark.parametrize("value", [0.0, 1.0, -3.0])
@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n_edges", [0, 80])
def test_features_that_are_the_same_for_all_nodes_are_refused(value, as_given, n_edges):
    edges = np.random.default_rng(0).integers(0, 34, (2, n_edges))
    with pytest.raises(
        ValueError, match=r"all nodes have the same features.*or none, to have them made from the edges"
    ):
        CCASSG().fit(as_graph(edges, as_given(np.full((34, 4), value))))


def test_two_nodes_that_only_their_edge_describes_are_refused():
    with pytest.raises(ValueError, match="all nodes have the same features"):
        CCASSG().fit(read_graph(np.array([[0], [1]])))


@pytest.mark.filterwarnings("ignore:removed", "ignore:merged")
@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array])
def test_one_node_that_differs_is_enough(as_given):
    features = np.zeros((34, 4))
    features[5, 2] = 2  # no edge of one half touches it, whatever its directions are
    graph = as_graph(np.random.default_rng(0).integers(0, 34, (2, 80)), as_given(features))
    z = CCASSG(random_state=0).fit_transform(graph)
    assert np.isfinite(z).all()
    assert not np.allclose(z[5], z[0])


def test_one_node_and_no_features_are_refused():
    with pytest.raises(ValueError, match="at least 2 nodes"):
        CCASSG().fit(as_graph(sp.csr_array((1, 1)), np.ones((1, 3))))
    with pytest.raises(ValueError, match="needs them"):
        CCASSG().fit(as_graph(np.array([[0], [1]])))


EDGES = np.random.default_rng(0).integers(0, 40, (100, 2))
ADJACENCY = as_graph(EDGES.T).adjacency()
MISTAKEN = {
    "edge list": (EDGES, r"X of shape \(100, 2\) looks like an edge list.*ccassg.read_graph\(X.T\)"),
    "edge list of text": (EDGES.astype(str), r"ccassg.read_graph\(X.T\)"),
    "edge list of objects": (EDGES.astype(str).astype(object), r"ccassg.read_graph\(X.T\)"),
    "list of pairs": (EDGES.tolist(), r"ccassg.read_graph\(numpy.transpose\(X\)\)"),
    "list of names": ([("a", "b"), ("b", "c"), ("c", "a")], r"ccassg.read_graph\(numpy.transpose\(X\)\)"),
    "edge index": (EDGES.T, r"X of shape \(2, 100\) looks like an edge list.*ccassg.read_graph\(X\)"),
    "edge index of torch": (torch.tensor(EDGES.T), r"ccassg.read_graph\(X\)"),
    "frame of two columns": (pd.DataFrame(EDGES, columns=["a", "b"]), r"ccassg.read_graph\(X\)"),
    "dense adjacency": (ADJACENCY.toarray(), r"ccassg.read_graph\(scipy.sparse.csr_array\(X\)\)"),
    "sparse adjacency": (ADJACENCY, r"ccassg.read_graph\(X\)"),
    "matrix adjacency": (sp.csr_matrix(ADJACENCY), r"ccassg.read_graph\(X\)"),
    "torch adjacency": (torch.tensor(ADJACENCY.toarray()).to_sparse(), r"ccassg.read_graph\(X\)"),
    "list of graphs": ([nx.path_graph(3)] * 2, "got a list of 2 graphs"),
    "frame of nodes": (
        pd.DataFrame({"id": ["a", "b"], "n": [1, 2], "m": [2, 1]}),
        r"beside its edges: fit\(edges, features=X\)",
    ),
    "dict": ({0: [1]}, r"X must be a matrix of features or what ccassg.read_graph takes, got {0: \[1\]}"),
    "unknown object": (types.SimpleNamespace(vs=[0], es=[(0, 1)]), "X must be a matrix of features or what"),
    "no such file": ("edges.csv", "neither a file or folder here nor a dataset's name"),
}


@pytest.mark.parametrize("case", MISTAKEN)
@pytest.mark.filterwarnings("ignore:Sparse")
def test_what_is_no_feature_matrix_is_refused_with_the_call_that_works(case, data):
    X, message = MISTAKEN[case]
    with pytest.raises((ValueError, TypeError), match=message):
        CCASSG(random_state=0).fit(X)
    with pytest.raises((ValueError, TypeError), match=message):
        CCASSG(**SMALL).fit(data).transform(X)


def test_the_calls_that_the_refusals_name_work():
    for right in (EDGES.T, EDGES.astype(str).T, np.transpose(EDGES.tolist()), torch.tensor(EDGES.T), ADJACENCY):
        data = read_graph(right)
        assert CCASSG(random_state=0).fit(data).n_features_in_ == 37
        assert data.graph.n_edges == ADJACENCY.nnz
    assert (
        CCASSG(random_state=0).fit(read_graph(EDGES.T, np.ones((40, 3)) * np.arange(40)[:, None])).n_features_in_ == 3
    )


def test_small_whole_numbers_are_features_and_an_edge_list_of_floats_is_told():
    switches = EDGES % 2
    CCASSG(random_state=0).fit(switches)
    CCASSG(random_state=0).fit(EDGES % 2 * 1.0)
    CCASSG(random_state=0).fit(np.hstack([EDGES, EDGES]))
    model = CCASSG(random_state=0)
    with pytest.warns(UserWarning, match=r"X of shape \(100, 2\) looks like an edge list"):
        model.fit(EDGES.astype(float))
    assert model.transform(EDGES).shape[0] == 100  # two features are what this model knows


def test_anndata_without_a_graph_is_refused_at_once():
    adata = anndata.AnnData(X=np.ones((700, 100), np.float32))
    with pytest.raises(ValueError, match=r"no 'connectivities' .*scanpy.pp.neighbors"):
        CCASSG().fit(adata)


def test_objects_are_read_as_files_are_with_notes_as_warnings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    edges = pd.DataFrame({"source": EDGES[:, 0], "target": EDGES[:, 1]})
    nodes = pd.DataFrame(
        {"id": range(40), "year": np.arange(40) + 1900.5, "share": np.arange(40) / 40, "label": ["x", "y"] * 20}
    )
    edges.to_csv("edges.csv", index=False)
    nodes.to_csv("nodes.csv", index=False)
    data = read_graph("edges.csv", "nodes.csv")
    wanted = CCASSG(random_state=0).fit(data).transform(data)
    g = nx.Graph()
    g.add_nodes_from((row["id"], row) for row in nodes.to_dict("records"))
    g.add_edges_from(EDGES.tolist())
    forms = [
        ("edges.csv", "nodes.csv"),
        (tmp_path / "edges.csv", nodes),
        (edges, nodes),
        (pl.from_pandas(edges), pl.from_pandas(nodes)),
        (g, None),
        (tmp_path, None),
    ]
    for X, features in forms:
        with pytest.warns(UserWarning, match="were brought to mean 0 and deviation 1"):
            z = CCASSG(random_state=0).fit_transform(X, features=features)
        np.testing.assert_allclose(z, wanted, atol=1e-5)
    assert "labels in 'label'" in data.notes[0]
    model = CCASSG(random_state=0).fit((edges, nodes))
    assert model.feature_names_in_.tolist() == ["year", "share"]
    with pytest.warns(UserWarning, match="repeated edges"):  # new nodes come to the scale of training
        again = model.transform(edges, features=nodes[["share", "year", "id"]])
    np.testing.assert_allclose(again, wanted, atol=1e-5)


@pytest.mark.parametrize(
    "features",
    [np.ones((34, 3)), sp.eye_array(34), pd.DataFrame({"x": range(34)}), pl.DataFrame({"x": range(34)}), [[1.0]] * 34, "nodes.csv"],
)  # fmt: skip
def test_features_in_the_place_of_labels_are_refused_beside_a_graph(features):
    karate = nx.karate_club_graph()
    for graph in (karate, as_graph(karate), "cora"):
        for call in (CCASSG().fit, CCASSG().fit_transform):
            with pytest.raises(ValueError, match=r"features go in by name: fit\(g, features=X\)"):
                call(graph, features)


def test_labels_are_ignored_beside_a_graph_and_beside_features():
    data, many = as_graph(EDGES.T, np.random.default_rng(0).normal(size=(40, 3))), np.ones((40, 2))
    wanted = CCASSG(random_state=0).fit_transform(data)
    for y in (np.ones(40), ["a"] * 40, [1] * 40, pd.Series([1] * 40)):
        np.testing.assert_array_equal(CCASSG(random_state=0).fit_transform(data, y), wanted)
    CCASSG(random_state=0).fit(data.features, many)  # of several outputs


def test_graphs_without_features_get_structural_ones_with_a_warning():
    edges = pd.DataFrame({"source": EDGES[:, 0], "target": EDGES[:, 1]})
    for X in (nx.Graph(EDGES.tolist()), edges, pl.from_pandas(edges)):
        model = CCASSG(random_state=0)
        with pytest.warns(UserWarning, match="no features were given"):
            z = model.fit_transform(X)
        assert model.feature_names_in_[0] == "degree"
        assert len(z) == len(np.unique(EDGES))  # the nodes that edges name


def test_warnings_point_at_the_line_of_the_user():
    edges = pd.DataFrame({"source": EDGES[:, 0], "target": EDGES[:, 1]})
    model = CCASSG(random_state=0)
    for call in (model.fit, model.transform, model.fit_transform):
        with pytest.warns(UserWarning, match="repeated edges") as told:
            call(edges)
        assert {warning.filename for warning in told} == {__file__}
    with pytest.warns(UserWarning, match="looks like an edge list") as told:
        model.fit(EDGES.astype(float))
    assert told[0].filename == __file__


def test_other_systems_take_the_same(tmp_path):
    with pytest.warns(UserWarning, match="no features were given"):
        assert make("raw-features").fit_transform(nx.path_graph(9)).shape == (9, 37)
    with pytest.warns(UserWarning, match="took its first two columns"):
        assert make("raw-features").fit_transform((pd.DataFrame({"a": [0], "b": [1]}), np.eye(2))).shape == (2, 2)


def test_pyg_data_is_scaled_as_files_are():
    data_module = pytest.importorskip("torch_geometric.data")
    x = torch.tensor(np.random.default_rng(0).normal(size=(40, 3)) * [1, 1, 1000])
    data = data_module.Data(x=x, edge_index=torch.tensor(EDGES.T))
    with pytest.warns(UserWarning, match="were brought to mean 0"):
        model = CCASSG(random_state=0).fit(data)
    assert model.scaling_ is not None
    with pytest.warns(UserWarning, match="repeated edges"):
        assert model.transform(data).shape[0] == 40


@pytest.mark.parametrize(
    "given", [{}, {"encoder": "gcn", "n_steps": 40}, {"encoder": "mlp", "second_view": "neighbour"}]
)
def test_embeddings_separate_planted_classes(data, given):
    model = CCASSG(random_state=0, **given)
    z = model.fit_transform(data.graph)
    split = data.split(0)
    score = (
        LogisticRegression(max_iter=2000)
        .fit(z[split.train], data.y[split.train])
        .score(z[split.test], data.y[split.test])
    )
    assert score > 0.8


def test_training_leaves_the_global_generator_alone(data):
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    before = (torch.get_rng_state(), np.random.get_state()[1].copy())  # noqa: NPY002
    CCASSG(**SMALL).fit(data.graph)
    assert torch.equal(before[0], torch.get_rng_state())
    assert np.array_equal(before[1], np.random.get_state()[1])  # noqa: NPY002
