"""Change the core at random, one small thing at a time, and print the changes that no test notices.

Each change is made in a copy of the tree and taken back. The tests that mirror the changed file run on it, then those of its
folder and of the whole, but for those that are marked slow. The seed gives the order of the changes, the minutes say how many of
them are tried.
"""

import argparse
import ast
import gc
import importlib.util
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
CORE = ("model", "training", "graph", "defaults", "evaluate", "io/atomic.py", "io/ids.py", "io/edges.py")
WHOLE = ("test_estimator.py", "test_contract.py")
# What most tests import, loaded once.
HEAVY = (
    "torch scipy.sparse.linalg scipy.stats sklearn.metrics sklearn.linear_model sklearn.cluster pandas pyarrow.parquet networkx "
    "hypothesis.extra.numpy typer rich.progress safetensors.numpy pytest"
)
TEMPORARY = "temporary-files-of-tests"
# Sizes of pieces of work, on which no result depends; limits of work, memory and time, far beyond what a test can reach, which
# are tested with smaller ones; and texts about an object.
PIECES = r"\w*(BLOCK|BYTES|PIECE|CHUNK|AT_ONCE|PANELS)\w*"
LIMITS = r"\w*(CELLS|PRODUCTS|WEDGES|SECONDS|TIMEOUT|SPILL)\w*"
NOT_CODE = re.compile(rf"{PIECES}|{LIMITS}|__(repr|str)__")
# How many go into a piece, and how many at least or at most.
SHARE = re.compile(rf"((max|min)\(.*)?{PIECES} // .*", re.IGNORECASE)
# Of two, either holds the numbers of all graphs that a test can have.
WIDTH = re.compile(r"(np|torch)\.int(32|64)")
# Arguments for a check of the code itself, for the kind of machine, for memory that is used again or measured before, for the end
# of a process or of waiting, and for what is warned of.
KEPT = (
    "strict",
    "device",
    "out",
    "copy",
    "zero_copy_only",
    "output_size",
    "daemon",
    "timeout",
    "over",
    "divide",
    "invalid",
)
PAIRS = "Lt LtE, Gt GtE, Eq NotEq, Is IsNot, In NotIn, And Or, Add Sub, Mult Div"
SWAPS: dict[type, Any] = {ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult}
for one, other in (pair.split() for pair in PAIRS.split(", ")):
    SWAPS |= {getattr(ast, one): getattr(ast, other), getattr(ast, other): getattr(ast, one)}


class Mutant(NamedTuple):
    """One change: the bytes from ``start`` to ``stop`` of a file become ``new``."""

    file: Path
    start: int
    stop: int
    new: str
    place: str


def mutants(root: Path, core: Sequence[str]) -> list[Mutant]:
    """Return all changes of the files and folders ``core`` of the package of a tree, in the order of the sources."""
    [package] = (path.parent for path in root.glob("src/*/__init__.py"))
    found = []
    for file in sorted(file for name in core for file in [package / name, *(package / name).rglob("*.py")]):
        if file.is_file():
            source, name = file.read_bytes(), file.relative_to(root)
            lines = [0, *(match.end() for match in re.finditer(b"\n", source))]
            for part, new in _changes(ast.parse(source)):
                start, stop = lines[part.lineno - 1] + part.col_offset, lines[part.end_lineno - 1] + part.end_col_offset
                text = source[lines[part.lineno - 1] : lines[part.end_lineno]].decode()
                place = f"{name}:{part.lineno}: {ast.unparse(part)} -> {new}  in  {' '.join(text.split())}"
                found.append(Mutant(name, start, stop, new, place))
    return found


