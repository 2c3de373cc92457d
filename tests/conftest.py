"""Real datasets for the tests: the folder CCASSG_DATA, else ../shared/data, else the user's cache."""

from __future__ import annotations

import functools
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

# One thread per test process, before torch is imported: the processes of pytest-xdist share the cores, and threads that
# wait for each other on a busy machine are slower than none.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest

from ccassg.cli import main
from ccassg.datasets import load_dataset, stochastic_block_graph
from ccassg.graph import Dataset
from ccassg.run import save_run
from ccassg.systems import make

PROJECT = Path(__file__).parents[1]


def _data_dir() -> Path:
    return Path(os.environ.get("CCASSG_DATA") or PROJECT.parent / "shared" / "data")


@functools.cache
def _load(name: str) -> Dataset | None:
    try:
        return load_dataset(name, data_dir=_data_dir())
    except FileNotFoundError:
        return None


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the dataset files; skips the test where there is none."""
    folder = _data_dir()
    if not folder.is_dir():
        pytest.skip(f"no dataset files: {folder} is not there and CCASSG_DATA names no other folder")
    return folder


@pytest.fixture(scope="session")
def dataset() -> Callable[[str], Dataset]:
    """A function from a name to the real dataset, loaded once; skips the test where its files are missing."""

    def load(name: str) -> Dataset:
        data = _load(name)
        if data is None:
            pytest.skip(f"the files of {name} are not here; get them with: ccassg datasets fetch {name}")
        return data

    return load


@pytest.fixture
def write(tmp_path):
    """A function (name, text or bytes): the path of a file with that content."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def saved(tmp_path):
    """A run of 60 nodes, five of them without a label: its folder, the dataset and the embedding."""
    drawn = stochastic_block_graph(60, n_classes=3, n_features=6, seed=0)
    y = np.where(np.arange(60) < 5, -1, drawn.y)
    data = Dataset(drawn.graph, y, ("b", "a", "c"), feature_names=("u", "v=1", "v=2", "w#0", "w#1", "t"), notes=("hm",))
    model = make("raw-features").fit(data)
    z = model.transform(data)
    save_run(tmp_path / "r", model, data, z, source="mine.csv", provenance={"seed": 3})
    return tmp_path / "r", data, z


@pytest.fixture
def bounded() -> Iterator[Callable[[], None]]:
    """A limit of 1 GiB of memory beyond what there is, and of 20 s from one call of the function to the next."""
    if sys.platform != "linux":
        pytest.skip("the system does not enforce a limit of memory")
    n_pages = int(Path("/proc/self/statm").read_text().split()[0])
    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (n_pages * resource.getpagesize() + 2**30, hard))
    handler = signal.signal(signal.SIGALRM, _too_long)
    yield lambda: signal.alarm(20) and None
    signal.alarm(0)
    signal.signal(signal.SIGALRM, handler)
    resource.setrlimit(resource.RLIMIT_AS, (before, hard))


def _too_long(*_: object) -> None:
    raise TimeoutError("a file took more than 20 s")


@pytest.fixture
def program(monkeypatch, capsys) -> Callable[..., tuple[int, str, str]]:
    """Run the program as from a shell, in this process: arguments in; exit code, output and errors out."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["ccassg", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        output = capsys.readouterr()
        return int(stop.value.code or 0), output.out, output.err

    return run
