"""The protocol: one line of JSON in, one line out, and an end when the caller ends."""

import json
import subprocess
import sys

import pytest

from ccassg.worker import Worker, WorkerError, why

# What the worker is told to import: prints, answers, fails, dies.
SERVANT = """
import os

def serve(orders):
    for order in orders:
        print("libraries may print")
        if order["do"] == "die":
            os._exit(3)
        if order["do"] == "show":
            yield {"environment": os.environ.get(order["name"])}
        else:
            yield {"did": order["do"], "number": 1 / order["number"]}
"""


@pytest.fixture
def servant(tmp_path, monkeypatch):
    (tmp_path / "servant.py").write_text(SERVANT)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    return "servant"


def test_one_answer_per_order(servant):
    with Worker(servant, threads=1) as worker:
        assert worker.ask({"do": "this", "number": 2}) == {"did": "this", "number": 0.5}
        assert worker.ask({"do": "that", "number": 4}) == {"did": "that", "number": 0.25}


def test_its_environment_is_this_ones_but_for_what_is_given(servant, monkeypatch):
    monkeypatch.setenv("GOMP_SPINCOUNT", "5")
    for given, expected in (({}, "5"), ({"GOMP_SPINCOUNT": "7"}, "7")):
        with Worker(servant, environment=given) as worker:
            assert worker.ask({"do": "show", "name": "GOMP_SPINCOUNT"}) == {"environment": expected}


def test_work_that_fails_or_answers_no_json_is_told(servant):
    with Worker(servant) as worker, pytest.raises(WorkerError, match="ZeroDivisionError: division by zero"):
        worker.ask({"do": "this", "number": 0})
    with Worker(servant) as worker, pytest.raises(WorkerError, match="ValueError: Out of range float values"):
        worker.ask({"do": "this", "number": 1e-320})  # one over it is infinite


def test_a_process_that_dies_is_explained(servant):
    with Worker(servant) as worker:
        with pytest.raises(WorkerError, match="the process ended with code 3: libraries may print"):
            worker.ask({"do": "die"})
        with pytest.raises(WorkerError, match="ended with code 3"):
            worker.ask({"do": "this"})
    assert "killed, most likely for want of memory" in why(-9, "")
    assert why(3, "a\nlast words\n") == "the process ended with code 3: last words"


def test_a_stopped_worker_answers_no_more(servant):
    with Worker(servant) as worker:
        worker.ask({"do": "this", "number": 1})
        worker.stop()
        with pytest.raises(WorkerError, match="killed"):
            worker.ask({"do": "this", "number": 1})


def test_a_worker_ends_when_nobody_waits():
    settings = {"n_steps": 10**9, "learning_rate": 1e-3, "noise": 0.5}
    run = {"task": "collapse", "dataset": "toy", "case": "invariance", "settings": settings, "seed": 0}
    command = [sys.executable, "-m", "ccassg.worker", "ccassg.experiments.runner"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdin.write(json.dumps({"run": run}) + "\n")
        process.stdin.close()
        assert process.wait(timeout=120) == 1
        assert process.stdout.read() == ""
