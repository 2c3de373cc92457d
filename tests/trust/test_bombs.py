"""Files that ask for more than they are worth, and what is no file at all: one sentence or a small success, and soon.

What a reader takes is measured in a process of its own, and held below a constant and a multiple of the file's bytes.
"""

import os
import socket
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import bombs
import pytest
from chores import SOAK
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is measured by /proc")
SMALL_FLOOR = 2**24
# These take seconds to write or to read; what they try is tried on a smaller scale in tests/io.
SLOW = {
    "lines.txt.gz", "comments.txt.gz", "prefix.parquet", "lines.mtx.gz", "nodes.graphml.gz", "tag.graphml.gz", "cells.csv.gz",
    "lists.parquet", "zeros.npz", "lists.json", "name.h5ad", "steps.parquet", "number.graphml", "nodes.gexf.gz", "nodes.gml.gz",
    "lists.json.gz",
}  # fmt: skip
BOMBS = [(kind, name) for kind, files in bombs.KINDS.items() for name in files]
RUN_FILES = ("run.json", "config.json", "model.safetensors", "embedding.parquet", "nodes.parquet")


def check(found):
    """Whether reading went as it should; what the system refused is no credit to the reader."""
    assert found["bytes"] <= found["allowed"], found
    assert found["said"] is None or ("\n" not in found["said"] and len(found["said"]) < 500), found
    assert "more memory than there is" not in (found["said"] or "")


@pytest.mark.parametrize(("kind", "name"), BOMBS)
def test_a_bomb_ends_in_a_sentence_or_a_small_success(nursery, tmp_path, count, kind, name):
    if name in SLOW and not SOAK:
        pytest.skip("only in full (make soak)")
    path = tmp_path / name
    bombs.KINDS[kind][name](path)
    check(nursery.call("bombs:measure", kind, str(path)))
    count("bombs", files=1, findings=0)


@settings(max_examples=600 if SOAK else 12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    form=st.sampled_from(sorted(bombs.GROWN)),
    rows=st.floats(0, 6.5).map(lambda power: round(10**power)),
    columns=st.floats(0, 2).map(lambda power: round(10**power)),
    length=st.floats(0, 3).map(lambda power: round(10**power)),
)
def test_memory_is_bounded_by_the_bytes_of_the_file(nursery, tmp_path, count, form, rows, columns, length):
    path = tmp_path / form
    check(nursery.call("bombs:grow", form, str(path), rows, columns, length, SMALL_FLOOR))
    count("property tests", files=1)


@pytest.fixture(scope="module")
def run(nursery, tables, tmp_path_factory):
    """The folder of a small run."""
    folder = tmp_path_factory.mktemp("run") / "run"
    assert nursery.run("fit", *tables, "-o", folder, "--method", "raw-features").code == 0
    return folder


@contextmanager
def instead(path, put):
    """Something else in place of a file, for as long as the block lasts."""
    aside = path.rename(path.with_name("aside"))
    try:
        put(path)
        yield
    finally:
        path.unlink(missing_ok=True)
        aside.rename(path)


def put_socket(path):
    with socket.socket(socket.AF_UNIX) as listening:
        os.chdir(path.parent)  # the address of a socket is short
        listening.bind(path.name)


KINDS = {"pipe": os.mkfifo, "device": lambda path: Path(path).symlink_to("/dev/zero"), "socket": put_socket}


@pytest.mark.parametrize("write", bombs.RUNS)
def test_labels_of_a_forged_run_end_in_a_sentence(nursery, run, count, write):
    if write is bombs.parquet_prefix and not SOAK:
        pytest.skip("only in full (make soak)")
    with instead(run / "nodes.parquet", lambda path: write(path, ("id", "label"))):
        found = nursery.call("bombs:measure", "run", str(run / "nodes.parquet"))
        check(found)
        ended = nursery.run("report", run, "-o", "page.html")
        assert ended.code == 2
        assert "nodes.parquet" in ended.said
    count("bombs", files=1)


@pytest.mark.parametrize("kind", KINDS)
def test_only_regular_files_are_opened(nursery, run, tables, tmp_path, monkeypatch, scale, count, kind):
    monkeypatch.chdir(tmp_path)
    orders = [(run / name, "report", run, "-o", "page.html") for name in RUN_FILES]
    orders += scale([], [(run / name, "evaluate", run, "--json", "x.json") for name in RUN_FILES[3:4]])
    orders += scale([], [(run / name, "embed", run, *tables, "-o", "z.parquet") for name in RUN_FILES[1:3]])
    edges, features = Path(tables[0]), Path(tables[2])
    orders += [(path, "fit", *tables, "-o", tmp_path / "model") for path in scale([edges], [edges, features])]
    for path, *arguments in orders:
        with instead(path, KINDS[kind]):
            ended = within(60, nursery, *arguments)
        assert ended.code == 2, (path, arguments, ended)
        assert path.name in ended.said
    count("pipes", commands=len(orders), findings=0)


def within(seconds, nursery, *arguments):
    """Run the program, and end it if it takes longer."""
    nursery.start(*arguments)
    timer = threading.Timer(seconds, nursery.signal)
    timer.start()
    try:
        return nursery.wait()
    finally:
        timer.cancel()
