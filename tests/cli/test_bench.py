"""`ccassg bench`: its options; what it measures is tested with the modules that measure."""

import pytest


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--draw-only"], "--draw-only needs"),
        (["--update"], "--update needs the file"),
        (["--datasets", "corra"], "there is no dataset 'corra'"),
    ],
)
def test_options_that_do_not_go_together(program, options, sentence):
    code, _, err = program("bench", *options)
    assert code == 2
    assert sentence in err


def test_a_file_without_figures_is_named(tmp_path, program):
    for content in ("<html>", "[]", "{}"):
        (tmp_path / "page.json").write_text(content)
        code, _, err = program("bench", "--draw-only", "--json", tmp_path / "page.json", "--docs", tmp_path / "x.md")
        assert code == 2
        assert "page.json does not hold the figures of ccassg bench" in err.replace("\n", " ")
