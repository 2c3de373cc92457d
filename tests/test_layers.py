"""Imports point downwards only, sockets are in one file, and importing the package is light."""

import ast
import graphlib
import subprocess
import sys
from pathlib import Path

import pytest

import ccassg

ROOT = Path(ccassg.__file__).parent
# Lower number = lower layer; a module may import its own layer and those below.
LAYERS = {
    "graph": 0,
    "memory": 0,
    "optional": 0,
    "provenance": 0,
    "waiting": 0,
    "worker": 0,
    "datasets": 1,
    "io": 1,
    "model": 1,
    "training": 2,
    "defaults": 3,
    "parameters": 4,
    "system": 4,
    "encoder_shape": 4,
    "model_file": 4,
    "estimator": 4,
    "node_embedder": 4,
    "evaluate": 4,
    "systems": 5,
    "report": 6,
    "run": 7,
    "scoring": 7,
    "experiments": 7,
    "bench": 7,
    "cli": 8,
}
OPTIONAL = {
    "torch_geometric", "matplotlib", "gensim", "anndata", "scanpy", "pandas", "polars",
    "networkx", "pymetis", "umap", "pooch", "typer", "rich", "pyarrow",
}  # fmt: skip
FILES = sorted(path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.stem not in ("__init__", "__main__"))


def imported(path: Path) -> set[str]:
    """Full names of all that a file imports, wherever in it, for annotations too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def module_of(path: Path) -> str:
    """The full name of the module that a file is."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def needed_modules() -> dict[str, set[str]]:
    """For each module of the package those that it imports, for annotations or inside a function too."""
    files = {module_of(path): path for path in ROOT.rglob("*.py") if path.name != "__main__.py"}
    found: dict[str, set[str]] = {}
    for module, path in files.items():
        named = imported(path)
        found[module] = {name for name in named if name in files} | {
            name.rpartition(".")[0] for name in named if name not in files and name.rpartition(".")[0] in files
        }
        found[module] -= {module, "ccassg"}  # the package itself imports nothing before it is asked to
    return found


def layer_of(name: str) -> int:
    return LAYERS[name]


def test_no_import_runs_in_a_circle():
    try:
        order = list(graphlib.TopologicalSorter(needed_modules()).static_order())
    except graphlib.CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))
    assert order.index("ccassg.graph.graph") < order.index("ccassg.model.algorithm") < order.index("ccassg.estimator")


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


def test_the_program_answers_tab_and_help_without_large_libraries():
    code = "import sys, ccassg.cli; print(sorted({'torch', 'sklearn', 'pyarrow', 'numpy', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ast.literal_eval(done.stdout) == []


def test_every_public_name_is_there():
    assert sorted(ccassg._PLACES) == sorted(ccassg.__all__)
    assert set(ccassg.__all__) <= set(dir(ccassg))
    for name in ccassg.__all__:
        assert getattr(ccassg, name).__module__.startswith("ccassg.")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ccassg.nothing  # noqa: B018
