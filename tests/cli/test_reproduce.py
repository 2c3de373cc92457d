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


def test_list_says_what_is_missing_of_every_experiment(tmp_path, done):
    lines = reproduce(tmp_path, "--list").output.splitlines()
    assert lines[0].split() == ["recorded", "missing", "hours"]
    assert [line.split()[0] for line in lines[1:]] == [*EXPERIMENTS, "all"]
    assert reproduce(tmp_path, *CORA, "--seeds", "2").exit_code == 0
    # Six runs of 1.0 s are missing of the ablation: one in 600 hours.
    listed = reproduce(tmp_path, "--list", "citation", "ablation", "--datasets", "cora", "--seeds", "4").output
    rows = {line.split()[0]: line.split()[1:4] for line in listed.splitlines()[1:]}
    n_citation = len(EXPERIMENTS["citation"].runs(EXPERIMENTS["citation"].plan(datasets=["cora"], n_seeds=4)))
    assert rows["citation"][:2] == ["2", str(n_citation - 2)]
    assert rows["ablation"] == ["2", "10", "0.0"]
    assert rows["all"][:2] == ["2", str(n_citation - 2 + 8)]  # two runs are missing in both
    assert len(done) == 2


def test_all_fills_empty_cells_first_and_a_failure_does_not_end_it(tmp_path, done):
    arguments = ("ablation", "citation", "--datasets", "cora", "--methods", "cca-ssg", "--seeds", "4")
    result = reproduce(tmp_path, *arguments)
    assert result.exit_code == 1
    settings = [(run["seed"], run["settings"]["decorrelation"], run["settings"]["invariance"]) for run in done]
    full, others = (1e-3, 1.0), {(0.0, 1.0), (1e-3, 0.0)}
    assert settings[:3] == [(0, *full), (1, *full), (2, *full)]
    assert {setting[1:] for setting in settings[3:5]} == others
    assert {setting[0] for setting in settings[3:5]} == {0}
    assert len(settings) == 12
    assert result.output.count("seed 2 is cursed") == 3 + 3  # as it happens, and in the end
    assert "3 runs are missing, about 0.0 hours" in result.output
    done.clear()
    assert reproduce(tmp_path, *arguments).exit_code == 1
    assert [run["seed"] for run in done] == [2, 2, 2]  # tried again, and nothing else


def test_no_run_is_begun_that_would_not_end_within_the_hours(tmp_path, done):
    result = reproduce(tmp_path, *CORA, "--seeds", "2", "--hours", "0")
    assert result.exit_code == 0
    assert done == []
    assert "2 runs are missing, about 0.0 hours" in result.output


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


def test_hours_below_none_are_refused(tmp_path):
    assert reproduce(tmp_path, "methods", "--hours", "-1").exit_code == 2
