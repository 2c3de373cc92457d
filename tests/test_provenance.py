import importlib.metadata
import subprocess
import sys

from ccassg import provenance
from ccassg.provenance import versions


def test_commit_is_that_of_the_source(monkeypatch):
    made = provenance.commit()
    assert made is None or len(made["id"]) == 40
    monkeypatch.setattr(provenance, "_git", lambda *_: "")
    assert provenance.commit() is None

    def no_git(*_):
        raise FileNotFoundError("git")

    monkeypatch.setattr(provenance, "_git", no_git)
    assert provenance.commit() is None


def test_peak_memory_is_of_this_process_alone():
    before = provenance.peak_memory()
    ballast = bytearray(300_000_000)
    ballast[:] = b"1" * len(ballast)
    assert provenance.peak_memory() > before + 200_000_000 or before > 600_000_000
    # A child does not inherit the parent's peak.
    script = "import runpy, sys; print(runpy.run_path(sys.argv[1])['peak_memory']())"
    child = subprocess.run(
        [sys.executable, "-c", script, provenance.__file__], capture_output=True, text=True, check=True
    )
    assert int(child.stdout) < 200_000_000


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
