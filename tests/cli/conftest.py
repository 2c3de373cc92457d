"""Files as a user has them, and a model made of them."""

import os
import subprocess
import sys

import numpy as np
import pytest

from ccassg.cli import main

QUICK = ("--set", "encoder=gcn", "--set", "n_steps=5", "--set", "hidden_dim=8", "--set", "embedding_dim=3")


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Two communities of string ids, with features and labels, as CSV."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    group = np.arange(60) % 2
    edges = [(i, j) for i in range(60) for j in range(i) if rng.random() < (0.2 if group[i] == group[j] else 0.02)]
    (folder / "edges.csv").write_text("source,target\n" + "".join(f"n{i},n{j}\n" for i, j in edges))
    rows = [
        f"n{i},{x[0]:.4f},{x[1]:.4f},{x[2]:.4f},{'red' if group[i] else 'blue'}\n"
        for i in range(60)
        for x in [rng.normal(size=3) + group[i]]
    ]
    (folder / "nodes.csv").write_text("id,a,b,c,label\n" + "".join(rows))
    return folder


@pytest.fixture(scope="session")
def model(files, tmp_path_factory):
    """The folder of a model of those files, as `ccassg fit` leaves it."""
    folder = tmp_path_factory.mktemp("model") / "m"
    arguments = ["ccassg", "fit", files / "edges.csv", "--features", files / "nodes.csv", "-o", folder, *QUICK]
    before, sys.argv = sys.argv, [str(argument) for argument in arguments]
    try:
        with pytest.raises(SystemExit) as stop:
            main()
    finally:
        sys.argv = before
    assert not stop.value.code
    return folder


@pytest.fixture(scope="session")
def complete():
    """A function of the words of a command line: what the shell would offer for the last."""

    def complete(*words):
        given = {
            "COMP_WORDS": " ".join(("ccassg", *words)),
            "COMP_CWORD": str(len(words)),
            "_CCASSG_COMPLETE": "complete_bash",
        }
        code = "import sys; sys.argv = ['ccassg']; from ccassg.cli import main; main()"
        done = subprocess.run([sys.executable, "-c", code], env=os.environ | given, capture_output=True, text=True)
        assert done.stderr == ""
        return done.stdout.split()

    return complete
