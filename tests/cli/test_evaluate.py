"""`ccassg evaluate`, `ccassg similar` and `ccassg report`: on a model, and on embeddings whose scores are known."""

import datetime
import decimal
import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ccassg
from ccassg.io.embeddings import read_embeddings

QUICK = ("--set", "encoder=gcn", "--set", "n_steps=5", "--set", "hidden_dim=8", "--set", "embedding_dim=3")


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


@pytest.mark.slow
def test_of_several_processes_the_first_evaluates_alone(model, tmp_path):
    together = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", "-m", "ccassg"]
    command = ["evaluate", str(model), "--seeds", "1", "--json", str(tmp_path / "e.json")]
    done = subprocess.run([*together, *command], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("effective rank") == 1
    assert json.loads((tmp_path / "e.json").read_text())["probe"]["n_runs"] == 1


def test_evaluate_warns_where_the_labels_were_features(program, files, tmp_path):
    nodes = tmp_path / "nodes.csv"
    nodes.write_text((files / "nodes.csv").read_text().replace(",label", ",team", 1))
    code, out, _ = program("fit", files / "edges.csv", "--features", nodes, "-o", tmp_path / "m", *QUICK)
    assert code == 0
    assert "'team' (2 values)" in out
    assert "what you want to predict must not be among them" in out
    judging = ("--labels", nodes, "--label-column", "team", "--seeds", 1)
    code, out, _ = program("evaluate", tmp_path / "m", *judging)
    assert code == 0
    assert "warning: 'team' was a feature of this model" in out
    again = ("fit", files / "edges.csv", "--features", nodes, "--label-column", "team", "-o", tmp_path / "n", *QUICK)
    assert program(*again)[0] == 0
    assert "was a feature" not in program("evaluate", tmp_path / "n", *judging)[1]


def test_similar(program, model):
    code, out, _ = program("similar", model, "n7", "-k", 3)
    assert code == 0
    z, ids = read_embeddings(model / "embedding.parquet")
    unit = (z / np.linalg.norm(z, axis=1, keepdims=True)).astype(float)
    cosine = unit @ unit[ids.tolist().index("n7")]
    nearest = [i for i in np.argsort(-cosine) if ids[i] != "n7"][:3]
    expected = [[ids[i], f"{cosine[i]:.4f}", "red" if int(ids[i][1:]) % 2 else "blue"] for i in nearest]
    found = [line.split() for line in out.strip().splitlines()]
    assert found[0] == ["id", "cosine", "label"]
    assert [(name, label) for name, _, label in found[1:]] == [(name, label) for name, _, label in expected]
    assert [float(row[1]) for row in found[1:]] == pytest.approx([float(row[1]) for row in expected], abs=2e-4)
    code, _, err = program("similar", model, "nobody")
    assert code == 2
    assert "no node 'nobody'; ids look like n0, n1, n2" in err


def test_report(program, model, tmp_path):
    code, out, _ = program("report", model, "-o", tmp_path / "page.html", "--seeds", 1)
    assert code == 0, out
    text = (tmp_path / "page.html").read_text()
    assert "n59" in text
    assert text.lower().startswith("<!doctype html>")


@pytest.fixture
def corners(write):
    """Four hundred nodes at the two ends of one axis and of another, labelled by the end: an embedding file and a label file."""
    ends = {"east": (1, 0), "west": (-1, 0), "north": (0, 1), "south": (0, -1)}
    rows = [(f"{end[0]}{i}", *at, end) for i in range(100) for end, at in ends.items()]
    z = write("z.csv", "id,x,y\n" + "".join(f"{name},{x},{y}\n" for name, x, y, _ in rows))
    return z, write("labels.csv", "id,end\n" + "".join(f"{name},{end}\n" for name, _, _, end in rows))


def test_scores_that_are_known(program, corners, tmp_path):
    """Both axes have the same variance and do not correlate; every end is a cluster of one class."""
    z, labels = corners
    judging = ("--labels", labels, "--label-column", "end", "--seeds", 3, "--json", tmp_path / "e.json")
    code, out, err = program("evaluate", z, *judging)
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0] == "400 nodes x 2 dimensions"
    assert lines[1] == "400 of 400 nodes have a label"
    assert lines[2].split()[:5] == ["effective", "rank", "2.0", "of", "2"]
    assert lines[3].split()[:3] == ["mean", "|correlation|", "0.000"]
    assert lines[4].startswith("linear probe of 4 classes, 3 random splits of 10/10/80 % (logistic regression")
    assert lines[5].split() == ["accuracy", "macro", "F1"]
    assert "  embedding             100.00 ± 0.00 %   100.00 %" in lines
    assert "  largest class         25.00 %           10.00 %" in lines
    assert "  10 nearest neighbours 100.00 %" in lines
    assert "k-means                 NMI 1.000, ARI 1.000 (1: clusters are the classes; 0: chance)" in lines
    assert "note: name the graph to see what its raw features score (--graph)" in lines
    result = json.loads((tmp_path / "e.json").read_text())
    assert result["probe"]["accuracies"] == [1, 1, 1]
    assert result["diagnostics"]["effective_rank"] == pytest.approx(2)


