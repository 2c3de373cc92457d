import json
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
