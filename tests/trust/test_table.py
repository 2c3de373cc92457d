import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from table import BEGIN, END, FUZZED, TITLES, renew, table

PROJECT = Path(__file__).parents[2]


def test_every_harness_has_a_line_and_says_when_it_was_not_run():
    made = {"commit": {"id": "0123456789abcdef"}}
    text = table({"figures": {"soak": {"fits": 1200, "same": True, "growth": 0.123, "made": made}}})
    assert text.count("\n") == len(TITLES) + 2
    assert "| fits: 1,200, same: yes, growth: 0.12 | 0123456789 |" in text
    assert text.count("no full run recorded yet") == len(TITLES) - 1


def test_the_files_of_all_tools_are_added_up():
    text = table({"figures": {name: {"files": 1000 + i} for i, name in enumerate(FUZZED)}})
    assert "| **files tried in all** | 4,006 | |" in text
    assert set(FUZZED) < set(TITLES)


def test_only_what_is_between_the_marks_changes():
    assert renew(f"a\n{BEGIN}\nold\n{END}\nz\n", {"figures": {}}).startswith(f"a\n{BEGIN}\n| harness")
    assert renew(f"a\n{BEGIN}\nold\n{END}\nz\n", {"figures": {}}).endswith(f"{END}\nz\n")
    with pytest.raises(ValueError, match="lacks"):
        renew("nothing", {"figures": {}})


def test_the_document_is_that_of_the_record():
    results, document = PROJECT / "results" / "trust.json", (PROJECT / "docs" / "trust.md").read_text()
    record = json.loads(results.read_text()) if results.exists() else {"figures": {}}
    assert renew(document, record) == document, "run: python tests/trust/table.py"


def test_a_full_run_records_the_harnesses_that_live_elsewhere(tmp_path):
    """A hook in this folder is not called for tests of another: what is counted must come from the reports."""
    for folder in ("trust", "io"):
        (tmp_path / "tests" / folder).mkdir(parents=True)
    here = Path(__file__).parent
    for name in ("conftest.py", "chores.py", "nursery.py"):
        shutil.copy(here / name, tmp_path / "tests" / "trust" / name)
    (tmp_path / "tests" / "trust" / "test_here.py").write_text("def test_here(figure):\n    figure('soak', fits=2)\n")
    (tmp_path / "tests" / "io" / "test_fuzz.py").write_text("def test_a():\n    pass\n\n\ndef test_b():\n    pass\n")
    environment = os.environ | {"CCASSG_SOAK": "1", "CCASSG_FUZZ_FILES": "70"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/trust", "tests/io"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    figures = json.loads((tmp_path / "results" / "trust.json").read_text())["figures"]
    assert figures["soak"]["fits"] == 2
    assert figures["damaged tables"]["files"] == 140
    assert figures["damaged tables"]["failed"] == 0
    assert figures["damaged tables"]["made"]["versions"]["torch"]
