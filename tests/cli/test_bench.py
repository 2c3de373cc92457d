"""`ccassg bench`: its options; what it measures is tested with the modules that measure."""

import json

import pytest

from ccassg.cli.bench import _updated


def test_scale_end_to_end_on_a_small_graph(tmp_path, program):
    record = tmp_path / "scale.json"
    code, out, err = program("bench", "--scale", "--nodes", 3000, "--threads", 1, "--json", record)
    assert code == 0, err
    assert "untrained" in out
    result = json.loads(record.read_text())
    assert result["scale"]["n_nodes"] == 3000
    assert result["scale"]["n_edges"] == round(61_859_140 * 3000 / 2_449_029)
    assert result["provenance"]["versions"]["torch"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--draw-only"], "--draw-only needs"),
        (["--nodes", "500"], "--nodes goes with --scale"),
        (["--ranks", "1,two"], "--ranks takes numbers of processes"),
        (["--update"], "--update needs the file"),
        (["--datasets", "corra"], "there is no dataset 'corra'"),
    ],
)
def test_options_that_do_not_go_together(program, options, sentence):
    code, _, err = program("bench", *options)
    assert code == 2
    assert sentence in err


def test_updating_keeps_the_other_rows():
    old = {"datasets": [{"dataset": "cora", "n": 1}, {"dataset": "photo", "n": 1}], "growth": {"rows": []}, "probes": 1}
    new = {"datasets": [{"dataset": "citeseer", "n": 2}, {"dataset": "photo", "n": 2}], "probes": 2}
    made = _updated(old, new)
    assert [(row["dataset"], row["n"]) for row in made["datasets"]] == [("cora", 1), ("citeseer", 2), ("photo", 2)]
    assert made["growth"] == {"rows": []}
    assert made["probes"] == 2


def test_a_file_without_figures_is_named(tmp_path, program):
    for content in ("<html>", "[]", "{}"):
        (tmp_path / "page.json").write_text(content)
        code, _, err = program("bench", "--draw-only", "--json", tmp_path / "page.json", "--docs", tmp_path / "x.md")
        assert code == 2
        assert "page.json does not hold the figures of ccassg bench" in err.replace("\n", " ")