def _changes(node: Any) -> Iterator[tuple[Any, str]]:
    """Yield what may be changed below a node: a part of the code, and the text in its place."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple) and isinstance(node.targets[0], ast.Tuple):
        for name, value in zip(node.targets[0].elts, node.value.elts, strict=True):  # several constants in one line
            yield from _changes(ast.Assign([name], value))
        return
    name = ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else getattr(node, "name", None)
    if isinstance(node, (ast.Raise, ast.JoinedStr)) or NOT_CODE.fullmatch(name or "code"):
        return
    if isinstance(node, ast.Assign) and re.fullmatch("[a-z]+_bytes", name):
        return
    if isinstance(node, ast.keyword) and node.arg in KEPT:
        return
    if isinstance(node, (ast.BinOp, ast.Call)) and SHARE.fullmatch(ast.unparse(node)):
        return
    if isinstance(node, ast.IfExp) and all(WIDTH.fullmatch(ast.unparse(part)) for part in (node.body, node.orelse)):
        return
    for test in getattr(node, "ifs", [getattr(node, "test", None)]):
        if isinstance(test, ast.expr) and not isinstance(test, (ast.Compare, ast.UnaryOp)):
            yield test, f"(not ({ast.unparse(test)}))"
    if type(getattr(node, "op", None)) in SWAPS:
        yield node, _with(node, op=SWAPS[type(node.op)]())
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield node, _with(node, ops=[SWAPS[type(node.ops[0])]()])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield node, f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        old = node.value
        yield node, str(not old if isinstance(old, bool) else old + 1 if isinstance(old, int) else 2 * old or 1.0)
    elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1][0].islower():  # not the fields of a class
        for given in (given for given in node.keywords if given.arg not in (None, *KEPT)):
            yield node, _with(node, keywords=[other for other in node.keywords if other is not given])
    for field, value in ast.iter_fields(_without_sizes(node) if isinstance(node, ast.arguments) else node):
        if field not in ("annotation", "returns", "decorator_list"):
            for child in value if isinstance(value, list) else [value]:
                yield from _changes(child) if isinstance(child, ast.AST) else ()


def _without_sizes(node: ast.arguments) -> ast.arguments:
    """Leave out the default values of those arguments that only say how large a piece of work is."""
    named = zip([*node.posonlyargs, *node.args][::-1], node.defaults[::-1], strict=False)
    pairs = [*list(named)[::-1], *zip(node.kwonlyargs, node.kw_defaults, strict=True)]
    left = [value for argument, value in pairs if value is not None and not NOT_CODE.fullmatch(argument.arg.upper())]
    return ast.arguments([], [], None, [], left, None, [])


def _with(node: ast.AST, **fields: Any) -> str:
    text = ast.unparse(type(node)(**dict(ast.iter_fields(node)) | fields))
    return f"({text})" if isinstance(node, ast.expr) else text


def tests_of(root: Path, file: Path) -> list[list[Path]]:
    """Return the tests that mirror a source file, and those of its folder and of the whole."""
    inner = Path(*file.parts[2:])  # below src/package
    mirror = root / "tests" / inner.with_name(f"test_{inner.name}")
    others = [*sorted({*mirror.parent.glob("test_*.py")} - {mirror}), *(root / "tests" / name for name in WHOLE)]
    there = ([path for path in paths if path.exists()] for paths in ([mirror], others))
    return [paths for paths in there if paths]


def passes(root: Path, tests: Sequence[Path], timeout: float) -> bool:
    """Tell whether the tests of the tree ``root`` pass in time, in a process with the heavy libraries but none of the tree."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before any of them is imported
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(HEAVY.split())
    process = context.Process(target=_run_tests, args=(root, tests))
    process.start()
    process.join(timeout)
    if process.exitcode is None:
        os.killpg(process.pid, signal.SIGKILL)  # with whatever the tests have started
        process.join()
    return process.exitcode == 0


def _run_tests(root: Path, tests: Sequence[Path]) -> None:
    os.setpgid(0, 0)
    gc.freeze()  # pytest collects garbage several times; what was there before is none
    for stream in range(3):
        os.dup2(os.open(os.devnull, os.O_RDWR), stream)
    os.chdir(root)
    data = os.environ.get("CCASSG_DATA") or str(ROOT.parent / "shared" / "data")
    own = {"PYTHONPATH": str(root / "src"), "CCASSG_DATA": data, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # starts faster
    os.environ |= own
    sys.path.insert(0, own["PYTHONPATH"])
    sys.dont_write_bytecode = False
    sys.exit(pytest.main(["-x", "-m", "not slow", f"--basetemp={root / TEMPORARY}", *map(str, tests)]))


def survives(tree: Path, mutant: Mutant, timeout: float = 300) -> bool:
    """Tell whether all tests pass on the tree with the change, which is taken back afterwards."""
    file = tree / mutant.file
    source, compiled = file.read_bytes(), Path(importlib.util.cache_from_source(str(file)))
    try:
        compiled.unlink(missing_ok=True)  # else what was compiled within the same second would be taken for it
        file.write_bytes(source[: mutant.start] + mutant.new.encode() + source[mutant.stop :])
        return all(passes(tree, tests, timeout) for tests in tests_of(tree, mutant.file))
    finally:
        file.write_bytes(source)
        compiled.unlink(missing_ok=True)
        shutil.rmtree(
            tree / ".hypothesis", ignore_errors=True
        )  # what one change taught must not help to notice the next


def run(root: Path, core: Sequence[str], *, seed: int, minutes: float, workers: int) -> tuple[int, list[Mutant]]:
    """Try changes for some minutes and print those that no test notices; return how many were tried, and these."""
    n_tried, survivors = 0, []
    todo = mutants(root, core)
    random.Random(seed).shuffle(todo)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        trees = [_copy(root, Path(folder, str(worker))) for worker in range(workers)]
        if not passes(
            trees[0], sorted({path for m in todo for tests in tests_of(trees[0], m.file) for path in tests}), 3600
        ):
            raise SystemExit("the tests fail without any change; mend that first")
        end = time.monotonic() + 60 * minutes

        def attempt(mutant: Mutant) -> bool | None:
            if time.monotonic() > end:
                return None
            tree = trees.pop()
            try:
                return survives(tree, mutant)
            finally:
                trees.append(tree)

        for mutant, survived in zip(todo, pool.map(attempt, todo), strict=True):
            n_tried += survived is not None
            if survived:
                survivors.append(mutant)
                print(mutant.place, flush=True)
    print(f"{n_tried - len(survivors)} of {n_tried} changes noticed, of {len(todo)} possible, seed {seed}")
    return n_tried, survivors


def _copy(root: Path, tree: Path) -> Path:
    tree.mkdir()
    shutil.copy(root / "pyproject.toml", tree)
    for name in ("src", "tests"):
        shutil.copytree(root / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tree


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("core", nargs="*", default=CORE, help="files and folders below src/ccassg")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    run(ROOT, **vars(parser.parse_args()))
