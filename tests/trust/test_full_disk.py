"""Full disks, places that cannot be written, Ctrl-C and divergence: one sentence, the right exit code, earlier files intact."""

import hashlib
import os
import signal
import subprocess
import time

import numpy as np
import psutil
import pytest
import scipy.sparse as sp
import torch
from chores import planned_runs

from ccassg import as_graph
from ccassg.experiments.records import Records, append
from ccassg.model.encoder import gcn
from ccassg.model.loss import Objective
from ccassg.training import checkpoint
from ccassg.training.loop import train
from ccassg.training.settings import NonFiniteLossError, Settings

KIB = 1024
SMALL = [x for s in ("n_steps=3", "encoder=gcn", "hidden_dim=16", "embedding_dim=8") for x in ("--set", s)]


@pytest.fixture
def disk(tmp_path):
    """A disk of 512 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", folder], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def leave(disk, n_bytes):
    """Fill the disk up to so many bytes."""
    filler = disk / "filler"
    filler.unlink(missing_ok=True)
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize
    with open(filler, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(free - n_bytes, 1))


def contents(folder):
    return {
        path.relative_to(folder): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith("checkpoint")
    }


def test_a_full_disk_changes_nothing(nursery, tables, disk, scale, figure):
    model = disk / "model"
    assert nursery.run("fit", *tables, "-o", model, *SMALL).code == 0
    before = contents(model)
    n_refused = 0
    sizes = scale([0, 12, 24], range(0, 64, 4))
    for room in sizes:
        leave(disk, room * KIB)
        ended = nursery.run("fit", *tables, "-o", model, *SMALL, "--seed", 1)
        for leftover in model.glob("checkpoint*"):
            leftover.unlink()
        if ended.code == 0:  # there was room enough: everything is new
            assert (
                contents(model)[(model / "embedding.parquet").relative_to(model)]
                != before[(model / "embedding.parquet").relative_to(model)]
            )
            (disk / "filler").unlink()
            assert nursery.run("fit", *tables, "-o", model, *SMALL).code == 0
            before = contents(model)
            continue
        n_refused += 1
        assert ended.code == 2, ended.err
        assert "No space left on device" in ended.said
        assert contents(model) == before
        assert nursery.run("similar", model / "embedding.parquet", "n1").code == 0
    assert n_refused
    figure("full disk", faults=n_refused, tried=len(sizes), files_damaged=0)


def test_records_on_a_full_disk(disk):
    long = {"result": {"points": list(range(2000))}, "seconds": {"total": 1.0}}
    runs = planned_runs(4)
    append(disk / "set0.jsonl", {"run": runs[0], **long})
    leave(disk, 0)
    with pytest.raises(OSError, match="No space left"):
        append(disk / "set0.jsonl", {"run": runs[3], **long})
    assert [record["run"] for record in Records(disk)] == [runs[0]]
    leave(disk, 64 * KIB)
    append(disk / "set0.jsonl", {"run": runs[3], **long})
    assert [record["run"] for record in Records(disk)] == [runs[0], runs[3]]


def test_a_place_that_cannot_be_written(nursery, tables, disk, figure):
    assert nursery.run("fit", *tables, "-o", disk / "model", *SMALL).code == 0
    before = contents(disk)
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    commands = [
        ("fit", *tables, "-o", disk / "model", *SMALL, "--seed", 1),
        ("fit", *tables, "-o", disk / "other", *SMALL),
        ("embed", disk / "model", *tables, "-o", disk / "z.parquet"),
        ("embed", disk / "model", *tables, "-o", nursery.folder / "z.csv", "--json", disk / "z.json"),
        ("convert", *tables, "-o", disk / "store"),
    ]
    for command in commands:
        ended = nursery.run(*command)
        assert ended.code == 2, (command, ended.err)
        assert "Read-only file system" in ended.said
    assert contents(disk) == before
    figure("read-only place", faults=len(commands), files_damaged=0)


def test_a_folder_that_is_a_file_and_an_empty_name(nursery, tables, tmp_path):
    (tmp_path / "taken").write_text("mine")
    ended = nursery.run("fit", *tables, "-o", tmp_path / "taken", *SMALL)
    assert ended.code == 2
    assert "taken" in ended.said
    assert (tmp_path / "taken").read_text() == "mine"


def test_a_loss_that_is_not_finite_ends_with_a_sentence(nursery, tables, tmp_path):
    # Adam's first step is ten times the rate: 1e38 would overflow before there is a checkpoint to speak of.
    ended = nursery.run("fit", *tables, "-o", tmp_path / "m", *SMALL[2:], "--set", "n_steps=20", "--set",
                        "learning_rate=1e36", "--checkpoint-every", 1)  # fmt: skip
    assert ended.code == 1, ended.err
    assert "not finite a" in ended.said  # the loss at a step, or the weights after one
    assert "learning_rate 1e+36 is too high" in ended.said
    assert str(tmp_path / "m" / "checkpoint.safetensors") in ended.said
    assert not (tmp_path / "m" / "model.safetensors").exists()


def test_weights_that_are_not_finite_are_neither_saved_nor_returned(run, tmp_path, monkeypatch):
    take_step = torch.optim.Adam.step

    def step(self, *arguments):
        take_step(self, *arguments)
        if len(self.state) and int(next(iter(self.state.values()))["step"]) == 5:
            with torch.no_grad():
                self.param_groups[0]["params"][0][0, 0] = float("nan")

    monkeypatch.setattr(torch.optim.Adam, "step", step)
    path = tmp_path / "c.safetensors"
    with pytest.raises(NonFiniteLossError, match=r"weights are not finite after step 4.*the last good state is in"):
        run(gcn((6, 8)), checkpoint_path=path, checkpoint_every=1)
    assert saved_steps(path) == 4


def test_ctrl_c_saves_and_says_how_to_go_on(nursery, tables, tmp_path, figure):
    checkpoint_file = tmp_path / "m" / "checkpoint.safetensors"
    command = ("fit", *tables, "-o", tmp_path / "m", *SMALL[2:], "--set", "n_steps=100000", "--checkpoint-every", 7)
    steps = 0
    for _ in range(2):
        pid = nursery.start(*command)
        while psutil.pid_exists(pid) and not (checkpoint_file.exists() and saved_steps(checkpoint_file) > steps):
            time.sleep(0.02)
        nursery.signal(signal.SIGINT)
        ended = nursery.wait()
        assert ended.code == 130, ended.err
        assert ended.said == "Interrupted."
        assert "run the same command again" in ended.out
        assert str(checkpoint_file) in ended.out.replace("\n", "")
        now = saved_steps(checkpoint_file)
        assert now > steps
        steps = now
    figure("Ctrl-C", interruptions=2, steps_lost=0)


def saved_steps(path):
    loaded = checkpoint._read(path)
    return 0 if loaded is None else len(loaded[0]["history.loss"])


@pytest.fixture
def run():
    graph = as_graph(sp.random(40, 40, density=0.1, random_state=0), np.random.default_rng(0).normal(size=(40, 6)))
    settings = Settings(8, 1e-2, 0.0, Objective(1e-3), (0.3, 0.3), (0.2, 0.2))
    return lambda encoder, **options: train(encoder, graph, settings, **options)


@pytest.fixture(autouse=True)
def ctrl_c_works():
    """Also where a shell has started the tests in the background, which switches it off."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("moment", ["between steps", "before the weights change", "after the weights changed"])