def test_without_labels_nothing_is_scored(program, corners):
    code, out, _ = program("evaluate", corners[0])
    assert code == 0
    assert out.splitlines()[-1] == "no labels were given (--labels), so nothing was scored against them"
    assert "probe" not in out


def test_a_collapsed_embedding_is_warned_of(program, write):
    z = write("z.csv", "id,x,y\n" + "".join(f"n{i},{i},{2 * i}\n" for i in range(20)))
    code, out, _ = program("evaluate", z)
    assert code == 0
    assert "effective rank          1.0 of 2" in out
    assert "mean |correlation|      1.000" in out
    assert "warning: " in out


LINE = "id,x,y\na,1,0\nb,4,3\nc,0,2\nd,-2,0\n"


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("cosine", [("b", 0.8), ("c", 0.0), ("d", -1.0)]),
        ("dot", [("b", 4.0), ("c", 0.0), ("d", -2.0)]),
    ],
)
def test_similar_by_hand(program, write, tmp_path, metric, expected):
    code, out, err = program(
        "similar", write("z.csv", LINE), "a", "-k", 99, "--metric", metric, "--json", tmp_path / "s.json"
    )
    assert code == 0, err
    rows = json.loads((tmp_path / "s.json").read_text())["rows"]
    assert [(row["id"], row[metric]) for row in rows] == expected
    table = [line.split() for line in out.strip().splitlines()]
    assert table[0] == ["id", metric]
    assert [(name, float(score)) for name, score in table[1:]] == expected


def test_similar_shows_labels_where_there_are_any(program, write, tmp_path):
    z, labels = write("z.csv", LINE), write("labels.csv", "id,label\na,red\nb,red\nc,[bold]\nd,red\n")
    code, out, err = program("similar", z, "a", "-k", 2, "--labels", labels, "--json", tmp_path / "s.json")
    assert code == 0, err
    assert [row["label"] for row in json.loads((tmp_path / "s.json").read_text())["rows"]] == ["red", "[bold]"]
    assert "[bold]" in out  # as it is, no markup


