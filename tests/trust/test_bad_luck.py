"""A reader that leaves, the same command twice at once, a full disk for every output."""

import time

import psutil
import pytest
from test_full_disk import KIB, SMALL, contents, disk, leave  # noqa: F401 - a fixture among them

from ccassg import CCASSG


def test_a_closed_pipe_is_no_reason_to_lose_the_work(nursery, tables, tmp_path):
    settings = [*SMALL, "--checkpoint-every", "1"]
    model, out = str(tmp_path / "m"), str(tmp_path / "out")
    for command in (
        ("fit", *tables, "-o", model, *settings),
        ("fit", *tables, "-o", out, "--json", out + ".fit.json"),
        ("embed", model, *tables, "-o", out + ".parquet"),
        ("convert", *tables, "-o", out + ".store"),
        ("report", model, "-o", out + ".html", "--seeds", "1"),
        ("evaluate", model, "--json", out + ".evaluate.json"),
        ("similar", model, "n1", "--json", out + ".similar.json"),
        ("datasets", "--json", out + ".datasets.json"),
        ("settings",),
    ):
        assert nursery.call("chores:unheard", *command) == 0, command
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"m", "out", *(f"out.{x}" for x in ("fit.json", "parquet", "store", "html")),
                    *(f"out.{x}.json" for x in ("evaluate", "similar", "datasets"))}  # fmt: skip
    assert len(CCASSG.load(model).history_["loss"]) == 3


def test_of_two_fits_into_one_folder_one_wins(nursery, program, tables, tmp_path):
    command = ("fit", *tables, "-o", tmp_path / "m", *SMALL[2:], "--checkpoint-every", 7, "-s")
    pid = nursery.start(*command, "n_steps=100000")
    while psutil.pid_exists(pid) and not (tmp_path / "m" / "checkpoint.safetensors").exists():
        time.sleep(0.02)
    for again in (("n_steps=100000",), ("n_steps=3", "--seed", 1)):
        code, out, err = program(*command, *again)
        assert (code, out) == (2, "")
        sentence = f"another process is writing to {tmp_path / 'm'}; wait for it, or name another folder"
        assert sentence in " ".join(err.split())
    assert psutil.pid_exists(pid), "the first one goes on"
    nursery.signal()
    nursery.wait()
    # The lock died with it; its checkpoint is still that of another run.
    assert "belongs to another run" in program(*command, "n_steps=3", "--seed", 1)[2].replace("\n", " ")


@pytest.mark.parametrize("name", ["s", "z.h5ad", "z.npy", "z.parquet", "z.csv", "z.txt", "page.html", "m"])
def test_every_output_names_the_full_disk(nursery, tables, disk, tmp_path, name, scale, count):  # noqa: F811
    kind = name.rpartition(".")[2]
    assert nursery.run("fit", *tables, "-o", tmp_path / "model", *SMALL).code == 0
    command = {
        "s": ("convert", *tables, "--overwrite"),
        "html": ("report", tmp_path / "model", "--seeds", 1),
        "m": ("fit", *tables),
    }.get(kind, ("embed", tmp_path / "model", *tables))
    assert nursery.run(*command, "-o", disk / name).code == 0
    size = sum(path.stat().st_size for path in disk.rglob("*") if path.is_file() and path.name != "filler")
    replaces = kind not in ("csv", "txt")  # these carry no seal, so that none is replaced
    if not replaces:
        (disk / name).unlink()
    before, n_refused = contents(disk), 0
    for room in scale([0, size // 2], range(0, size, max(KIB, size // 40))):
        leave(disk, room)
        ended = nursery.run(*command, "-o", disk / name)
        if ended.code == 0:  # there was room
            if not replaces:
                (disk / name).unlink()
            continue
        n_refused += 1
        assert ended.code == 2, ended.err
        assert "No space left on device" in ended.said
        assert str(disk / name) in ended.said
        assert {path: digest for path, digest in contents(disk).items() if path.name != "filler"} == before
    assert n_refused
    count("full outputs", faults=n_refused, files_damaged=0)
