"""Packages that are not installed: one sentence with the command that installs them, before anything is read."""

import sys

import numpy as np
import pytest

from ccassg import optional, systems, write_embeddings
from ccassg.graph import partition
from ccassg.systems import METHODS


@pytest.mark.parametrize(
    ("package", "command", "extra"),
    [
        ("gensim", "fit no.csv -o m --method deepwalk", "baselines"),
        ("gensim", "fit no.csv -o m --method deepwalk-features", "baselines"),
        ("torch_geometric", "fit no.csv -o m --method dgi", "pyg"),
        ("torch_geometric", "fit no.csv -o m --method gae", "pyg"),
        ("torch_geometric", "reproduce citation --methods gat --results r --data-dir no", "pyg"),
        ("anndata", "embed no no.csv -o z.h5ad", "anndata"),
        ("matplotlib", "bench --docs no.md", "plot"),
    ],
)
def test_it_is_asked_for_before_anything_is_read(program, monkeypatch, tmp_path, package, command, extra):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "no.csv").touch()
    monkeypatch.setitem(sys.modules, package, None)
    code, out, err = program(*command.split())
    assert code == 2
    assert f"needs {package}; in the project's folder: pip install '.[{extra}]'" in " ".join(err.split())
    assert "no.csv" not in out + err


def test_what_is_missing_is_listed_without_any_package(program, monkeypatch, tmp_path):
    for package in optional.EXTRAS:
        monkeypatch.setitem(sys.modules, package, None)
    code, out, err = program("reproduce", "--list", "--results", tmp_path)
    assert code == 0, err
    assert out.splitlines()[-1].startswith("all ")


def test_systems_that_need_a_package_are_not_fitted_without_it(monkeypatch, graph):
    for package in optional.EXTRAS:
        monkeypatch.setitem(sys.modules, package, None)
    refused = set()
    for name in METHODS:
        try:
            systems.make(name).fit(graph, *([[0, 1, 0, 1]] if METHODS[name].kind == "classifier" else []))
        except ImportError:
            refused.add(name)
    assert refused == {
        "deepwalk", "deepwalk-features", "gae", "dgi", "label-propagation", "gcn", "gat", "chebnet",
    }  # fmt: skip


def test_python_is_answered_alike(monkeypatch, tmp_path, graph):
    cls = systems.get_class("deepwalk")
    model = cls(random_state=0, embedding_dim=2, n_walks=1, walk_length=3).fit(graph)
    model.save(tmp_path / "m")
    for package in optional.EXTRAS:
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r"DeepWalk needs gensim; .*'\.\[baselines\]'"):
        cls().fit("no.csv")
    assert cls.load(tmp_path / "m").transform(graph).shape == (4, 2), "only training needs it"
    with pytest.raises(ImportError, match=r"'\.\[scale\]'"):
        partition.partition(graph, 2, method="metis")
    with pytest.raises(ImportError, match=r"z.h5ad: .h5ad needs anndata; .*'\.\[anndata\]'"):
        write_embeddings(tmp_path / "z.h5ad", np.eye(3))


@pytest.fixture
def graph():
    from ccassg import as_graph

    return as_graph(np.array([[0, 1, 2], [1, 2, 3]]), np.eye(4, dtype=np.float32))