DAYS = [datetime.date(2020, 1, day) for day in (1, 2, 3)]
KINDS = {
    "dates": (DAYS, "2020-01-01", "2020-01-02"),
    "a dictionary of dates": (pa.array(DAYS).dictionary_encode(), "2020-01-01", "2020-01-02"),
    "decimals": ([decimal.Decimal("0.50"), decimal.Decimal("1.50"), decimal.Decimal("2.50")], "0.50", "1.50"),
    "whole floats": ([1.0, 2.0, 3.0], "1", 2),
    "beyond 63 bits": (pa.array([2**64 - 1, 2**63, 1], pa.uint64()), str(2**64 - 1), str(2**63)),
    "bytes": ([b"a", b"b", b"c"], "a", "binary cannot be an id; ids are integers or strings"),
    "booleans": ([True, False, None], "true", "row 3: an id is missing"),
    "two booleans": ([True, False], "true", "bool cannot be an id; ids are integers or strings"),
    "null": (pa.nulls(3), "a", "row 1: an id is missing; fill it in or drop the row"),
    "lists": ([[1], [2], [3]], "1", "list<element: int64> cannot be an id; ids are integers or strings"),
    "structs": (
        [{"a": 1}, {"a": 2}, {"a": 3}],
        "1",
        "struct<a: int64> cannot be a class, an id or a feature; leave it out",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_similar_knows_ids_of_every_kind_or_says_which_it_does_not(program, tmp_path, kind):
    ids, asked, expected = KINDS[kind]
    e0, e1 = [1.0, 0.9, -1.0][: len(ids)], [0.0, 0.1, 0.2][: len(ids)]
    pq.write_table(pa.table({"id": ids, "e0": e0, "e1": e1}), tmp_path / "z.parquet")
    code, _, err = program("similar", tmp_path / "z.parquet", asked, "-k", 1, "--json", tmp_path / "s.json")
    if code == 0:
        assert [row["id"] for row in json.loads((tmp_path / "s.json").read_text())["rows"]] == [expected]
    else:
        assert code == 2
        assert "z.parquet, column 'id'" in " ".join(err.split())
        assert str(expected) in " ".join(err.split())
        assert "Traceback" not in err


def test_another_metric_is_refused(program, write):
    code, _, err = program("similar", write("z.csv", LINE), "a", "--metric", "taxi")
    assert code == 2
    assert "taxi" in err
    assert "Traceback" not in err


BAD = [
    (("evaluate", "nothing"), "nothing: there is no such file or folder"),
    (("evaluate", "nothing.parquet"), "nothing.parquet: there is no such file or folder"),
    (("similar", "nothing", "p7"), "there is no such file or folder"),
    (("report", "nothing"), "holds no run"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_bad_input_is_one_sentence_and_exit_code_2(program, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, _, err = program(*arguments)
    assert code == 2
    assert message in " ".join(err.split())
    assert "Traceback" not in err


def test_a_report_needs_a_run_and_not_only_embeddings(program, model, tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "embedding.parquet").write_bytes((model / "embedding.parquet").read_bytes())
    code, _, err = program("report", tmp_path / "m", "-o", tmp_path / "page.html")
    assert code == 2
    assert "holds no run" in err
    assert not (tmp_path / "page.html").exists()


def test_a_model_saved_in_python_is_read_or_the_call_is_named(program, files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    edges, nodes = files / "edges.csv", files / "nodes.csv"
    data = ccassg.read_graph(edges, nodes)
    model = ccassg.CCASSG(random_state=0).fit(data)
    model.save("m")
    for command in (("similar", "m", "n7"), ("evaluate", "m")):
        code, _, err = program(*command)
        assert code == 2
        assert "make one with: ccassg embed m GRAPH -o m/embedding.parquet" in " ".join(err.split())
    code, _, err = program("report", "m")
    assert code == 2
    assert "ccassg.write_report('report.html', z, data, model=model)" in " ".join(err.split())
    # The calls that the sentences name.
    assert program("embed", "m", edges, "--features", nodes, "-o", "m/embedding.parquet")[0] == 0
    assert program("similar", "m", "n7", "-k", 3)[0] == 0
    z, ids = ccassg.read_embeddings("m/embedding.parquet")
    np.testing.assert_array_equal(z, model.transform(data))
    assert ids.tolist() == data.ids.tolist()
    ccassg.write_report("report.html", z, data, model=model)
    assert "n7" in (tmp_path / "report.html").read_text()


def test_what_two_classes_are_worth_beside_raw_features(program, model, files, tmp_path):
    code, out, err = program("evaluate", model, "--seeds", 2, "--json", tmp_path / "e.json")
    assert code == 0, err
    lines = [line.split() for line in out.splitlines()]
    assert ["accuracy", "macro", "F1", "ROC", "AUC"] in lines
    result = json.loads((tmp_path / "e.json").read_text())
    for name, key in (("embedding", "probe"), ("raw", "raw_features")):
        (row,) = (line for line in lines if line and line[0] == name)
        assert row[-1] == f"{np.mean(result[key]['roc_auc']):.3f}"
    assert next(line for line in lines if line[:1] == ["largest"])[-1] == "0.500"
    bare = ("evaluate", model / "embedding.parquet", "--labels", files / "nodes.csv", "--seeds", 2)
    given = ("--graph", files / "edges.csv", "--features", files / "nodes.csv")
    raw = next(line for line in out.splitlines() if line.startswith("  raw features"))
    assert raw in program(*bare, *given)[1].splitlines()
    assert "raw features   " not in program(*bare)[1]
    code, _, err = program(*bare, "--features", files / "nodes.csv")
    assert (code, "name it with --graph" in err) == (2, True)
    code, _, err = program("evaluate", model, "--probe", "tree")
    assert (code, "--probe must be logistic or adam, got 'tree'" in err) == (2, True)
    code, out, _ = program("evaluate", model, "--probe", "adam", "--seeds", 1)
    assert (code, "2000 epochs of Adam" in out) == (0, True)


@pytest.mark.parametrize("kind", ["text", "parquet"])
def test_a_numeric_target_is_a_regression(program, tmp_path, kind):
    rng = np.random.default_rng(0)
    z = rng.normal(size=(400, 3))
    target = z @ [3, -1, 2] + 0.1 * rng.normal(size=400)
    pq.write_table(pa.table({"id": range(400)} | {f"e{i}": z[:, i] for i in range(3)}), tmp_path / "z.parquet")
    table = pa.table({"id": range(400), "price": target})
    labels = tmp_path / f"l.{'csv' if kind == 'text' else 'parquet'}"
    pq.write_table(table, labels) if kind == "parquet" else table.to_pandas().to_csv(labels, index=False)
    code, out, err = program(
        "evaluate", tmp_path / "z.parquet", "--labels", labels, "--label-column", "price", "--seeds", 2
    )
    assert code == 0, err
    assert "ridge regression on 2 random splits, strength chosen on validation" in out
    assert "  embedding             R^2 0.99" in out
    assert "note: the labels are 400 different numbers: a target of regression, no classes" in out
    assert "accuracy" not in out


def test_noise_is_warned_of_where_it_is_made_and_where_it_is_scored(program, tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "e.csv").write_text("source,target\n" + "".join(f"{i},{rng.integers(400)}\n" for i in range(400)))
    rows = "".join(
        f"{i},{a:.3f},{b:.3f},{c}\n"
        for i, (a, b, c) in enumerate(zip(*rng.normal(size=(2, 400)), rng.integers(3, size=400), strict=True))
    )
    (tmp_path / "n.csv").write_text("id,a,b,label\n" + rows)
    code, fitted, err = program("fit", tmp_path / "e.csv", "-f", tmp_path / "n.csv", "-o", tmp_path / "m")
    assert code == 0, err
    said = "warning: The embedding knows no more of the labels than chance"
    assert said in fitted
    assert said in program("evaluate", tmp_path / "m")[1]
    assert program("report", tmp_path / "m", "-o", tmp_path / "r.html")[0] == 0
    assert said.removeprefix("warning: ") in (tmp_path / "r.html").read_text()


def test_similar_shows_names_of_the_table_that_was_fitted(program, files, tmp_path):
    header, *rows = (files / "nodes.csv").read_text().splitlines()
    named = [f"{header},title", *(f"{row},Title {i}" for i, row in enumerate(rows))]
    (tmp_path / "nodes.csv").write_text("\n".join(named))
    fitted = program("fit", files / "edges.csv", "--features", tmp_path / "nodes.csv", "-o", tmp_path / "m", *QUICK)
    assert fitted[0] == 0
    code, out, _ = program("similar", tmp_path / "m", "n7", "-k", 2)
    assert code == 0
    assert "n7: Title 7" in out


def test_similar_takes_several_ids_and_shows_names_without_pytorch(model, files, tmp_path):
    names = tmp_path / "names.csv"
    names.write_text("id,title\n" + "".join(f"n{i},Title {i}\n" for i in range(60)))
    code = (
        "import sys\nfrom ccassg.cli import main\n"
        f"try: main(['similar', {str(model)!r}, 'n7', 'n8', '-k', '2', '--names', {str(names)!r}])\n"
        "finally: print('torch' in sys.modules, 'sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[:2] == ["n7: Title 7", "n8: Title 8"]
    assert lines[2].split() == ["of", "id", "name", "cosine", "label"]
    found = [line.split() for line in lines[3:7]]
    assert [row[0] for row in found] == ["n7", "n7", "n8", "n8"]
    assert all(row[1] == f"n{row[3]}" for row in found)
    assert lines[-1] == "False False"


def test_it_says_how_many_nodes_have_a_label_and_which_labels_have_no_node(program, corners, write):
    z, _ = corners
    rows = "".join(f"{end[0]}{i},{end}\n" for i in range(50) for end in ("east", "west"))
    labels = write("some.csv", f"id,end\n{rows}nobody,east\nnobody2,west\n")
    code, out, err = program("evaluate", z, "--labels", labels, "--seeds", 1)
    assert code == 0, err
    assert f"100 of 400 nodes have a label; 2 ids in {labels} are not in the graph" in " ".join(out.split())


def test_a_width_that_nobody_chose_is_not_warned_of(program, files, tmp_path):
    graph = (files / "edges.csv", "-f", files / "nodes.csv")
    code, fitted, err = program("fit", *graph, "-o", tmp_path / "m")
    assert code == 0, err
    assert program("embed", tmp_path / "m", *graph, "-o", tmp_path / "z.parquet")[0] == 0
    for found in (tmp_path / "m", tmp_path / "m" / "embedding.parquet", tmp_path / "z.parquet"):
        assert "dimension" not in "".join(
            line for line in (fitted + program("evaluate", found)[1]).splitlines() if line.startswith("warning")
        )


def test_figures_say_what_they_are(program, model):
    out = program("evaluate", model)[1]
    assert "uniformity" not in out
    assert "(how many are really used)" in out
    assert "nearest neighbour" not in out  # of six training nodes no ten can vote
