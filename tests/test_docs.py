"""Every code block of the documents runs, every command in them exists, and what they say of settings is true."""

import ast
import csv
import dataclasses
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
import typer

import ccassg
from ccassg.cli.app import app
from ccassg.defaults import choice

PROJECT = Path(__file__).parents[1]
# It describes long runs; its commands are parsed like all others, but not run.
NOT_RUN = {"docs/large-graphs.md"}
PAGES = sorted(
    str(path.relative_to(PROJECT))
    for path in (PROJECT / "README.md", *(PROJECT / "docs").rglob("*.md"))
    if path.exists()
)
# Commands that train for long or need a network; parsed only.
LONG = {"demo", "bench", "reproduce", "datasets"}


@dataclasses.dataclass(frozen=True)
class Block:
    language: str
    code: str
    line: int


def blocks_of(page):
    text = (PROJECT / page).read_text()
    return [
        Block(found[1], found[2], text[: found.start(2)].count("\n"))
        for found in re.finditer(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    ]


def commands_of(block):
    """Arguments of every `ccassg ...` line of a shell block, comments left out."""
    lines = block.code.replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("ccassg ")]


RUN_PAGES = [
    page for page in PAGES if page not in NOT_RUN and any(b.language in ("python", "sh") for b in blocks_of(page))
]


@pytest.fixture
def user_folder(tmp_path, monkeypatch):
    """A folder with a user's files, training cut to two steps and narrow encoders."""
    rng = np.random.default_rng(0)
    for name in ("edges.csv", "nodes.csv"):  # those that a reader has
        shutil.copy(PROJECT / "examples" / "papers" / name, tmp_path)
    write_graph(tmp_path, "new-", 30, rng)
    choose = choice.choose

    def small(graph, parameters, named):
        chosen, reasons = choose(graph, parameters, named)
        limits = {"n_steps": 2, "hidden_dim": 16, "embedding_dim": 16}
        return chosen | {name: min(chosen[name], limit) for name, limit in limits.items() if chosen[name]}, reasons

    monkeypatch.setattr(choice, "choose", small)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_graph(folder, prefix, n_nodes, rng):
    classes = np.arange(n_nodes) % 2
    edges = {
        tuple(sorted(rng.choice(np.flatnonzero(classes == c), 2, replace=False)))
        for c in (0, 1)
        for _ in range(n_nodes)
    }
    with open(folder / f"{prefix}edges.csv", "w", newline="") as file:
        csv.writer(file).writerows([["source", "target", "weight"], *([f"p{i}", f"p{j}", 1] for i, j in sorted(edges))])
    nodes = [
        [
            f"p{i}",
            1990 + int(rng.integers(30)),
            round(float(rng.random()), 2),
            ("KDD", "ICML")[c],
            ("theory", "systems")[c],
        ]
        for i, c in enumerate(classes)
    ]
    with open(folder / f"{prefix}nodes.csv", "w", newline="") as file:
        csv.writer(file).writerows([["id", "year", "length", "venue", "label"], *nodes])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", RUN_PAGES)
def test_blocks_run(page, user_folder, program):
    """The blocks of a page, one after the other in one folder, as a reader would type them."""
    if page in ("docs/guide/similar.md", "docs/guide/links.md", "docs/guide/evaluate.md", "docs/guide/report.md"):
        assert program("fit", "edges.csv", "--features", "nodes.csv", "-o", "my-model")[0] == 0
    names = {}
    for block in blocks_of(page):
        if block.language == "python":
            for module in optional_imports(block.code):
                pytest.importorskip(module)
            exec(compile("\n" * block.line + block.code, page, "exec"), names)
        elif block.language == "sh":
            for arguments in commands_of(block):
                if arguments[0] not in LONG:
                    code, _, errors = program(*arguments)
                    assert code == 0, f"{page}: ccassg {shlex.join(arguments)}: {errors}"


