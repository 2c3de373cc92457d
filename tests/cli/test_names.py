"""Names at a Tab: all that begin so, in order, and nothing imported before."""

import subprocess
import sys

import pytest

from ccassg.cli.names import datasets_beginning, embedders_beginning, experiments_beginning, methods_beginning


@pytest.mark.parametrize(
    ("names", "start", "expected"),
    [
        (datasets_beginning, "", ["citeseer", "computers", "cora", "cs", "photo", "physics", "pubmed"]),
        (datasets_beginning, "p", ["photo", "physics", "pubmed"]),
        (datasets_beginning, "cora", ["cora"]),
        (datasets_beginning, "Cora", []),
        (methods_beginning, "gca", ["gca-degree", "gca-eigenvector", "gca-pagerank"]),
        (methods_beginning, "cca", ["cca-ssg"]),
        (methods_beginning, "magic", []),
        (methods_beginning, "ga", ["gae", "gat"]),
        (embedders_beginning, "ga", ["gae"]),
        (experiments_beginning, "co", ["collapse", "copurchase", "correlation"]),
    ],
)
def test_names_that_begin_so(names, start, expected):
    assert names(start) == expected


def test_the_shell_is_offered_names(complete):
    assert complete("fit", "edges.csv", "--method", "gra") == ["grace", "graph-barlow-twins"]
    assert complete("datasets", "fetch", "c") == ["citeseer", "computers", "cora", "cs"]
    assert complete("reproduce", "l") == ["label-rates", "lambda"]


def test_nothing_is_imported_before_a_name_is_asked_for():
    code = (
        "import sys; from ccassg.cli import names; "
        "held = ('ccassg.systems', 'ccassg.experiments', 'torch'); "
        "print(*[name in sys.modules for name in held]); names.methods_beginning('c'); "
        "print(*[name in sys.modules for name in held])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False False False", "True False False"]
