"""Imports point downwards only, sockets are in one file, and importing the package is light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import ccassg

ROOT = Path(ccassg.__file__).parent
# Lower number = lower layer; a module may import its own layer and those below.
LAYERS = {
    "graph": 0,
    "provenance": 0,
    "worker": 0,
    "datasets": 1,
    "io": 1,
    "model": 1,
    "training": 2,
    "defaults": 3,
    "parameters": 4,
    "system": 4,
    "model_file": 4,
    "estimator": 4,
    "node_embedder": 4,
    "evaluate": 4,
    "systems": 5,
    "report": 6,
    "run": 7,
    "experiments": 7,
    "bench": 7,
    "cli": 8,
}
OPTIONAL = {
    "torch_geometric", "matplotlib", "gensim", "cca_zoo", "anndata", "scanpy", "faiss", "pandas", "polars",
    "networkx", "tensorboard", "pymetis", "umap", "pooch", "typer", "rich", "pyarrow",
}  # fmt: skip
FILES = sorted(path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.stem not in ("__init__", "__main__"))


def imported(path: Path) -> set[str]:
    """Full names of all that a file imports, wherever in it, except for annotations only."""
    tree = ast.parse(path.read_text())
    skipped = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.unparse(branch.test)
        for node in ast.walk(branch)
    }
    names: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def layer_of(name: str) -> int:
    return LAYERS[name]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_downwards(path):
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    for name in imported(path):
        parts = name.split(".")
        if parts[0] == "ccassg" and len(parts) > 1 and parts[1] in LAYERS:
            assert layer_of(parts[1]) <= layer_of(own), f"{own} imports {name}, which lies above it"
        if own == "report":
            assert parts[0] != "torch", "the report works without torch"
        if own == "evaluate":
            assert parts[:2] not in (["ccassg", "estimator"], ["ccassg", "systems"]), "evaluation knows no method"


def test_only_the_download_opens_a_socket():
    for path in FILES:
        if path.relative_to(ROOT).as_posix() == "datasets/download.py":
            continue
        used = {name.split(".")[0] for name in imported(path)} | {
            ".".join(name.split(".")[:2]) for name in imported(path)
        }
        assert not used & {"socket", "requests", "urllib.request", "http.client", "urllib3", "httpx"}, path


def test_only_distributed_knows_torch_distributed():
    for path in FILES:
        if path.name != "distributed.py":
            assert not any(name.startswith("torch.distributed") for name in imported(path)), path


def test_import_is_light():
    code = "import sys, ccassg; print(sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ast.literal_eval(done.stdout))
    # torch itself loads networkx or sympy in some versions; what it loads is not ours to answer for.
    torch_code = "import sys, torch, sklearn.base, sklearn.linear_model; print(sorted({name.split('.')[0] for name in sys.modules}))"
    base = set(
        ast.literal_eval(
            subprocess.run([sys.executable, "-c", torch_code], capture_output=True, text=True, check=True).stdout
        )
    )
    assert not (loaded - base) & OPTIONAL


def test_the_program_answers_tab_and_help_without_pytorch():
    code = "import sys, ccassg.cli; print(sorted({'torch', 'sklearn', 'pyarrow'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ast.literal_eval(done.stdout) == []


def test_every_public_name_is_there():
    assert sorted(ccassg._PLACES) == sorted(ccassg.__all__)
    assert set(ccassg.__all__) <= set(dir(ccassg))
    for name in ccassg.__all__:
        assert getattr(ccassg, name).__module__.startswith("ccassg.")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ccassg.nothing  # noqa: B018
