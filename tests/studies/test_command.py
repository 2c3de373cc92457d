"""A study on the command line: the options of `ccassg reproduce`, a document of its own."""

import subprocess
import sys
from pathlib import Path

import pytest
import typer

from ccassg.experiments import Records, runner
from studies import command
from studies.catalogue import STUDIES

PROJECT = Path(__file__).parents[2]


def run(tmp_path, monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["study", *arguments, "--results", str(tmp_path / "results")])
    with pytest.raises(SystemExit) as stop:
        command.run_study("fast-presets", STUDIES["fast-presets"])
    return stop.value.code, capsys.readouterr()


def test_drawn_from_records_into_its_own_document(tmp_path, monkeypatch, capsys, fake):
    study = STUDIES["fast-presets"]
    records = Records(tmp_path / "results")
    for one in study.runs(study.plan(datasets=["cora"], n_seeds=2)):
        records.add(fake(one))
    document = tmp_path / "docs" / "studies.md"
    document.parent.mkdir()
    document.write_text("<!-- begin: fast-presets -->\n<!-- end: fast-presets -->\n")
    code, output = run(tmp_path, monkeypatch, capsys, "--draw-only", "--datasets", "cora", "--seeds", "2")
    assert code == 0, output.err
    assert "fast-presets: 4 of 4 runs are recorded" in output.out
    assert "| Cora " in document.read_text()


def test_bad_input_is_one_sentence(tmp_path, monkeypatch, capsys):
    code, output = run(tmp_path, monkeypatch, capsys, "--datasets", "karate")
    assert code == 2
    assert "this experiment has no dataset 'karate'" in output.err.replace("\n", " ")


def test_drawing_needs_figures_and_a_document(tmp_path):
    given = {"json_file": None, "docs": tmp_path / "x.md", "draw_only": True}
    with pytest.raises(typer.BadParameter, match="--draw-only needs"):
        command.run_benchmark(pytest.fail, pytest.fail, "bench-scale", **given)


def test_all_studies_are_listed():
    command_line = [sys.executable, "-m", "studies", "--list"]
    done = subprocess.run(command_line, cwd=PROJECT, capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == [*STUDIES, "all"]


def test_a_worker_does_a_studys_run(tmp_path, monkeypatch):
    """In a process of its own, by a task that the package does not know."""
    monkeypatch.chdir(PROJECT)
    graph = {"n_nodes": 60, "n_classes": 2, "mean_degree": 6, "homophily": 0.8, "n_features": 8}
    one = {"task": "default-synthetic", "dataset": "synthetic", "graph": graph, "epochs": 2, "seed": 0}
    records = Records(tmp_path)
    assert runner.carry_out([one], records, tasks=STUDIES["default-settings"].tasks) == 1
    assert "default" in records.get(one)["result"]["probes"]
