from __future__ import annotations

import ast
import base64
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ccassg.evaluate.diagnostics import correlation_matrix, diagnose
from ccassg.report import payload
from ccassg.report.data import ReportData
from ccassg.report.payload import build_payload

TYPES = {
    "int8": np.int8,
    "int16": np.int16,
    "uint8": np.uint8,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "float32": np.float32,
}


def unpack(packed):
    return np.frombuffer(base64.b64decode(packed["data"]), dtype=TYPES[packed["type"]])


def example(n=12, d=4, **parts):
    rng = np.random.default_rng(1)
    z = rng.normal(size=(n, d)).astype(np.float32)
    return ReportData("example", z, layout=parts.pop("layout", rng.normal(size=(n, 2))), **parts)


def colouring(data, name):
    return next(c for c in build_payload(data)["colourings"] if c["name"] == name)


def test_the_report_and_what_it_uses_of_evaluate_load_no_torch():
    code = "import sys, ccassg.report.payload; print(sorted({'torch', 'ccassg.report.page'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ast.literal_eval(done.stdout) == ["ccassg.report.page"]


def test_layout_keeps_its_proportions():
    layout = np.array([[0, 0], [10, 0], [10, 5], [0, 5]] * 3, dtype=float)
    found = build_payload(example(layout=layout))["map"]
    assert unpack(found["x"])[:4].tolist() == [0, 65535, 65535, 0]
    assert unpack(found["y"])[:4].tolist() == [0, 0, 32768, 32768]


def test_labels_are_categories_with_the_missing_ones_last():
    labels = ["b", None, "a", "b", "", None, None, "c", "c", "b", "a", "a"]
    found = colouring(example(labels=labels), "label")
    assert found["names"] == ["a", "b", "c", payload.NO_LABEL]
    assert found["counts"] == [3, 3, 2, 4]
    assert found["missing"] == 3
    assert unpack(found["codes"]).tolist() == [1, 3, 0, 1, 3, 3, 3, 2, 2, 1, 0, 0]


def test_numeric_columns_keep_their_values_and_a_robust_scale():
    values = np.arange(200.0)
    values[7], values[8] = 1e9, np.nan
    found = colouring(example(n=200, columns={"degree": values}), "degree")
    assert found["kind"] == "number"
    assert found["high"] < 1000
    np.testing.assert_array_equal(unpack(found["values"])[[0, 7, 8]], np.float32([0, 1e9, np.nan]))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2.5] * 6, "number"),
        (np.arange(12), "number"),
        ([True, False] * 6, "category"),
        (np.array([True, False] * 6), "category"),
        ([1, "one"] * 6, "category"),
        ([None, 3] * 6, "category"),
        (["x"] * 12, "category"),
    ],
)
def test_kind_of_a_column(values, kind):
    assert colouring(example(columns={"c": values}), "c")["kind"] == kind


def test_empty_cells_of_a_column_are_its_last_category():
    found = colouring(example(columns={"c": ["b", None, "b", "a", "", "a"] * 2}), "c")
    assert (found["names"], found["counts"], found["missing"]) == (["a", "b", payload.NO_VALUE], [4, 4, 4], 2)


def test_values_far_apart_lie_along_their_logarithm():
    degrees = np.r_[np.full(90, 2), np.full(10, 300)]
    assert colouring(example(n=100, columns={"c": degrees}), "c")["log"] is True
    assert colouring(example(n=100, columns={"c": degrees - 10}), "c")["log"] is False
    assert colouring(example(n=100, columns={"c": np.arange(100)}), "c")["log"] is False


def test_as_many_clusters_as_labels_or_eight():
    found = colouring(example(labels=["a", "b", "c", None] * 3), "cluster (k-means)")
    assert found["names"] == ["cluster 1", "cluster 2", "cluster 3"]
    assert len(colouring(example(n=60, labels=["a"] * 60), "cluster (k-means)")["names"]) == 8
    assert len(colouring(example(), "cluster (k-means)")["names"]) == 2


def test_neighbours_are_exact_in_small_graphs_and_searched_in_large_ones():
    exact = build_payload(example())["neighbours"]
    assert (exact["exact"], exact["k"]) == (True, 10)
    assert len(unpack(exact["index"])) == len(unpack(exact["similarity"])) == 120
    likely = build_payload(example(), max_exact=11)["neighbours"]
    assert likely["exact"] is False
    assert likely["index"] == exact["index"]  # so small that every cell is searched


