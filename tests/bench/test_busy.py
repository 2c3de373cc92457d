"""A process that holds a core for as long as its caller lives."""

import time
from pathlib import Path

import pytest

from ccassg.worker import Worker

TICKS = Path("/proc/self/stat")


def cpu_ticks(pid):
    """Processor time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


@pytest.mark.skipif(not TICKS.exists(), reason="the system does not show the processes' times")
def test_it_computes_until_its_caller_ends():
    with Worker("ccassg.bench.busy") as worker:
        assert worker.ask({}) == {}
        process = worker._process
        before, end = cpu_ticks(process.pid), time.monotonic() + 60
        while cpu_ticks(process.pid) < before + 5:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert process.poll() is None
    assert process.poll() is not None
