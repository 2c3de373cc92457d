"""The options of a graph's files, shared by the commands that read one."""

import inspect
import json
from dataclasses import fields

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp

from ccassg import read_embeddings
from ccassg.cli.convert import convert
from ccassg.cli.fit import embed, fit
from ccassg.cli.graph_files import GraphFiles

NAMES = [field.name for field in fields(GraphFiles)]


@pytest.mark.parametrize("command", [fit, convert])
def test_every_command_has_all_options_in_one_order(command):
    parameters = list(inspect.signature(command).parameters)
    assert "files" not in parameters
    assert [name for name in parameters if name in NAMES] == NAMES


def test_embed_takes_what_its_model_does_not_know():
    parameters = inspect.signature(embed).parameters
    assert next(iter(parameters)) == "model"
    assert set(NAMES) - set(parameters) == {"labels", "label_column", "feature_columns", "keep", "scale"}


FORMS = {
    "g.gexf": lambda path, graph, a, x, y: nx.write_gexf(graph, path),
    "g.gml": lambda path, graph, a, x, y: nx.write_gml(graph, path),
    "g.npz": lambda path, graph, a, x, y: np.savez(
        path, adj_data=a.data, adj_indices=a.indices, adj_indptr=a.indptr, adj_shape=a.shape, attr_matrix=x, labels=y
    ),
    "adj.npz": lambda path, graph, a, x, y: sp.save_npz(path, a),
    "g.h5ad": lambda path, graph, a, x, y: cells(a, x, y).write_h5ad(path),
    "karateclub": lambda path, graph, a, x, y: collection(path, graph, x, y),
    "edges.csv -f features.json": lambda path, graph, a, x, y: collection(path.parent, graph, x, y, "json"),
    "edges.csv -f features.csv": lambda path, graph, a, x, y: collection(path.parent, graph, x, y),
    "edges.csv -f x.mtx": lambda path, graph, a, x, y: collection(path.parent, graph, x, y),
    "edges.csv -f nodes.jsonl -f x.npy -f x.mtx": lambda path, graph, a, x, y: collection(path.parent, graph, x, y),
}


def collection(folder, graph, x, y, kind="csv"):
    """Write a graph as karateclub does, or with the features as MUSAE has them; and beside it in some more forms."""
    folder.mkdir(exist_ok=True)
    pd.DataFrame(list(graph.edges), columns=["id_1", "id_2"]).to_csv(folder / "edges.csv", index=False)
    rows, cols = x.nonzero()
    if kind == "csv":
        table = pd.DataFrame({"node_id": rows, "feature_id": cols, "value": x[rows, cols]})
        table.to_csv(folder / "features.csv", index=False)
    else:
        lists = {str(i): [int(j) for j in cols[rows == i]] for i in range(len(x))}
        (folder / "features.json").write_text(json.dumps(lists))
    pd.DataFrame({"id": range(len(y)), "target": y}).to_csv(folder / "target.csv", index=False)
    nodes = pd.DataFrame({"id": range(len(y)), "age": np.arange(len(y)) % 7, "label": y})
    nodes.to_json(folder / "nodes.jsonl", orient="records", lines=True)
    np.save(folder / "x.npy", x)
    scipy.io.mmwrite(folder / "x.mtx", sp.coo_array(x))


def cells(a, x, y):
    anndata = pytest.importorskip("anndata")
    obs = pd.DataFrame({"label": pd.Categorical(y.astype(str))}, index=[f"cell {i}" for i in range(len(y))])
    return anndata.AnnData(x, obs=obs, obsp={"connectivities": sp.csr_matrix(a)})


@pytest.mark.parametrize("command", FORMS)
def test_files_as_they_lie_about_with_nothing_named_but_they(program, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    graph = nx.karate_club_graph()
    y = np.array([int(graph.nodes[i]["club"] == "Officer") for i in graph])
    a = nx.to_scipy_sparse_array(graph, weight=None, dtype=np.float32, format="csr")
    x = (np.random.default_rng(0).random((34, 6)) < 0.3 + 0.4 * y[:, None]).astype(np.float32)
    FORMS[command](tmp_path / command.split()[0], graph, sp.csr_matrix(a), x, y)
    code, out, err = program("fit", *command.split(), "-o", "m")
    assert code == 0, err
    assert "Graph(nodes: 34, edges: 78 (undirected" in out
    assert np.isfinite(read_embeddings("m/embedding.parquet")[0]).all()
    code, out, err = program("embed", "m", *command.split(), "-o", "z.csv")
    assert code == 0, err
    assert np.allclose(read_embeddings("z.csv")[0], read_embeddings("m/embedding.parquet")[0], atol=1e-5)
    assert program("links", "m", "-k", "2")[0] == 0, "the run says where its files are"
