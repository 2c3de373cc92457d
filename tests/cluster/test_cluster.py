"""What the harness of several machines is made of; the harness itself is `make cluster`."""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp

from ccassg import as_graph
from tests.cluster.network import Machines, why_not
from tests.cluster.page import BEGIN, CHECKS, DOCUMENT, END, RESULTS, renew, tables
from tests.cluster.run import bytes_per_step, rows_exchanged


def test_the_rows_that_parts_exchange_are_counted_once():
    # Node 1 sends to 2 and 3, both of the other part, in one row each; 2 and 3 send to 1.
    edges = sp.coo_array((np.ones(3), ([0, 1, 1], [1, 2, 3])), (4, 4))
    graph = as_graph(edges, np.eye(4, dtype=np.float32))
    assert rows_exchanged(graph, np.array([0, 0, 1, 1])) == [(1, 2), (2, 1)]


def test_the_formula_is_that_of_the_guide():
    # Four machines send each byte that is added up 1.5 times: three Grams of 2 x 2 and a gradient of 5 x 2.
    assert bytes_per_step((3, 4), 5, width=2) == 1.5 * 4 * (12 + 10) + 7 * (16 + 8)


def test_checks_that_were_not_recorded_say_so():
    assert tables({}) == "No figures are recorded yet."
    made = {"commit": {"id": "0123456789"}, "busy": True}
    text = tables({"default": {"figures": {"difference": 1e-7}, "made": made}})
    assert text.count("not recorded yet") == len(CHECKS) - 1
    assert "that of one: 1.0e-07." in text
    assert "Commit 0123456. Recorded while the machine was shared with other work: default." in text


def test_only_what_is_between_the_marks_changes():
    text = renew(f"a\n{BEGIN}\nold\n{END}\nz\n", {})
    assert text.startswith(f"a\n{BEGIN}")
    assert text.endswith(f"{END}\nz\n")
    assert "old" not in text
    with pytest.raises(ValueError, match="lacks"):
        renew("nothing", {})


def test_the_document_is_that_of_the_record():
    record = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    assert renew(DOCUMENT.read_text(), record) == DOCUMENT.read_text(), "run: python -m tests.cluster.page"


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="needs root and ip")
@pytest.mark.parametrize("delay", [0.0, 0.01])
def test_machines_reach_each_other_as_slowly_as_told_and_are_gone_at_the_end(delay, tmp_path):
    if reason := why_not():
        pytest.skip(reason)
    with Machines(2, delay=delay) as machines:
        assert machines.round_trip(5) >= 2 * delay
        machines.start("m2", ["hostname"], tmp_path / "said").wait()
        assert (tmp_path / "said").read_text() == "m2\n"
        sleeping = machines.start("m1", ["sleep", "60"], tmp_path / "nothing")
    assert sleeping.wait(5) < 0
    assert f"cc{os.getpid()}" not in subprocess.run(["ip", "netns"], capture_output=True, text=True).stdout
