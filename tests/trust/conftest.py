"""Short by default; with CCASSG_SOAK=1 (`make soak`) in full, and what was measured goes to results/trust.json."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from chores import SOAK
from nursery import Nursery

PROJECT = Path(__file__).parents[2]
RESULTS = PROJECT / "results" / "trust.json"
FIGURES: dict[str, dict] = {}
# Harnesses that live beside what they test; how many files one test of theirs tries.
ELSEWHERE = {"tests/io/test_fuzz.py": "damaged tables", "tests/report/test_page.py": "hostile page"}


@pytest.fixture(scope="session")
def scale():
    """A function (short, full) -> the one that applies."""
    return lambda short, full: full if SOAK else short


@pytest.fixture(scope="session")
def figure():
    """A function (name, **numbers): keeps what was measured for the record."""
    return lambda name, **numbers: FIGURES.setdefault(name, {}).update(numbers)


@pytest.fixture(scope="session")
def count():
    """A function (name, **numbers): adds to what was measured."""

    def add(name, **numbers):
        counts = FIGURES.setdefault(name, {})
        for key, number in numbers.items():
            counts[key] = counts.get(key, 0) + number

    return add


@pytest.fixture(scope="session")
def nursery(tmp_path_factory):
    """The program, ready to start."""
    made = Nursery(tmp_path_factory.mktemp("nursery"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def tables(tmp_path_factory):
    """A small graph as a user has it: the arguments that name its edge file and its node table."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    edges, nodes = folder / "edges.csv", folder / "nodes.csv"
    edges.write_text("source,target\n" + "".join(f"n{a},n{b}\n" for a, b in rng.integers(0, 60, (150, 2))))
    rows = "".join(f"n{i}," + ",".join(f"{x:.4f}" for x in rng.normal(size=6)) + "\n" for i in range(60))
    nodes.write_text("id," + ",".join(f"x{j}" for j in range(6)) + "\n" + rows)
    return (str(edges), "--features", str(nodes))


def count_elsewhere(reports):
    """Count the harnesses that live elsewhere; a hook here is not told of their tests, so this goes by their reports."""
    for report in reports:
        file = report.nodeid.split("::")[0]
        if report.when == "call" and file in ELSEWHERE:
            counts = FIGURES.setdefault(ELSEWHERE[file], {"tests": 0, "failed": 0})
            counts["tests"] += 1
            counts["failed"] += report.failed
            if file.endswith("fuzz.py"):
                n_files = int(os.environ.get("CCASSG_FUZZ_FILES", "60"))
                counts["files"] = counts.get("files", 0) + (n_files // 10 if "h5ad" in report.nodeid else n_files)


def pytest_sessionfinish(session, exitstatus):
    """Write the record of a full run; harnesses that did not run now keep their earlier figures."""
    if not SOAK:
        return
    stats = session.config.pluginmanager.get_plugin("terminalreporter").stats
    count_elsewhere([*stats.get("passed", ()), *stats.get("failed", ())])
    if not FIGURES:
        return
    from ccassg import provenance
    from ccassg.provenance import versions

    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"figures": {}}
    made = {"commit": provenance.commit(), "versions": versions(), "machine": provenance.machine(1)}
    known["figures"] |= {name: numbers | {"made": made} for name, numbers in FIGURES.items()}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