def test_spectrum_and_correlation_are_those_of_the_diagnostics():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 200))
    z[:, 5] = 7
    data = ReportData("wide", z, layout=rng.normal(size=(300, 2)))
    found, expected = build_payload(data), diagnose(z.astype(np.float32))
    shown = found["correlation"]["columns"]
    assert (len(shown), shown[0], shown[-1], found["correlation"]["constant"]) == (128, 0, 199, 1)
    matrix = correlation_matrix(z.astype(np.float32))[np.ix_(shown, shown)]
    np.testing.assert_allclose(unpack(found["correlation"]["values"]) / 127, matrix.ravel(), atol=0.5 / 127 + 1e-9)
    assert found["correlation"]["meanAbsolute"] == expected["off_diagonal_correlation"]
    assert found["spectrum"]["effectiveRank"] == expected["effective_rank"]
    assert found["spectrum"]["variance"][0] == pytest.approx(expected["top_variance_share"])
    assert sum(found["spectrum"]["variance"]) == pytest.approx(1)
    assert found["warnings"] == expected["warnings"] == [expected["warnings"][0]]


def test_the_spectrum_has_no_more_entries_than_nodes_and_may_be_zero():
    assert len(build_payload(example(n=3, d=9))["spectrum"]["variance"]) == 3
    equal = ReportData("equal", np.full((50, 4), 1234.5), layout=np.zeros((50, 2)))
    assert build_payload(equal)["spectrum"] == {"variance": [0.0] * 4, "effectiveRank": 0.0}


def test_a_huge_graph_is_sampled_row_by_row():
    n = 20
    layout = [(i, 0) for i in range(n)]
    names = [f"m{i}" if i % 2 else None for i in range(n)]
    data = example(
        n=n, node_ids=[f"n{i}" for i in range(n)], names=names, labels=[f"l{i}" for i in range(n)], layout=layout
    )
    found = build_payload(data, max_nodes=6)
    assert (found["nodes"], found["allNodes"], len(found["ids"])) == (6, 20, 6)
    assert found["names"] == [f"m{i[1:]}" if int(i[1:]) % 2 else None for i in found["ids"]]
    labels = found["colourings"][0]
    assert [labels["names"][c] for c in unpack(labels["codes"])] == [name.replace("n", "l") for name in found["ids"]]
    rows = np.array([int(name[1:]) for name in found["ids"]])
    expected = np.round((rows - rows.min()) / np.ptp(rows) * 65535)
    np.testing.assert_array_equal(unpack(found["map"]["x"]), expected)


def test_long_curves_are_thinned_but_keep_their_ends():
    found = build_payload(example(history={"loss": list(range(10_000)), "empty": []}))["curves"]
    assert [curve["name"] for curve in found] == ["loss"]
    assert len(found[0]["steps"]) == payload.MAX_STEPS
    assert (found[0]["steps"][0], found[0]["steps"][-1], found[0]["values"][-1]) == (1, 10_000, 9_999)


def test_everything_becomes_plain_json():
    data = example(
        settings={"rate": np.float32(0.5), "steps": np.int64(3), "nan": float("nan"), "path": Path("a"), 5: (1, 2)},
        provenance={"seed": 2**60, "nested": {"x": np.bool_(True)}, "array": np.arange(2), "none": None},
        node_ids=np.array([b"\xff", "two", 3, (4, 5), None, 6.5, *range(6)], dtype=object),
    )
    found = build_payload(data)
    json.dumps(found, allow_nan=False)
    assert found["settings"] == {"rate": 0.5, "steps": 3, "nan": None, "path": "a", "5": [1, 2]}
    assert found["provenance"] == {"seed": str(2**60), "nested": {"x": True}, "array": [0, 1], "none": None}
    assert found["ids"][:6] == ["�", "two", "3", "(4, 5)", "None", "6.5"]


def test_columns_that_drown_the_others_are_a_warning_not_a_note(tmp_path):
    from ccassg.io.graphs import read_graph

    (tmp_path / "e.csv").write_text("source,target\na,b\nb,c\n")
    (tmp_path / "n.csv").write_text("id,year,share\na,2004,0.3\nb,1999,0.5\nc,2010,0.1\n")
    notes = read_graph(tmp_path / "e.csv", tmp_path / "n.csv", scale=False).notes
    page = build_payload(example(notes=notes))
    assert ["'year'" in sentence for sentence in page["warnings"]] == [True]
    assert page["notes"]
    assert not any("'year'" in note and "learns from" not in note for note in page["notes"])
