import pytest

import mutate

SOURCE = '''"""Sums of at least 1."""


def total(values: list[int], start: int = 0, *, block_rows: int = 7) -> int:
    if start > 10:
        raise ValueError(f"start must be at most {5 + 5}")
    return sum((value for value, _ in zip(values, values, strict=True)), start=start)
'''


@pytest.fixture
def tree(tmp_path):
    files = {
        "pyproject.toml": "",
        "src/tiny/__init__.py": "",
        "src/tiny/core/sums.py": SOURCE,
        "tests/core/test_sums.py": (
            "from tiny.core.sums import total\n\n\ndef test_total():\n"
            "    assert total([1, 2]) == 3\n    assert total([1], 2) == 3\n"
        ),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_only_what_computes_is_changed(tree):
    assert [mutant.place.split(": ", 1)[1].split("  in  ")[0] for mutant in mutate.mutants(tree, ["core"])] == [
        "0 -> 1",
        "start > 10 -> (start >= 10)",
        "10 -> 11",
        "sum((value for value, _ in zip(values, values, strict=True)), start=start) -> "
        "(sum((value for value, _ in zip(values, values, strict=True))))",
    ]


SIZES = """BLOCK_ROWS, LEAST = 7, 8
MAX_CELLS = 9


def pieces(n, *, timeout=5):
    row_bytes = 8 * n
    index = np.int32 if n < 10 else np.int64
    wait(timeout=timeout + 1)
    return index, max(BLOCK_ROWS // n, 1), max(n, 1)
"""


def test_sizes_limits_of_work_and_widths_are_left_alone(tree):
    (tree / "src/tiny/core/sums.py").write_text(SIZES)
    found = [mutant.place.split(": ", 1)[1].split("  in  ")[0] for mutant in mutate.mutants(tree, ["core"])]
    assert found == ["8 -> 9", "1 -> 2"]


def test_changes_that_no_test_notices_are_reported(tree, capsys):
    n_tried, survivors = mutate.run(tree, ["core"], seed=0, minutes=5, workers=2)
    assert n_tried == 4
    assert sorted(mutant.new for mutant in survivors) == ["(start >= 10)", "11"]  # nothing tests the limit
    assert "src/tiny/core/sums.py:5: 10 -> 11  in  if start > 10:\n" in (out := capsys.readouterr().out)
    assert out.endswith("2 of 4 changes noticed, of 4 possible, seed 0\n")
    assert (tree / "src/tiny/core/sums.py").read_text() == SOURCE


def test_no_score_where_the_tests_fail_anyway(tree):
    (tree / "tests/core/test_sums.py").write_text("def test_total():\n    assert False\n")
    with pytest.raises(SystemExit, match="fail without any change"):
        mutate.run(tree, ["core"], seed=0, minutes=5, workers=1)


def test_tests_that_do_not_end_are_a_notice(tree):
    (tree / "tests/core/test_sums.py").write_text("import time\n\n\ndef test_total():\n    time.sleep(60)\n")
    assert not mutate.survives(tree, mutate.mutants(tree, ["core"])[0], timeout=0.5)
