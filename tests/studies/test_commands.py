"""Whole commands, timed."""

import pytest

from studies.commands import commands, draw, measured, walk

PROVENANCE = {
    "commit": {"id": "0123456789", "modified": False},
    "versions": {"torch": "2.13.0"},
    "machine": {"cpus": 2, "processor": "a processor", "threads": 2},
}


def test_the_small_table_is_fitted_as_a_user_would(tmp_path):
    lines = []
    rows = walk(tmp_path, say=lines.append)  # a folder without WordNet
    assert [row["command"] for row in rows] == ["ccassg --help", "ccassg fit"]
    assert all(min(row["cpu_seconds"], row["seconds"]) > 0 for row in rows)
    assert rows[1]["peak_memory"] > 1e8  # PyTorch is loaded
    assert len(lines) == 2
    text = draw({"rows": rows, "provenance": PROVENANCE})
    assert "| `ccassg fit` | a table of 1,000 rows |" in " ".join(text.split())
    assert "Commit 0123456; torch 2.13.0" in text


def test_wordnet_goes_through_every_command(tmp_path):
    (tmp_path / "own" / "wordnet").mkdir(parents=True)
    named = [command[0] for graph, command in commands(tmp_path, tmp_path) if graph == "WordNet"]
    assert named == ["fit", "evaluate", "similar", "links", "report"]


def test_a_command_that_fails_says_why(tmp_path):
    with pytest.raises(RuntimeError, match=r"ccassg report nowhere failed: .*nowhere"):
        measured(["report", "nowhere"], tmp_path)
