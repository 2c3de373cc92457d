"""From files to embeddings, as a new user would: fit and embed."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ccassg import CCASSG
from ccassg.io.embeddings import read_embeddings
from ccassg.io.graphs import read_graph
from ccassg.io.store import open_store

QUICK = ("--set", "encoder=gcn", "--set", "n_steps=5", "--set", "hidden_dim=8", "--set", "embedding_dim=3")


def test_fit_writes_the_users_ids_in_the_users_order(model):
    z, ids = read_embeddings(model / "embedding.parquet")
    assert ids.tolist() == [f"n{i}" for i in range(60)]
    assert z.shape == (60, 3)
    names = {path.name for path in model.iterdir()} - {"scores.json"}  # of ccassg evaluate
    assert names == {"model.safetensors", "config.json", "README.md", "embedding.parquet", "nodes.parquet", "run.json"}
    assert json.loads((model / "config.json").read_text())["features"]["names"] == ["a", "b", "c"]
    record = json.loads((model / "run.json").read_text())
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


@pytest.mark.parametrize("encoder", ["gcn", "canonical"])
def test_a_store_is_embedded_in_blocks(program, files, tmp_path, monkeypatch, encoder):
    from ccassg import CCASSG, estimator
    from ccassg.io.store import open_store

    blockwise = []
    whole = estimator.embed_blocks
    monkeypatch.setattr(estimator, "embed_blocks", lambda *given: blockwise.append(1) or whole(*given, block=7))
    code, _, err = program(
        "convert", files / "edges.csv", "--features", files / "nodes.csv", "-o", tmp_path / "s", "--parts", 2
    )
    assert code == 0, err
    settings = ("-s", f"encoder={encoder}", *(("-s", "embedding_dim=9", "-s", "n_steps=3") if encoder == "gcn" else ()))
    code, out, err = program("fit", tmp_path / "s", "-o", tmp_path / "m", *settings)
    assert code == 0, (out, err)
    graph, model = open_store(tmp_path / "s").graph, CCASSG.load(tmp_path / "m")
    expected = model.transform(graph)
    for name in ("z.parquet", "z.csv", "z.npy", "z.txt", "z.h5ad"):
        code, _, err = program("embed", tmp_path / "m", tmp_path / "s", "-o", tmp_path / name)
        assert code == 0, err
    assert len(blockwise) == 6
    for path in (tmp_path / "m" / "embedding.parquet", *tmp_path.glob("z.*[!n]")):
        z, ids = read_embeddings(path)
        np.testing.assert_allclose(z, expected, rtol=1e-4, atol=1e-5)
        assert ids.tolist() == graph.ids.tolist()
        assert len(set(ids.tolist())) == 60
    assert not [*tmp_path.glob(".ccassg*"), *(tmp_path / "m").glob(".ccassg*")]


@pytest.fixture
def stored(program, files, tmp_path):
    code, _, err = program("convert", files / "edges.csv", "--features", files / "nodes.csv", "-o", tmp_path / "s")
    assert code == 0, err
    return tmp_path / "s"


def test_options_that_a_store_cannot_heed_are_refused(program, stored, files, tmp_path):
    for option in (
        ("--labels", files / "nodes.csv"),
        ("--directed",),
        ("--scale",),
        ("--no-scale",),
        ("--source", "a"),
        ("-f", files / "nodes.csv"),
    ):
        code, _, err = program("fit", stored, "-o", tmp_path / "m", *option)
        assert code == 2
        name = {"-f": "--features", "--no-scale": "--scale"}.get(option[0], option[0])
        assert f"leave {name} out here" in err
    assert not (tmp_path / "m").exists()


def test_a_store_of_other_features_is_refused(program, stored, model, tmp_path):
    assert program("embed", model, stored, "-o", tmp_path / "z.parquet")[0] == 0
    (tmp_path / "edges.csv").write_text("source,target\nx,y\ny,z\n")
    for head, how in (("id,c,b,a", "column 1 is 'c', not 'a'"), ("id,a,b,c,d", "4 instead of 3")):
        rows = "".join(f"{name}{',0.5' * head.count(',')}\n" for name in "xyz")
        (tmp_path / "nodes.csv").write_text(f"{head}\n{rows}")
        files = (tmp_path / "edges.csv", "-f", tmp_path / "nodes.csv")
        assert program("convert", *files, "-o", tmp_path / "other", "--overwrite")[0] == 0
        code, _, err = program("embed", model, tmp_path / "other", "-o", tmp_path / "z.parquet")
        assert code == 2
        assert f"are not those of the model: {how}" in err


def test_a_large_store_is_read_against_its_hashes(program, stored, model, tmp_path, monkeypatch):
    from ccassg.io import store

    monkeypatch.setattr(store, "ALWAYS_VERIFY", 0)
    indices = np.load(stored / "indices.npy", mmap_mode="r+")
    indices[5] = 2_000_000_000
    indices.flush()
    for command in (("fit", stored, "-o", tmp_path / "m"), ("embed", model, stored, "-o", tmp_path / "z.csv")):
        code, _, err = program(*command)
        assert code == 2
        assert "indices.npy was altered: its hash differs" in err
    (stored / "manifest.json").unlink()
    code, _, err = program("fit", stored, "-o", tmp_path / "m")
    assert code == 2
    assert "there is no manifest.json in it" in err


def test_a_store_remembers_that_its_features_were_made_from_the_edges(program, files, tmp_path):
    assert program("convert", files / "edges.csv", "-o", tmp_path / "s")[0] == 0
    assert program("fit", tmp_path / "s", "-o", tmp_path / "m", *QUICK)[0] == 0
    assert CCASSG.load(tmp_path / "m").features_.structural


def test_another_method_embeds_a_store_at_once(program, files, tmp_path):
    program("convert", files / "edges.csv", "--features", files / "nodes.csv", "-o", tmp_path / "s")
    code, out, err = program("fit", tmp_path / "s", "-o", tmp_path / "m", "--method", "raw-features")
    assert code == 0, (out, err)
    assert read_embeddings(tmp_path / "m" / "embedding.parquet")[0].shape == (60, 3)


def test_embed_new_nodes(program, model, tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\nx,y\ny,z\n")
    (tmp_path / "nodes.csv").write_text("id,c,b,a\nx,0,1,0\ny,1,1,1\nz,0,0,0\n")  # columns in another order
    code, out, err = program(
        "embed", model, tmp_path / "edges.csv", "-f", tmp_path / "nodes.csv", "-o", tmp_path / "z.csv"
    )
    assert code == 0, (out, err)
    assert read_embeddings(tmp_path / "z.csv")[1].tolist() == ["x", "y", "z"]


@pytest.fixture
def uneven(tmp_path, files):
    """The same graph with a year, a category and a share: --features and the options that fit it."""
    rows = [row.split(",") for row in (files / "nodes.csv").read_text().split()[1:]]
    text = "".join(f"{id},{2000 + 10 * float(a):.0f},{b},{kind}\n" for id, a, b, _, kind in rows)
    (tmp_path / "uneven.csv").write_text("id,year,share,kind\n" + text)
    return files / "edges.csv", "-f", tmp_path / "uneven.csv"


def test_columns_of_very_different_size_are_scaled_unless_told_otherwise(program, uneven, files, tmp_path):
    for options, said in (
        ((), "('year', 'kind'): those of numbers were brought to mean 0 and deviation 1; --no-scale keeps them as"),
        (("--no-scale",), "will rule the embedding unless you bring them to one scale (--scale)"),
        (("--scale",), "('year', 'kind'): those of numbers were brought to mean 0"),
    ):
        folder = tmp_path / "-".join(("m", *options))
        code, out, err = program("fit", *uneven, *options, "-o", folder, *QUICK)
        assert code == 0, err
        assert "learns from 4 features: 'year', 'share', 'kind' (2 values); ids in 'id'; what you want to" in out
        assert said in " ".join(out.split())
        scaling = CCASSG.load(folder).scaling_
        assert scaling == read_graph(uneven[0], uneven[2], scale="--no-scale" not in options).scaling
    for a, b, are_equal in (("m", "m---scale", True), ("m", "m---no-scale", False)):
        z, other = (read_embeddings(tmp_path / name / "embedding.parquet")[0] for name in (a, b))
        assert (z == other).all() == are_equal
    # Sizes alike: nothing is done, nothing is said.
    code, out, _ = program("fit", files / "edges.csv", "-f", files / "nodes.csv", "-o", tmp_path / "even", *QUICK)
    assert code == 0
    assert "size" not in out
    assert CCASSG.load(tmp_path / "even").scaling_ is None


@pytest.mark.parametrize("option", ["--scale", None])
@pytest.mark.parametrize("through", ["table", "npy"])
def test_scaled_features_are_scaled_alike_for_new_nodes(program, uneven, tmp_path, through, option):
    known = read_graph(uneven[0], uneven[2], scale=True)
    if through == "npy":
        np.save(tmp_path / "x.npy", read_graph(uneven[0], uneven[2], scale=False).graph.features)
        (tmp_path / "ids.txt").write_text("".join(f"{name}\n" for name in known.graph.node_ids))
        uneven = (uneven[0], "-f", tmp_path / "x.npy", "--ids", tmp_path / "ids.txt")
    code, out, err = program("fit", *uneven, *([option] if option else []), "-o", tmp_path / "m", *QUICK)
    assert code == 0, err
    assert "one scale" not in out
    assert "brought to mean 0" in out
    if through == "table":
        assert CCASSG.load(tmp_path / "m").scaling_ == known.scaling
        assert known.scaling.deviations[2:] == (1, 1)  # a category
    assert program("embed", tmp_path / "m", *uneven, "-o", tmp_path / "z.parquet")[0] == 0
    z = read_embeddings(tmp_path / "z.parquet")[0]
    assert (z == read_embeddings(tmp_path / "m" / "embedding.parquet")[0]).all()
    # Two nodes alone, far from those of training: by their own numbers they would be others.
    raw = np.array([[2030, 1, 0, 1], [2040, 2, 1, 0]], np.float32)
    if through == "npy":
        (tmp_path / "e.csv").write_text("source,target\n0,1\n")
        np.save(tmp_path / "n.npy", raw)
        new = (tmp_path / "e.csv", "-f", tmp_path / "n.npy")
    else:
        (tmp_path / "e.csv").write_text("source,target\nx,y\n")
        (tmp_path / "n.csv").write_text("id,share,kind,year\nx,1,red,2030\ny,2,blue,2040\n")
        new = (tmp_path / "e.csv", "-f", tmp_path / "n.csv")
    code, out, err = program("embed", tmp_path / "m", *new, "-o", tmp_path / "new.parquet")
    assert code == 0, err
    assert "size" not in out
    model = CCASSG.load(tmp_path / "m")
    means, deviations = np.array(model.scaling_)
    scaled = read_graph(new[0], new[2]).graph.with_features((raw - means) / deviations)
    assert (read_embeddings(tmp_path / "new.parquet")[0] == model.transform(scaled)).all()


def test_a_scaled_store_and_its_model(program, uneven, files, tmp_path):
    assert program("convert", *uneven, "--scale", "-o", tmp_path / "s")[0] == 0
    assert program("convert", *uneven, "--no-scale", "-o", tmp_path / "raw")[0] == 0
    assert program("fit", tmp_path / "s", "-o", tmp_path / "m", *QUICK)[0] == 0
    z = read_embeddings(tmp_path / "m" / "embedding.parquet")[0]
    for graph in ((tmp_path / "s",), uneven):
        code, _, err = program("embed", tmp_path / "m", *graph, "-o", tmp_path / "z.parquet")
        assert code == 0, err
        np.testing.assert_allclose(read_embeddings(tmp_path / "z.parquet")[0], z, rtol=1e-4, atol=1e-5)
    assert program("fit", tmp_path / "raw", "-o", tmp_path / "unscaled", *QUICK)[0] == 0
    for model, store in (("m", "raw"), ("unscaled", "s")):
        code, _, err = program("embed", tmp_path / model, tmp_path / store, "-o", tmp_path / "z.parquet")
        assert code == 2
        assert "are not scaled as those of the model; embed the files it was made from" in err


def test_a_forged_scaling_is_refused(program, uneven, tmp_path):
    assert program("fit", *uneven, "--scale", "-o", tmp_path / "m", *QUICK)[0] == 0
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    for means, sentence in (
        ([0, 0, 0, float("nan")], "config.json is not a model's config (ValueError: scaling must hold finite numbers"),
        ([0], "(ValueError: scaling must hold 4 means, one per feature, got 1)"),
        ([1e308] * 4, "must be finite 32-bit numbers"),
    ):
        config["features"]["scaling"]["means"] = means
        (tmp_path / "m" / "config.json").write_text(json.dumps(config))
        code, _, err = program("embed", tmp_path / "m", *uneven, "-o", tmp_path / "z.parquet")
        assert code == 2
        assert sentence in err
        assert "Traceback" not in err
    assert not (tmp_path / "z.parquet").exists()


HEAD, ROWS = "id,year,share,kind", ("x,2030,1,red", "y,2040,2,blue", "z,1990,0,red")
TABLES = {
    "the same columns": (HEAD, ROWS, None),
    "another order": ("id,kind,share,year", ("x,red,1,2030", "y,blue,2,2040", "z,red,0,1990"), None),
    "a column more": (HEAD + ",size", [row + ",7" for row in ROWS], None),
    "a category less": (HEAD, ("x,2030,1,red", "y,2040,2,red", "z,1990,0,red"), None),
    "a category more": (HEAD, ("x,2030,1,red", "y,2040,2,green", "z,1990,0,blue"), None),
    "a column less": ("id,year,share", ("x,2030,1", "y,2040,2", "z,1990,0"), "lacks 2 of the 4 features used in training, first 'kind=blue', 'kind=red'; give the new nodes the same columns"),
    "other columns": ("id,a,b", ("x,1,2", "y,1,2", "z,3,4"), "lacks 4 of the 4 features used in training, first 'year', 'share', 'kind=blue' and 1 more; give"),
    "no features": (None, (), "the graph has no features, but the model was trained with 4; give those of its nodes"),
}  # fmt: skip


@pytest.mark.parametrize("scale", [None, False, True])
@pytest.mark.parametrize("method", ["cca-ssg", "propagated-features"])
def test_python_and_the_program_treat_new_files_alike(program, uneven, tmp_path, scale, method):
    from ccassg import read_graph, systems

    options = QUICK if method == "cca-ssg" else ("--method", method)
    options += {None: (), False: ("--no-scale",), True: ("--scale",)}[scale]
    code, _, err = program("fit", *uneven, "-o", tmp_path / "m", *options)
    assert code == 0, err
    trained = read_graph(uneven[0], uneven[2], scale=scale)
    given = {"encoder": "gcn", "n_steps": 5, "hidden_dim": 8, "embedding_dim": 3} if method == "cca-ssg" else {}
    fitted = systems.make(method, random_state=0, **given).fit(trained)
    assert fitted.feature_names_in_.tolist() == ["year", "share", "kind=blue", "kind=red"]
    assert fitted.scaling_ == trained.scaling
    models = (fitted, systems.load(tmp_path / "m"))
    edges, nodes = tmp_path / "e.csv", tmp_path / "n.csv"
    edges.write_text("source,target\nx,y\ny,z\n")
    for head, rows, refusal in TABLES.values():
        nodes.write_text("" if head is None else "\n".join([head, *rows]) + "\n")
        files = [edges] if head is None else [edges, nodes]
        options = [] if head is None else ["-f", nodes]
        code, _, err = program("embed", tmp_path / "m", edges, *options, "-o", tmp_path / "z.npy")
        new = read_graph(*files)
        if refusal is None:
            assert code == 0, err
            z = read_embeddings(tmp_path / "z.npy")[0]
            for model in models:
                assert new.scaling is not None
                np.testing.assert_allclose(model.transform(new), z, rtol=1e-3, atol=1e-3)  # undone, up to rounding
                for options in ({"like": model.feature_names_in_}, {"scale": False}):
                    assert (model.transform(read_graph(*files, **options)) == z).all()
            continue
        assert code == 2
        assert refusal in err.replace(type(fitted).__name__, "the model")
        for model in models:
            with pytest.raises(ValueError, match="features") as caught:
                model.transform(new)
            assert refusal in str(caught.value).replace(type(fitted).__name__, "the model")
    for model in models:
        other = read_graph(uneven[0], uneven[2], scale=True)
        other = dataclasses.replace(other, scaling=other.scaling._replace(means=(0.0, 0.0, 0.5, 0.5)))
        with pytest.raises(ValueError, match="are not scaled as those of the model; embed the files it was made from"):
            model.transform(other)


def test_features_made_from_another_graph_are_refused(program, files, tmp_path):
    assert program("fit", files / "edges.csv", "-o", tmp_path / "m", *QUICK)[0] == 0
    model = CCASSG.load(tmp_path / "m")
    (tmp_path / "again.csv").write_text((files / "edges.csv").read_text())
    (tmp_path / "other.csv").write_text((files / "edges.csv").read_text() + "n0,n59\nn0,n58\nn0,n57\n")
    assert program("embed", tmp_path / "m", tmp_path / "again.csv", "-o", tmp_path / "z.npy")[0] == 0
    assert (model.transform(read_graph(tmp_path / "again.csv")) == read_embeddings(tmp_path / "z.npy")[0]).all()
    code, _, err = program("embed", tmp_path / "m", tmp_path / "other.csv", "-o", tmp_path / "other.npy")
    assert (code, (tmp_path / "other.npy").exists()) == (2, False)
    sentence = "was trained on features made from another graph's edges, whose eigenvectors do not carry over"
    assert sentence in " ".join(err.split())
    with pytest.raises(ValueError, match=sentence):
        model.transform(read_graph(tmp_path / "other.csv"))


def test_a_finished_run_is_replaced_with_a_word(program, files, tmp_path):
    arguments = ("fit", files / "edges.csv", "--features", files / "nodes.csv", "-o", tmp_path / "m")
    assert "will be replaced" not in program(*arguments)[1]
    code, out, _ = program(*arguments)
    assert (code, f"note: the run in {tmp_path / 'm'} will be replaced" in " ".join(out.split())) == (0, True)


def test_the_default_warns_of_no_width_of_its_own(program, tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"{i},{(i + 1) % 30}\n" for i in range(30)))
    code, out, _ = program("fit", tmp_path / "edges.csv", "-o", tmp_path / "m")
    assert (code, "use a smaller width" in out) == (0, False)


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


def test_settings_are_listed_from_the_class(program):
    code, out, _ = program("settings")
    assert code == 0
    assert "decorrelation" in out
    assert "trade-off" in out
    said = " ".join(out.split())
    assert "loss_nodes 'auto' 2 or more or None" in said
    assert "Automatic: 50." in said
    assert "augmentations" not in said
    embedders, classifiers = out.splitlines()[-2:]
    assert "grace" in embedders
    assert classifiers == "classifiers, in Python only: mlp, label-propagation, gcn, gat, chebnet"


def test_version(program):
    code, out, _ = program("--version")
    assert code == 0
    assert out.startswith("ccassg ")
    assert {"python", "torch", "numpy", "pyarrow"} < {line.split()[0] for line in out.splitlines()}


BAD = [
    (("fit", "nowhere.csv", "-o", "m"), "neither a file or folder here nor a dataset"),
    (("fit", "cora", "-o", "m", "--method", "magic"), "no method 'magic'"),
    (("fit", "cora", "-o", "m", "--set", "n_steps"), "NAME=VALUE"),
    (("fit", "cora", "-o", "m", "--set", "n_step=10"), "cca-ssg has no parameter 'n_step'; did you mean 'n_steps'?"),
    (("fit", "kora", "-o", "m"), "did you mean 'cora'?"),
    (("fit", "cora", "-o", "m", "--set", "edge_drop_rate=1.5"), "edge_drop_rate must be in [0, 1), got 1.5"),
    (("fit", "cora", "-o", "m", "--preset", "corra"), "no preset"),
    (("fit", "cora"), "Missing option"),
    (("embed", "nothing", "cora", "-o", "z.csv"), "holds no model"),
    (("fit", "cora", "-o", "m", "--device", "gpu"), "device 'gpu' cannot be used"),
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


EDGES = "source,target\na,b\nb,c\nc,a\n"
TABLE = "id,age,size\na,1,2\nb,2,3\nc,4,5\n"
BAD_FILES = {
    "an unknown id": (EDGES + "c,zoe\n", TABLE, (), "nodes.csv lacks 1 of the 4 nodes that edges.csv names (first 'zoe'), as in line 5; add their rows"),
    "features for half": (EDGES, "id,age\na,1\n", (), "nodes.csv lacks 2 of the 3 nodes that edges.csv names (first 'b', 'c'), as in line 2"),
    "no common id": (EDGES, "id,age\nx,1\ny,2\n", (), "check --id-column, --source and --target"),
    "a missing column": (EDGES, TABLE, ("--source", "from", "--target", "to"), "no column 'from' for the sources of the edges; it has 'source', 'target' (--source names the column)"),
    "a missing label": (EDGES, TABLE, ("--label-column", "topic"), "(--label-column names the column)"),
    "a missing feature": (EDGES, TABLE, ("--feature-columns", "age,width"), "no column 'width' for the features"),
    "a ragged row": ("source,target\na,b\nb,c,d\n", TABLE, (), "edges.csv, line 3: 3 columns where the first line has 2"),
    "mixed types": (EDGES, TABLE.replace("b,2", "b,two"), (), "column 'age', line 3: 'two' among numbers; mend the value or leave the column out (--feature-columns lists the columns to use)"),
    "not a number": (EDGES, TABLE.replace("b,2", "b,nan"), ("--no-scale",), "column 'age', line 3: no value (empty or NaN), and the mean stands for it only in scaled columns; fill or drop such rows, or leave --scale out"),
    "an id kept": (EDGES, TABLE, ("--keep", "age,id"), "column 'id' holds the ids or labels and cannot be a feature as well (--keep)"),
    "no column to keep": (EDGES, TABLE, ("--keep", "born"), "no column 'born' for the features"),
    "an empty file": ("", TABLE, (), "edges.csv is empty (0 bytes)"),
    "a header only": ("source,target\n", TABLE, (), "edges.csv has column names but no rows"),
    "a bad weight": (EDGES.replace("\n", ",x\n").replace("target,x", "target,weight"), TABLE, (), "column 'weight', line 2: 'x'"),
    "another encoding": ("source,target\né,b\n".encode("latin-1"), TABLE, (), "line 2: not utf-8 text; save the file as UTF-8, or name its encoding (for example --encoding latin-1)"),
    "no such encoding": (EDGES, TABLE, ("--encoding", "martian"), "martian"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_is_one_sentence_in_the_terms_of_the_program(program, tmp_path, monkeypatch, case):
    edges, nodes, options, message = BAD_FILES[case]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.csv").write_bytes(edges if isinstance(edges, bytes) else edges.encode())
    (tmp_path / "nodes.csv").write_text(nodes)
    code, _, err = program("fit", "edges.csv", "--features", "nodes.csv", "-o", "m", *QUICK, *options)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
    assert not (tmp_path / "m").exists()


def test_columns_and_encoding_by_option(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.csv").write_bytes("source,target\né,b\nb,c\n".encode("latin-1"))
    (tmp_path / "nodes.csv").write_bytes("id,age,size,bio\né,1,2,x\nb,2,3,y\nc,4,5,z\n".encode("latin-1"))
    files = ("edges.csv", "--features", "nodes.csv", "--encoding", "latin-1")
    assert program("fit", *files, "-o", "m", *QUICK, "--feature-columns", "age, size")[0] == 0
    assert CCASSG.load(tmp_path / "m").feature_names_in_.tolist() == ["age", "size"]
    assert program("embed", "m", *files, "-o", "z.csv")[0] == 0
    assert read_embeddings(tmp_path / "z.csv")[1].tolist() == ["é", "b", "c"]


def test_embedding_without_the_features_of_training_says_what_is_missing(program, files, model, tmp_path):
    code, _, err = program("embed", model, files / "edges.csv", "-o", tmp_path / "z.csv")
    assert code == 2
    assert "was trained with 3; give those of its nodes (--features)" in err


def test_messages_of_the_library_in_the_terms_of_the_program():
    from ccassg.cli.app import as_options

    assert as_options("name it with `label_column`") == "name it with --label-column"
    assert as_options("pass `weight=3`, `directed=True`") == "pass --weight 3, --directed"
    assert as_options("`encoding='latin-1'`: 'a `b c`'") == "--encoding latin-1: 'a `b c`'"


def test_text_is_read_with_the_words_of_training(program, files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = {"red": ["fox", "red fox", "wolf", "grey wolf"], "blue": ["whale", "blue whale", "shark", "grey shark"]}
    rows = [row.split(",") for row in (files / "nodes.csv").read_text().split()[1:]]
    bios = [f"the {words[row[-1]][i % 4]} and {chr(97 + i % 9)}{chr(97 + i // 9)} others" for i, row in enumerate(rows)]
    lines = [
        f"{row[0]},{row[1]},2020-01-{1 + i % 28:02},{bio}\n"
        for i, (row, bio) in enumerate(zip(rows, bios, strict=True))
    ]
    Path("nodes.csv").write_text("id,a,born,bio\n" + "".join(lines))
    code, out, err = program("fit", files / "edges.csv", "-f", "nodes.csv", "-o", "m")
    assert code == 0, err
    assert "note: nodes.csv: learns from " in out
    assert "'bio' (" in out
    assert "note: nodes.csv: left out 'born' (dates); --keep takes a column all the same" in out
    # New nodes have other words, and fewer.
    Path("new-edges.csv").write_text("source,target\nx,y\ny,z\n")
    Path("new-nodes.csv").write_text("id,bio,a\nx,the red fox,0.5\ny,an old grey whale,1\nz,nothing known,0\n")
    assert program("embed", "m", "new-edges.csv", "-f", "new-nodes.csv", "-o", "new.npy")[0] == 0
    z, model = np.load("new.npy"), CCASSG.load("m")
    assert (model.transform("new-edges.csv", features="new-nodes.csv") == z).all()
    assert (model.transform(read_graph("new-edges.csv", "new-nodes.csv", like=model)) == z).all()
    with pytest.raises(ValueError, match=r"was not read with the words of the model; .*like=model"):
        model.transform(read_graph("new-edges.csv", "new-nodes.csv"))
    # A store keeps them too.
    assert program("convert", files / "edges.csv", "-f", "nodes.csv", "-o", "store")[0] == 0
    assert program("embed", "m", "store", "-o", "z.npy")[0] == 0
    np.testing.assert_array_equal(np.load("z.npy"), read_embeddings("m/embedding.parquet")[0])
    known = open_store("store")
    again = model.transform(read_graph("new-edges.csv", "new-nodes.csv", like=known))
    assert (again == z).all()


def test_dates_and_codes_are_learned_from_if_kept(program, files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [row.split(",") for row in (files / "nodes.csv").read_text().split()[1:]]
    lines = [f"{row[0]},{row[1]},2020-01-{1 + i % 28:02},{i}\n" for i, row in enumerate(rows)]
    Path("nodes.csv").write_text("id,a,born,place\n" + "".join(lines))
    code, out, _ = program("fit", files / "edges.csv", "-f", "nodes.csv", "--keep", "born,place", "-o", "m", *QUICK)
    assert code == 0
    assert "learns from 3 features: 'a', 'born', 'place'; ids in 'id'" in out
    assert "left out" not in out
    assert program("embed", "m", files / "edges.csv", "-f", "nodes.csv", "-o", "z.npy")[0] == 0
    np.testing.assert_array_equal(np.load("z.npy"), read_embeddings("m/embedding.parquet")[0])
    assert json.loads(Path("m/run.json").read_text())["read_from"]["keep"] == ["born", "place"]


def test_a_model_may_be_named_as_its_dataset(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fit = ("fit", "cora", "--method", "raw-features", "-o", "cora")
    for _ in range(2):  # the folder of the first is no graph to the second
        code, out, err = program(*fit)
        assert code == 0, err
        assert "nodes: 2,708" in out
        assert json.loads((tmp_path / "cora" / "run.json").read_text())["read_from"] == {"graph": "cora"}
    assert program("links", "cora", "35", "-k", 1)[0] == 0


def test_embeddings_are_overwritten_where_that_is_asked_for(program, files, model, tmp_path):
    embed = ("embed", model, files / "edges.csv", "-f", files / "nodes.csv", "-o", tmp_path / "z.csv")
    assert program(*embed)[0] == 0
    (tmp_path / "z.csv").write_text("mine")
    code, _, err = program(*embed)
    assert code == 2
    assert "give another name, or --overwrite it" in err
    assert (tmp_path / "z.csv").read_text() == "mine"
    code, out, err = program(*embed, "--overwrite")
    assert code == 0, err
    assert "60 nodes x 3 dimensions, 2 kB" in out
    assert read_embeddings(tmp_path / "z.csv")[0].shape == (60, 3)
    code, _, err = program(*embed[:-1], files / "edges.csv", "--overwrite")
    assert code == 2
    assert "is read by this very command" in err


def test_a_large_file_is_said_with_the_way_to_a_smaller_one(program, files, tmp_path, monkeypatch):
    from ccassg.cli import fit

    graph = (files / "edges.csv", "-f", files / "nodes.csv", "-o", tmp_path / "m")
    assert "fewer columns" not in program("fit", *graph)[1]
    monkeypatch.setattr(fit, "LARGE", 1_000)
    assert "ccassg fit --set embedding_dim=256 makes fewer columns" in program("fit", *graph)[1]
    assert "fewer columns" not in program("fit", *graph, *QUICK)[1]


@pytest.mark.parametrize("slip", [("nowhere.csv",), ("cora", "-l", "nowhere.csv"), ("cora", "-s", "n_step=10")])
def test_slips_of_the_pen_are_told_before_pytorch_is_loaded(slip, tmp_path):
    code = (
        "import sys; from ccassg.cli import main\n"
        "try: main()\n"
        "except SystemExit as stop: print(stop.code, 'torch' in sys.modules, 'sklearn' in sys.modules)"
    )
    given = [sys.executable, "-c", code, "fit", *slip, "-o", "m"]
    done = subprocess.run(given, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.split() == ["2", "False", "False"], done.stderr
