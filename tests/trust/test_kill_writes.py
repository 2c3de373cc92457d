"""Killed at any change of a name while something is replaced: the old one or the new one is there, whole, and can be replaced."""

import itertools
import shutil
import signal

import numpy as np
import pytest
from chores import SOAK, written

from ccassg import CCASSG, open_store, read_embeddings
from ccassg.scoring import page


def store(path):
    return open_store(path, verify=True).graph.features


def run(path):
    """What a run holds; its parts must be of one writing."""
    shown = page(path, 1)
    assert shown.title in ("seed 0", "seed 1")
    return shown.embedding


def model(path):
    return np.frombuffer(str(CCASSG.load(path).get_params()).encode(), np.uint8)


def matrix(path):
    return read_embeddings(path)[0]


def seen(read, path):
    """What is there, as bytes; or the sentence that refuses it."""
    try:
        return read(path).tobytes()
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("read", [store, run, model, matrix])
def test_a_kill_at_every_change_of_a_name(nursery, tmp_path, read, count):
    kind = read.__name__
    contents = {}
    for seed in (0, 1):
        (tmp_path / f"seed {seed}").mkdir()
        written(kind, tmp_path / f"seed {seed}" / "x.npy", seed)
        contents[seed] = read(tmp_path / f"seed {seed}" / "x.npy").tobytes()
    n_kills = {}
    for k in itertools.count(1):
        path = tmp_path / str(k) / "x.npy"
        shutil.copytree(tmp_path / "seed 0", path.parent)
        nursery.start_call("chores:killed_at", k, kind, str(path), 1, SOAK)
        ended = nursery.wait()
        if ended.code == 0:
            break
        assert ended.code == -signal.SIGKILL, ended.err
        found = seen(read, path)
        if isinstance(found, str):  # of two files, one is new
            assert (kind, "not of one writing" in found) == ("matrix", True)
            found = contents[0]
        seed = next(seed for seed in contents if found == contents[seed])
        n_kills[seed] = n_kills.get(seed, 0) + 1
        written(kind, path, 1)
        assert read(path).tobytes() == contents[1]
        assert not [*path.parent.glob(".ccassg-*.old"), *path.parent.glob("*/.ccassg-decided")]
    assert n_kills[0] > 1, "the earlier one was never seen whole"
    count("killed writes", kills=sum(n_kills.values()), old=n_kills[0], new=n_kills.get(1, 0), losses=0)


@pytest.mark.parametrize("read", [run, model])
def test_a_kill_while_a_new_folder_is_filled(nursery, tmp_path, read, count):
    kind = read.__name__
    written(kind, tmp_path / "whole", 0)
    whole, n_whole = seen(read, tmp_path / "whole"), 0
    for k in itertools.count(1):
        path = tmp_path / str(k) / "x"
        nursery.start_call("chores:killed_at", k, kind, str(path), 0, SOAK)
        if nursery.wait().code == 0:
            break
        found = seen(read, path)
        assert found == whole or "holds no" in found
        n_whole += found == whole
        written(kind, path, 0)
        assert seen(read, path) == whole
    assert k > 5
    assert n_whole, "nothing was ever finished by the next"
    count("killed writes", kills=k - 1, losses=0)
