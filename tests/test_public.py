"""The public door: every name has an example that runs, and the documents need nothing behind it."""

import ast
import doctest
import re
from pathlib import Path

import pytest

import ccassg

PROJECT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "docs/quick-start.md",
    *(f"docs/guide/{path.name}" for path in (PROJECT / "docs/guide").glob("*.md")),
)
# Documented modules beside the door.
MODULES = ("ccassg.evaluate", "ccassg.report", "ccassg.systems")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ccassg.__all__)
def test_every_public_name_has_an_example_that_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = getattr(ccassg, name).__doc__
    assert "Examples\n    --------\n" in text
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert test.examples
    assert not any(doctest.SKIP in example.options for example in test.examples)
    assert any(f"ccassg.{name}" in example.source for example in test.examples), "it shows its own name"
    report = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize("page", PAGES)
def test_documents_use_the_door(page):
    text = (PROJECT / page).read_text()
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "ccassg":
            is_door = node.module == "ccassg" and {alias.name for alias in node.names} <= set(ccassg.__all__)
            assert is_door or node.module.startswith(MODULES), f"{page} imports from {node.module}"
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("ccassg")]
            assert set(names) <= {"ccassg"}, f"{page} imports {names}"
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", None) == "ccassg":
            assert node.attr in ccassg.__all__, f"{page} uses ccassg.{node.attr}"
