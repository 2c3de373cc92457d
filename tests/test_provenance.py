import importlib.metadata
import shutil
import subprocess
import sys
import time

import pytest

from ccassg import provenance
from ccassg.provenance import effective, versions


def test_commit_is_that_of_the_source(monkeypatch, tmp_path):
    def git(*arguments):
        who = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false")
        command = ["git", "-C", str(tmp_path), *who, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    source = tmp_path / "src" / "__init__.py"
    source.parent.mkdir()
    source.write_text("")
    monkeypatch.setattr(provenance, "__file__", str(source.with_name("provenance.py")))
    assert provenance.commit() is None  # no repository
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    git("init", "-q")
    (tmp_path / "README").write_text("")
    git("add", "README")
    git("commit", "-q", "-m", "someone else's")
    assert provenance.commit() is None  # a repository that does not have these files
    git("add", "src")
    git("commit", "-q", "-m", "ours")
    assert provenance.commit() == {"id": git("rev-parse", "HEAD"), "modified": False}
    (tmp_path / "README").write_text("elsewhere")
    (tmp_path / "src" / "untracked.txt").write_text("")
    assert provenance.commit()["modified"] is False
    source.write_text("'''changed'''")
    assert provenance.commit() == {"id": git("rev-parse", "HEAD"), "modified": True}


def test_without_git_there_is_no_commit(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert provenance.commit() is None


def test_peak_memory_is_of_this_process_alone(tmp_path):
    script = tmp_path / "peaks.py"
    script.write_text(
        "import runpy, subprocess, sys\n"
        "peak = runpy.run_path(sys.argv[1])['peak_memory']\n"
        "print(peak(), flush=True)\n"
        "if sys.argv[2] == 'parent':\n"
        "    ballast = b'1' * 300_000_000\n"
        "    print(peak())\n"
        "    del ballast\n"
        "    print(peak(), flush=True)\n"
        "    subprocess.run([sys.executable, *sys.argv[:2], 'child'], check=True)\n"
    )
    command = [sys.executable, script, provenance.__file__, "parent"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    before, with_ballast, after, of_child = map(int, found.stdout.split())
    assert 10**6 < before < 10**8
    assert 3e8 <= with_ballast - before < 3.2e8
    assert after >= 3e8
    assert of_child < 10**8  # a child does not inherit the parent's peak


def test_versions_name_what_changes_results(monkeypatch):
    found = versions()
    assert found["python"].split(".")[0] == "3"
    assert {"ccassg", "torch", "numpy", "pyarrow"} <= set(found)
    assert found["numpy"] == importlib.metadata.version("numpy")


def test_what_is_not_installed_is_left_out(monkeypatch):
    monkeypatch.setattr("ccassg.provenance.PACKAGES", ("ccassg", "no-such-package"))
    assert set(versions()) == {"python", "ccassg"}


def test_a_run_says_where_it_comes_from():
    made_by = provenance.of_run(3, 1.5)
    assert (made_by["seed"], made_by["seconds"]) == (3, 1.5)
    assert made_by["versions"] == versions()
    assert made_by["machine"]["threads"] >= 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says so")
def test_what_this_process_works_is_among_what_all_work():
    before, own = provenance.busy_seconds(), time.process_time()
    while time.process_time() < own + 0.2:
        pass
    assert provenance.busy_seconds() - before >= 0.2 - 0.03  # it is counted in hundredths of a second


def test_only_settings_that_acted_are_named():
    given = {"encoder": "canonical", "embedding_dim": 72, "learning_rate": 0.001, "n_steps": None, "random_state": 0}
    assert effective(given) == {"encoder": "canonical", "embedding_dim": 72, "random_state": 0}
    assert effective(given | {"encoder": "gcn"}) == {
        "encoder": "gcn", "embedding_dim": 72, "learning_rate": 0.001, "random_state": 0,
    }  # fmt: skip
