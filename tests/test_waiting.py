"""How threads wait is chosen before PyTorch is loaded, and the user's own choice stays."""

import os
import subprocess
import sys
import warnings

import pytest

from ccassg import waiting

SHOW = "import os; print(os.environ.get('GOMP_SPINCOUNT'), os.environ.get('OMP_WAIT_POLICY'))"


def told(code, **environment):
    """What a fresh Python prints, without a choice in the environment but the given one."""
    bare = {name: value for name, value in os.environ.items() if name not in waiting.VARIABLES}
    done = subprocess.run(
        [sys.executable, "-c", code], env=bare | environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip(), done.stderr


def test_importing_the_package_or_starting_the_program_chooses():
    assert told(f"import ccassg; {SHOW}")[0] == "1000 None"
    assert told(f"import ccassg.__main__; {SHOW}")[0] == "1000 None"


@pytest.mark.parametrize("own", [{"GOMP_SPINCOUNT": "7"}, {"OMP_WAIT_POLICY": "active"}])
def test_the_users_choice_stays(own):
    shown, _ = told(f"import ccassg; {SHOW}", **own)
    assert shown == f"{own.get('GOMP_SPINCOUNT')} {own.get('OMP_WAIT_POLICY')}"


def test_openmp_itself_has_read_it():
    code = "import ccassg, torch; torch.ones(2).sum()"
    assert "GOMP_SPINCOUNT = '1000'" in told(code, OMP_DISPLAY_ENV="verbose")[1]


BUSY = """
import os, torch, sys
os.getloadavg = lambda: (float(sys.argv[1]), 0, 0)
torch.set_num_threads(int(sys.argv[2]))
import ccassg
data = ccassg.load_dataset("cora")
for _ in range(2):
    ccassg.CCASSG.preset("cora", n_steps=1, hidden_dim=8, embedding_dim=8).fit(data)
"""


@pytest.mark.parametrize(("load", "threads", "times"), [(1.5, 2, 1), (0.1, 2, 0), (1.5, 1, 0)])
def test_where_it_comes_too_late_a_busy_machine_is_told_once(load, threads, times):
    code = BUSY.replace("sys.argv[1]", str(load)).replace("sys.argv[2]", str(threads))
    _, errors = told(code, CCASSG_DATA=os.environ.get("CCASSG_DATA", ""))
    assert errors.count("UserWarning") == times
    assert errors.count("import ccassg before torch, or set GOMP_SPINCOUNT=1000") == times


def test_who_has_chosen_is_told_nothing(monkeypatch):
    monkeypatch.setattr(waiting, "_is_late", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        waiting.warn_if_late()
