"""From files to embeddings, as a new user would: fit, embed, evaluate, similar, report."""

import json

import numpy as np
import pytest

from ccassg.io.embeddings import read_embeddings


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two communities of string ids, with features and labels, as CSV."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    group = np.arange(60) % 2
    edges = [(i, j) for i in range(60) for j in range(i) if rng.random() < (0.2 if group[i] == group[j] else 0.02)]
    (folder / "edges.csv").write_text("source,target\n" + "".join(f"n{i},n{j}\n" for i, j in edges))
    rows = [
        f"n{i},{x[0]:.4f},{x[1]:.4f},{x[2]:.4f},{'red' if group[i] else 'blue'}\n"
        for i in range(60)
        for x in [rng.normal(size=3) + group[i]]
    ]
    (folder / "nodes.csv").write_text("id,a,b,c,label\n" + "".join(rows))
    return folder


QUICK = ("--set", "n_steps=5", "--set", "hidden_dim=8", "--set", "embedding_dim=3")


@pytest.fixture(scope="module")
def model(files, tmp_path_factory):
    import sys

    from ccassg.cli import main

    folder = tmp_path_factory.mktemp("model") / "m"
    arguments = ["ccassg", "fit", files / "edges.csv", "--features", files / "nodes.csv", "-o", folder, *QUICK]
    before, sys.argv = sys.argv, [str(argument) for argument in arguments]
    try:
        with pytest.raises(SystemExit) as stop:
            main()
    finally:
        sys.argv = before
    assert not stop.value.code
    return folder


def test_fit_writes_the_users_ids_in_the_users_order(model):
    z, ids = read_embeddings(model / "embedding.parquet")
    assert ids.tolist() == [f"n{i}" for i in range(60)]
    assert z.shape == (60, 3)
    names = {path.name for path in model.iterdir()}
    assert names == {"model.safetensors", "config.json", "README.md", "embedding.parquet", "nodes.parquet", "run.json"}
    record = json.loads((model / "run.json").read_text())
    assert record["feature_names"] == ["a", "b", "c"]
    assert record["provenance"]["versions"]["torch"]


def test_embed_gives_the_same_rows(program, files, model, tmp_path):
    for name in ("z.parquet", "z.csv", "z.npy", "z.txt"):
        code, out, _ = program(
            "embed", model, files / "edges.csv", "--features", files / "nodes.csv", "-o", tmp_path / name
        )
        assert code == 0, out
        z, ids = read_embeddings(tmp_path / name)
        np.testing.assert_allclose(z, read_embeddings(model / "embedding.parquet")[0], rtol=1e-5)
        assert ids.tolist()[0] == "n0"


def test_embed_new_nodes(program, model, tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\nx,y\ny,z\n")
    (tmp_path / "nodes.csv").write_text("id,c,b,a\nx,0,1,0\ny,1,1,1\nz,0,0,0\n")  # columns in another order
    code, out, err = program(
        "embed", model, tmp_path / "edges.csv", "-f", tmp_path / "nodes.csv", "-o", tmp_path / "z.csv"
    )
    assert code == 0, (out, err)
    assert read_embeddings(tmp_path / "z.csv")[1].tolist() == ["x", "y", "z"]


def test_evaluate_with_and_without_labels(program, model, files, tmp_path):
    code, out, _ = program("evaluate", model, "--seeds", 2, "--json", tmp_path / "e.json")
    assert code == 0
    assert "linear probe" in out
    assert "NMI" in out
    result = json.loads((tmp_path / "e.json").read_text())
    assert len(result["probe"]["accuracies"]) == 2
    code, out, _ = program("evaluate", model / "embedding.parquet")
    assert code == 0
    assert "no labels were given" in out
    code, with_file, _ = program("evaluate", model / "embedding.parquet", "--labels", files / "nodes.csv", "--seeds", 2)
    assert code == 0
    assert "linear probe" in with_file


def test_similar(program, model):
    code, out, _ = program("similar", model, "n7", "-k", 3)
    assert code == 0
    assert len(out.strip().splitlines()) == 4
    assert "red" in out or "blue" in out
    code, _, err = program("similar", model, "nobody")
    assert code == 2
    assert "no node 'nobody'; ids look like n0, n1, n2" in err


def test_report(program, model, tmp_path):
    code, out, _ = program("report", model, "-o", tmp_path / "page.html", "--seeds", 1)
    assert code == 0, out
    text = (tmp_path / "page.html").read_text()
    assert "n59" in text
    assert text.lower().startswith("<!doctype html>")


def test_another_method(program, files, tmp_path):
    code, out, err = program(
        "fit", files / "edges.csv", "-f", files / "nodes.csv", "-o", tmp_path / "m", "--method", "propagated-features"
    )
    assert code == 0, (out, err)
    assert (
        program("embed", tmp_path / "m", files / "edges.csv", "-f", files / "nodes.csv", "-o", tmp_path / "z.csv")[0]
        == 0
    )
    code, _, err = program(
        "fit", files / "edges.csv", "-f", files / "nodes.csv", "-o", tmp_path / "m", "--method", "gcn"
    )
    assert code == 2
    assert "makes no embedding" in err


def test_without_features_says_so(program, files, tmp_path):
    code, out, _ = program("fit", files / "edges.csv", "-o", tmp_path / "m", *QUICK)
    assert code == 0
    assert "no features were given: made" in out


def test_tensorboard_log(program, files, tmp_path):
    pytest.importorskip("tensorboard")
    log = tmp_path / "log"
    code, _, err = program("fit", files, "-o", tmp_path / "m", "--tensorboard", log, *QUICK)
    assert code == 0, err
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(log))
    events.Reload()
    assert len(events.Scalars("loss")) == 5
    assert {"loss", "invariance", "decorrelation"} <= set(events.Tags()["scalars"])


def test_settings_are_listed_from_the_class(program):
    code, out, _ = program("settings")
    assert code == 0
    assert "decorrelation" in out
    assert "trade-off" in out


def test_version(program):
    code, out, _ = program("--version")
    assert code == 0
    assert out.startswith("ccassg ")
    assert "torch" in out


BAD = [
    (("fit", "nowhere.csv", "-o", "m"), "neither a file or folder here nor a dataset"),
    (("fit", "cora", "-o", "m", "--method", "magic"), "no method 'magic'"),
    (("fit", "cora", "-o", "m", "--set", "n_steps"), "NAME=VALUE"),
    (("fit", "cora", "-o", "m", "--set", "colour=red"), "colour"),
    (("fit", "cora", "-o", "m", "--set", "edge_drop_rate=1.5"), "edge_drop_rate must be in [0, 1), got 1.5"),
    (("fit", "cora", "-o", "m", "--preset", "corra"), "no preset"),
    (("fit", "cora"), "Missing option"),
    (("embed", "nothing", "cora", "-o", "z.csv"), "holds no model"),
    (("evaluate", "nothing.parquet"), "nothing.parquet"),
    (("report", "nothing"), "holds no run"),
    (("bench", "--datasets", "mars"), "no dataset 'mars'"),
    (("dance",), "No such command 'dance'"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_bad_input_is_one_sentence_and_exit_code_2(program, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, _, err = program(*arguments)
    assert code == 2
    assert message in " ".join(err.split())
    assert "Traceback" not in err


def test_pairs_and_text_in_settings():
    from ccassg.runs import parse_settings

    assert parse_settings(["a=1", "b=0.5", "c=0.1,0.2", "d=gcn", "e=true", "f=None"]) == {
        "a": 1, "b": 0.5, "c": (0.1, 0.2), "d": "gcn", "e": True, "f": None,
    }  # fmt: skip
