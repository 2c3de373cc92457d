import os
import signal
import subprocess
import sys
import time

import pytest
import torch

from ccassg.experiments import runner
from ccassg.experiments.records import Records, key_of
from ccassg.experiments.runner import execute
from ccassg.experiments.runs import classification_run
from ccassg.worker import WorkerError

TINY = {"encoder": "gcn", "n_layers": 1, "hidden_dim": 8, "embedding_dim": 8, "n_steps": 2, "decorrelation": 1e-3}


def tiny(seed, **changes):
    return {
        "task": "node-classification",
        "method": "cca-ssg",
        "dataset": "cora",
        "settings": TINY | {"edge_drop_rate": 0.1, "feature_mask_rate": 0.1} | changes,
        "probe": {"epochs": 3},
        "splits": [{"kind": "public"}],
        "seed": seed,
    }


@pytest.fixture
def crew(monkeypatch, fake):
    """Instead of workers: runs are done at once, those with seed 13 fail."""
    done = []

    def do(self, run):
        done.append(run["seed"])
        if run["seed"] == 13:
            raise WorkerError("bad luck")
        return fake(run)

    monkeypatch.setattr(runner._Crew, "do", do)
    return done


def test_finished_runs_are_not_repeated(tmp_path, crew):
    records = Records(tmp_path)
    assert runner.carry_out([tiny(0), tiny(1), tiny(0)], records) == 2
    assert runner.carry_out([tiny(2), tiny(1)], Records(tmp_path)) == 1
    assert sorted(crew) == [0, 1, 2]
    assert runner.missing([tiny(0), tiny(7), tiny(7)], Records(tmp_path)) == [tiny(7)]


def test_every_run_is_told_with_its_outcome(tmp_path, crew):
    seen = []
    with pytest.raises(runner.FailedRunsError):
        runner.carry_out([tiny(1), tiny(13)], Records(tmp_path), jobs=2, on_run=seen.append)
    assert set(seen) == {"cca-ssg on cora, seed 1: 2.0 s", "cca-ssg on cora, seed 13: failed: bad luck"}


def test_what_does_not_fit_is_left_out(tmp_path, crew):
    records = Records(tmp_path)
    assert runner.carry_out([tiny(0), tiny(1), tiny(2)], records, fits=lambda run: run["seed"] != 1) == 2
    assert sorted(crew) == [0, 2]
    assert len(records) == 2


def test_a_failed_run_does_not_stop_the_others(tmp_path, crew):
    records = Records(tmp_path)
    with pytest.raises(runner.FailedRunsError, match=r"1 of 3 runs failed:\ncca-ssg on cora, seed 13: bad luck"):
        runner.carry_out([tiny(13), tiny(1), tiny(2)], records)
    assert len(records) == 2


def test_missing_files_and_bad_jobs_are_told_before_anything_runs(tmp_path, crew, monkeypatch):
    monkeypatch.setenv("CCASSG_CACHE", str(tmp_path))
    monkeypatch.delenv("CCASSG_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="ccassg datasets fetch pubmed"):
        runner.carry_out([tiny(0), tiny(1) | {"dataset": "pubmed"}], Records(tmp_path))
    with pytest.raises(ValueError, match="jobs must be at least 1, got 0"):
        runner.carry_out([tiny(0)], Records(tmp_path), jobs=0)
    assert crew == []


def test_a_run_that_fails_in_its_process_is_explained(tmp_path):
    with pytest.raises(runner.FailedRunsError, match="there is no task 'dancing'"):
        runner.carry_out([tiny(0) | {"task": "dancing"}], Records(tmp_path))


def toy(case):
    settings = {"n_steps": 2, "learning_rate": 1e-2, "noise": 0.5}
    return {"task": "collapse", "dataset": "toy", "case": case, "settings": settings, "seed": 0}


RUNS = [toy("invariance"), toy("alignment")]


def test_a_killed_runner_continues_where_it_was(tmp_path):
    script = (
        "from test_runner import RUNS; from ccassg.experiments import runner, Records\n"
        f"runner.carry_out(RUNS, Records({str(tmp_path)!r}))"
    )
    path = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen([sys.executable, "-c", script], env=os.environ | {"PYTHONPATH": path})
    file = tmp_path / "toy.jsonl"
    while process.poll() is None and not (file.exists() and b"\n" in file.read_bytes()):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = file.read_bytes()
    n_before = before.count(b"\n")
    assert n_before >= 1
    file.write_bytes(before + b'{"key": "half a li')

    records = Records(tmp_path)
    assert len(records) == n_before
    assert runner.carry_out(RUNS, records) == len(RUNS) - n_before
    assert file.read_bytes().startswith(before)
    assert [key_of(r["run"]) for r in Records(tmp_path)] == [key_of(run) for run in RUNS]
    assert len(file.read_text().splitlines()) == len(RUNS)


WIDTHS = {"hidden_dim": 8, "embedding_dim": 8, "n_steps": 2}


@pytest.fixture(autouse=True)
def same_threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_a_run_says_what_came_out_and_where():
    run = classification_run("cca-ssg", "cora", 3, changes=WIDTHS) | {"probe": {"epochs": 200, "learning_rate": 0.1}}
    record = execute(run, threads=1)
    assert record["run"] == run
    result = record["result"]
    assert 0.3 < result["test_accuracy"][0] < 0.9
    assert 1 <= result["probe_epoch"][0] <= 200
    assert result["n_parameters"] == 1433 * 8 + 8 + 8 * 8 + 8
    before, fit, peak = result["memory_before_fit_bytes"], result["peak_memory_fit_bytes"], record["peak_memory_bytes"]
    drift = 2**21  # the kernel counts pages a few at a time
    assert before - drift <= fit <= peak + drift
    assert set(record["seconds"]) == {"fit", "embed", "probe", "total"}
    assert record["versions"]["torch"]
    assert record["machine"]["threads"] == 1
    assert execute(run, threads=1)["result"]["test_accuracy"] == result["test_accuracy"]


def test_the_module_of_the_tasks_is_named():
    run = {"task": "dancing", "dataset": "toy", "seed": 0}
    with pytest.raises(ValueError, match="there is no task 'dancing'; update ccassg, or remove the run"):
        execute(run)
    graph = {"n_nodes": 60, "n_classes": 2, "mean_degree": 6, "homophily": 0.8, "n_features": 8}
    run = {"task": "default-synthetic", "dataset": "synthetic", "graph": graph, "epochs": 2, "seed": 0}
    with pytest.raises(ValueError, match="no task 'default-synthetic'"):
        execute(run)
    assert "default" in execute(run, tasks="studies.default_settings")["result"]["probes"]
