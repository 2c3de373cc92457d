"""Whether CCA-SSG is lighter is said of time and memory apart."""

import pytest

from ccassg.experiments.scalability import _lighter


@pytest.mark.parametrize(
    ("seconds", "memory", "word"),
    [(1, 1, True), (9, 9, False), (1, 9, "confirmed for time alone"), (9, 1, "confirmed for memory alone")],
)
def test_lighter_in_both_in_one_or_in_none(seconds, memory, word):
    def record(seconds, memory):
        return {"seconds": {"fit": seconds}, "result": {"peak_memory_fit_bytes": memory}}

    found = {"dgi": [record(0, 0)], "mvgrl": [record(5, 5), record(7, 7)], "grace": [record(6, 6)]}
    assert _lighter(found | {"cca-ssg": [record(20, 20), record(seconds, memory)]}) == word