def test_ctrl_c_keeps_a_whole_step(run, tmp_path, monkeypatch, moment):
    whole = gcn((6, 8))
    expected = run(whole)
    take_step, n_taken = torch.optim.Adam.step, [0]

    def step(self, *arguments):
        n_taken[0] += 1
        if n_taken[0] == 5 and moment == "before the weights change":
            interrupt()
        result = take_step(self, *arguments)
        if n_taken[0] == 5 and moment == "after the weights changed":
            interrupt()
        return result

    path = tmp_path / "c.safetensors"
    stop = (lambda step, *_: interrupt() if step == 4 else None) if moment == "between steps" else None
    monkeypatch.setattr(torch.optim.Adam, "step", step)
    with pytest.raises(KeyboardInterrupt):
        run(gcn((6, 8)), checkpoint_path=path, checkpoint_every=100, on_step=stop)
    monkeypatch.undo()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert saved_steps(path) == (6 if moment == "between steps" else 5)
    resumed = gcn((6, 8), seed=3)
    assert run(resumed, checkpoint_path=path) == expected
    assert all(torch.equal(a, b) for a, b in zip(resumed.parameters(), whole.parameters(), strict=True))


def test_a_second_ctrl_c_is_not_held_back(run, tmp_path):
    def twice(step, *_):
        interrupt()
        interrupt()

    with pytest.raises(KeyboardInterrupt):
        run(gcn((6, 8)), checkpoint_path=tmp_path / "c.safetensors", checkpoint_every=100, on_step=twice)
    assert not (tmp_path / "c.safetensors").exists()


def test_ctrl_c_in_the_last_step_is_not_swallowed(run, tmp_path):
    path = tmp_path / "c.safetensors"
    with pytest.raises(KeyboardInterrupt):
        run(gcn((6, 8)), checkpoint_path=path, on_step=lambda step, *_: interrupt() if step == 7 else None)
    assert saved_steps(path) == 8