def optional_imports(code):
    known = {"torch_geometric", "scanpy", "anndata", "networkx", "pandas", "polars", "matplotlib"}
    nodes = [node for node in ast.walk(ast.parse(code)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    modules = {
        (alias.name if isinstance(node, ast.Import) else node.module).split(".")[0]
        for node in nodes
        for alias in node.names
    }
    return sorted(modules & known)


@pytest.mark.parametrize("page", PAGES)
def test_commands_exist(page):
    """Command, options and arguments parse; nothing runs."""
    group = typer.main.get_command(app)
    for block in blocks_of(page):
        for arguments in commands_of(block) if block.language in ("sh", "bash", "shell") else ():
            context = group.make_context("ccassg", list(arguments))
            command, rest = group, arguments
            while hasattr(command, "resolve_command") and rest:
                name, command, rest = command.resolve_command(context, list(rest))
                context = command.make_context(name, list(rest), parent=context)
                rest = context.args if hasattr(command, "resolve_command") else []


@pytest.mark.parametrize("page", PAGES)
def test_links_and_pictures_exist(page):
    text = re.sub(r"^```.*?^```", "", (PROJECT / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if "://" not in target:
            assert ((PROJECT / page).parent / target).exists(), f"{page} points to {target}"


def test_table_of_settings_is_complete():
    text = (PROJECT / "docs/settings.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", text, re.MULTILINE))
    parameters = ccassg.CCASSG().get_params()
    assert set(rows) == set(parameters)
    assert {name: ast.literal_eval(default) for name, default in rows.items()} == parameters


def test_method_page_names_what_exists():
    """Each file and function of the table from equation to function."""
    package = Path(ccassg.__file__).parent
    text = (PROJECT / "docs/method.md").read_text()
    found = re.findall(r"`([\w/]+\.py)`(?:: ((?:`[\w.]+`(?:, )?)+))?", text)
    assert len(found) > 20
    for file, names in found:
        tree = ast.parse((package / file).read_text())
        defined = {getattr(node, "name", None) for node in tree.body} | {
            target.id
            for node in tree.body
            if isinstance(node, (ast.Assign, ast.AnnAssign))
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        for name in re.findall(r"`([\w.]+)`", names):
            if not name.endswith(".py"):
                assert name.split(".")[0] in defined, f"{file} has no {name}"


def test_architecture_page_names_every_module():
    package = Path(ccassg.__file__).parent
    text = (PROJECT / "docs/architecture.md").read_text()
    for path in package.iterdir():
        name = f"{path.name}/" if path.is_dir() else path.name
        if (path.suffix == ".py" or (path / "__init__.py").exists()) and path.name != "__main__.py":
            assert f"\n  {name}" in text, f"the tree lacks {name}"


def test_architecture_page_has_the_layers_of_the_test():
    from test_layers import LAYERS

    text = (PROJECT / "docs/architecture.md").read_text()
    rows = re.findall(r"^\| (\d) \| (.*) \|$", text, re.MULTILINE)
    assert {name: int(layer) for layer, names in rows for name in re.findall(r"`(\w+)`", names)} == LAYERS


def test_methods_page_names_every_method():
    from ccassg.systems import METHODS

    text = (PROJECT / "docs/guide/methods.md").read_text()
    assert [name for name in METHODS if f"`{name}`" not in text] == []


def test_every_experiment_has_a_page_that_the_overview_links():
    from ccassg.experiments import EXPERIMENTS

    overview, site = ((PROJECT / name).read_text() for name in ("docs/reproduction.md", "mkdocs.yml"))
    for name in EXPERIMENTS:
        page = (PROJECT / f"docs/reproduction/{name}.md").read_text()
        assert f"<!-- begin: {name} -->" in page
        assert page.index("## What the paper claims") < page.index("## What was found")
        assert f"(reproduction/{name}.md)" in overview
        assert f": reproduction/{name}.md\n" in site


@pytest.mark.parametrize("page", ["Makefile", "SECURITY.md", "CONTRIBUTING.md", "README.md", *PAGES])
def test_files_of_the_repository_that_a_page_names_are_there(page):
    named = re.findall(
        r"\b(?:tests|studies|examples|results)/[\w/.-]+\.(?:py|json|jsonl|md)\b", (PROJECT / page).read_text()
    )
    assert [name for name in named if "DATASET" not in name and not (PROJECT / name).exists()] == []
