import subprocess
import sys

from ccassg.experiments import provenance


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
