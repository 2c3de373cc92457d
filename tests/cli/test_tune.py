"""`ccassg tune`: a ranking, a result as JSON, and the command that fits what was found."""

import json
import shlex

import numpy as np
import pytest

from ccassg import tune


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Two communities with features and labels; training cut to a few steps."""
    monkeypatch.setattr(tune, "RUNGS", (2, 4))
    monkeypatch.setattr(tune.search, "__kwdefaults__", tune.search.__kwdefaults__ | {"rungs": (2, 4)})
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    group = np.arange(60) % 2
    edges = [(i, j) for i in range(60) for j in range(i) if rng.random() < (0.2 if group[i] == group[j] else 0.02)]
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"n{i},n{j}\n" for i, j in edges))
    rows = [
        ",".join([f"n{i}", *(f"{x:.4f}" for x in rng.normal(size=6) + group[i]), "ab"[group[i]]]) for i in range(60)
    ]
    (tmp_path / "nodes.csv").write_text("id,a,b,c,d,e,f,label\n" + "\n".join(rows) + "\n")
    return tmp_path


@pytest.mark.parametrize("labelled", [True, False])
def test_tune_ends_with_the_command_that_fits(files, program, labelled):
    without = [] if labelled else ["--without-labels"]
    code, out, errors = program(
        "tune", "edges.csv", "-f", "nodes.csv", "--candidates", 2, "-o", "search", "--json", "out.json", *without
    )
    assert code == 0, errors
    found = json.loads((files / "out.json").read_text())
    assert found["criterion"] == ("validation accuracy" if labelled else "off-diagonal correlation")
    assert found["settings"]["n_steps"] == 4
    line = next(line for line in out.splitlines() if line.startswith("next: "))
    arguments = shlex.split(line.removeprefix("next: "))[1:]
    assert program(*arguments)[0] == 0
    assert (files / "my-model" / "embedding.parquet").exists()


def test_a_search_on_scaled_features_is_another_search(files, program):
    options = ("edges.csv", "-f", "nodes.csv", "--candidates", 1, "--without-labels", "-o", "search")
    code, out, errors = program("tune", *options, "--scale")
    assert code == 0, errors
    assert "next: ccassg fit edges.csv --features nodes.csv --scale --set" in out
    code, _, errors = program("tune", *options)
    assert code == 2
    assert "belongs to another search" in errors


def test_too_few_labels_are_named(files, program):
    text = (files / "nodes.csv").read_text().splitlines()
    (files / "nodes.csv").write_text("\n".join([text[0], *text[1:21], *(row[:-1] for row in text[21:])]) + "\n")
    code, _, errors = program("tune", "edges.csv", "-f", "nodes.csv", "-o", "search")
    assert code == 2
    assert "--without-labels" in errors
