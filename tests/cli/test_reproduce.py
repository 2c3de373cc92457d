import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

import ccassg.cli.progress
from ccassg.cli.app import app
from ccassg.experiments import EXPERIMENTS, runner
from ccassg.worker import WorkerError


@pytest.fixture(autouse=True)
def done(monkeypatch):
    """Runs are done at once, without training; the list of them."""
    runs = []

    def do(self, run):
        runs.append(run)
        if run["seed"] == 2:
            raise WorkerError("ValueError: seed 2 is cursed")
        accuracy = [0.80 + 0.02 * run["seed"]]
        scores = {"test_accuracy": accuracy, "val_accuracy": accuracy, "macro_f1": accuracy, "probe_epoch": [1]}
        cost = {"n_parameters": 5, "peak_memory_fit_bytes": 1}
        record = {"run": run, "result": scores | cost, "seconds": {"fit": 0.5, "total": 1.0}}
        record |= {"peak_memory_bytes": 1, "commit": None, "versions": {}, "time": "2026-01-01T00:00:00Z"}
        return record | {"machine": {"cpus": 2, "processor": "test"}}

    monkeypatch.setattr(runner._Crew, "do", do)
    return runs


def reproduce(folder, *arguments):
    return CliRunner().invoke(app, ["reproduce", *arguments, "--results", str(folder / "results")])


CORA = ("citation", "--datasets", "cora", "--methods", "cca-ssg")


def test_list_names_every_experiment(tmp_path):
    lines = reproduce(tmp_path, "--list").output.splitlines()
    assert [line.split()[0] for line in lines] == list(EXPERIMENTS)


def test_table_and_json(tmp_path, done):
    out = tmp_path / "out.json"
    result = reproduce(tmp_path, *CORA, "--seeds", "2", "--json", str(out))
    assert result.exit_code == 0, result.output
    assert "citation: 0 of 2 runs are recorded" in result.output
    assert "[2/2] cca-ssg on cora, seed 1: 1.0 s; 0:00:00 left" in result.output
    assert "81.0 ± 1.4" in result.output
    (row,) = json.loads(out.read_text())["results"]
    assert (row["dataset"], row["test_accuracies"], row["mean"]) == ("cora", [80.0, 82.0], 81.0)
    assert len(done) == 2

    again = reproduce(tmp_path, *CORA, "--seeds", "2")
    assert "2 of 2 runs are recorded" in again.output
    assert len(done) == 2


def test_failures_are_told_and_the_rest_is_kept(tmp_path):
    result = reproduce(tmp_path, *CORA, "--seeds", "3")
    assert result.exit_code == 1
    assert "1 of 3 runs failed:\ncca-ssg on cora, seed 2: ValueError: seed 2 is cursed" in result.output
    assert "81.0 ± 1.4" in result.output


def test_draw_only_trains_nothing(tmp_path, done):
    result = reproduce(tmp_path, *CORA, "--draw-only")
    assert result.exit_code == 0
    assert "citation: nothing to draw yet" in result.output
    assert done == []


def test_the_document_beside_the_results_is_renewed(tmp_path):
    document = tmp_path / "docs" / "reproduction.md"
    document.parent.mkdir()
    document.write_text("<!-- begin: citation -->\n<!-- end: citation -->\n")
    assert reproduce(tmp_path, *CORA, "--seeds", "2").exit_code == 0
    assert "81.0 ± 1.4" in document.read_text()


def test_progress_on_a_terminal(tmp_path, monkeypatch):
    terminal = Console(force_terminal=True, width=100, record=True)
    monkeypatch.setattr(ccassg.cli.progress, "console", terminal)
    assert reproduce(tmp_path, *CORA, "--seeds", "2").exit_code == 0
    text = terminal.export_text()
    assert "2/2" in text
    assert "[2/2]" not in text


def test_bad_input_is_one_sentence(tmp_path):
    assert "no experiment 'magic'" in str(reproduce(tmp_path, "magic").exception)
    assert "no dataset 'karate'" in str(reproduce(tmp_path, "citation", "--datasets", "karate").exception)
    assert "no method 'svm'" in str(reproduce(tmp_path, "citation", "--methods", "svm").exception)


def test_help_has_an_example():
    assert "Example: ccassg reproduce citation" in CliRunner().invoke(app, ["reproduce", "--help"]).output


def test_a_record_without_its_seconds_or_scores_is_one_sentence(tmp_path, program):
    assert reproduce(tmp_path, *CORA, "--seeds", "1").exit_code == 0
    path = tmp_path / "results" / "cora.jsonl"
    good = json.loads(path.read_text())
    for changed in ({k: v for k, v in good.items() if k != "seconds"}, good | {"result": {}}):
        path.write_text(json.dumps(changed) + "\n")
        code, _, errors = program("reproduce", *CORA, "--draw-only", "--results", str(tmp_path / "results"))
        assert code == 2
        assert errors.startswith("Error: ")
        assert "remove" in errors
        assert errors.count("\n") == 1
