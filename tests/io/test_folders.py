import json
import os
import subprocess
import sys

import pytest
import torch
from safetensors.torch import save_file

from ccassg.io.folders import (
    CHECKPOINT,
    DECIDED,
    MODEL,
    RUN,
    files_of,
    locked,
    recover,
    replaced,
    require_ours,
    require_whole,
    write_index,
)  # fmt: skip
from ccassg.io.manifest import manifest_hash

NAMES = ("a.txt", "b.txt", RUN)


def fill(folder, text="old", index=RUN):
    with replaced(folder) as staged:
        for name in ("a.txt", "b.txt"):
            (staged / name).write_text(f"{text} {name}")
        write_index(staged, index, {"text": text})


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_folder_knows_its_files(tmp_path):
    fill(tmp_path / "deep" / "r")
    assert set(files_of(tmp_path / "deep" / "r")) == set(os.listdir(tmp_path / "deep" / "r")) == set(NAMES)
    fill(tmp_path / "deep" / "r", "new")
    assert (tmp_path / "deep" / "r" / "a.txt").read_text() == "new a.txt"
    require_whole(tmp_path / "deep" / "r")


@pytest.mark.parametrize("name", ["edges.csv", "a.txt", ".hidden", RUN, MODEL, CHECKPOINT, f"{CHECKPOINT}.previous"])
def test_somebody_elses_files_are_refused(tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(ValueError, match=rf"holds files that ccassg is not known to have written \({name}\)"):
        require_ours(tmp_path, NAMES)
    with pytest.raises(ValueError, match="name a folder that is new, empty or an earlier run's"):
        fill(tmp_path)
    assert contents(tmp_path) == {name: b"mine"}


def test_an_index_that_is_a_file_of_holes_is_not_read_into_memory(tmp_path, bounded):
    fill(tmp_path)
    os.truncate(tmp_path / RUN, 2**34)
    bounded()
    assert files_of(tmp_path) == {}


def test_what_was_changed_since_is_not_replaced_and_other_files_stay(tmp_path):
    fill(tmp_path)
    (tmp_path / "notes.md").write_text("mine")
    fill(tmp_path, "new")
    assert (tmp_path / "notes.md").read_text() == "mine"
    for name in ("a.txt", RUN):
        before = (tmp_path / name).read_text()
        (tmp_path / name).write_text(before.replace("new", "mine"))
        with pytest.raises(ValueError, match=name if name != RUN else "not known to have written"):
            fill(tmp_path, "newer")
        assert "mine" in (tmp_path / name).read_text()
        (tmp_path / name).write_text(before)
    (tmp_path / CHECKPOINT).write_text("somebody's")
    with pytest.raises(
        ValueError, match=f"{CHECKPOINT} is not as ccassg wrote it; move it away, or name another folder"
    ):
        require_ours(tmp_path, NAMES)


def test_what_a_command_reads_is_not_where_it_writes(tmp_path):
    fill(tmp_path / "r")
    (tmp_path / "link").symlink_to(tmp_path / "r")
    for given in ("r", "r/a.txt", "link", "link/b.txt"):
        with pytest.raises(ValueError, match="is read by this very command; name another folder"):
            require_ours(tmp_path / "r", NAMES, inputs=[tmp_path / "nowhere", tmp_path / given])
    require_ours(tmp_path / "r", NAMES, inputs=[tmp_path, "cora"])
    with pytest.raises(ValueError, match=r"a\.txt is a file; name a folder"):
        require_ours(tmp_path / "r" / "a.txt", NAMES)


def test_a_checkpoint_makes_a_folder_ours_and_somebody_elses_weights_do_not(tmp_path):
    tensors = {"a": torch.zeros(3)}
    save_file(tensors, tmp_path / CHECKPOINT, {"format": "pt"})
    with pytest.raises(ValueError, match="not known to have written"):
        require_ours(tmp_path, NAMES)
    (tmp_path / CHECKPOINT).rename(tmp_path / f"{CHECKPOINT}.previous")
    save_file(tensors, tmp_path / CHECKPOINT, {"fingerprint": "f", "sha256": "s"})
    (tmp_path / "log.txt").write_text("mine")
    require_ours(tmp_path, NAMES)  # the one before may be damaged
    (tmp_path / "a.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"a\.txt is not as ccassg wrote it"):
        require_ours(tmp_path, NAMES)


def test_a_link_in_the_folder_is_not_followed(tmp_path):
    (tmp_path / "mine").write_text("old a.txt")
    fill(tmp_path / "r")
    (tmp_path / "r" / "a.txt").unlink()
    (tmp_path / "r" / "a.txt").symlink_to(tmp_path / "mine")
    for check in (lambda: require_ours(tmp_path / "r", NAMES), lambda: require_whole(tmp_path / "r")):
        with pytest.raises(ValueError, match=r"a\.txt is"):
            check()
    (tmp_path / "r2").mkdir()
    (tmp_path / "r2" / DECIDED).symlink_to(tmp_path / "r")
    with pytest.raises(ValueError, match="is not what ccassg leaves there; remove it"):
        recover(tmp_path / "r2")
    assert (tmp_path / "r" / RUN).exists()


def test_part_of_a_run_is_not_replaced(tmp_path):
    fill(tmp_path / "r")
    with pytest.raises(ValueError, match="holds a run, of which a model is only a part"):
        fill(tmp_path / "r", index=MODEL)
    fill(tmp_path / "m", index=MODEL)
    fill(tmp_path / "m")  # a run may take the place of a model
    require_whole(tmp_path / "m")


def test_a_failure_leaves_the_earlier_files_and_nothing_else(tmp_path):
    fill(tmp_path / "r")
    before = contents(tmp_path / "r")
    with pytest.raises(KeyboardInterrupt), replaced(tmp_path / "r") as staged:  # noqa: PT012
        (staged / "a.txt").write_text("new")
        raise KeyboardInterrupt
    assert contents(tmp_path / "r") == before


@pytest.mark.parametrize("n_moved", [0, 1, 2, 3])
def test_what_was_decided_is_finished_by_the_next(tmp_path, n_moved):
    """At any number of files moved; `tests/trust/test_kill_writes.py` has the real kills."""
    fill(tmp_path / "r")
    fill(tmp_path / "new", "new")
    (tmp_path / "new").rename(tmp_path / "r" / DECIDED)
    for name in NAMES[:n_moved]:
        os.replace(tmp_path / "r" / DECIDED / name, tmp_path / "r" / name)
    if n_moved < 2:  # what its owner changed meanwhile is not lost
        (tmp_path / "r" / "b.txt").write_text("mine")
        with pytest.raises(ValueError, match=r"b\.txt is not as ccassg wrote it; move it away"):
            recover(tmp_path / "r")
        (tmp_path / "r" / "b.txt").unlink()
    require_whole(tmp_path / "r")
    assert (tmp_path / "r" / "b.txt").read_text() == "new b.txt"
    assert not (tmp_path / "r" / DECIDED).exists()


@pytest.mark.parametrize(
    "record",
    [
        [], 3, {}, {"files": 3}, {"files": {}}, {"files": {"../x": "0"}}, {"files": {"a.txt": 5}}, {"files": [["a.txt"]]},
        {"files": {"": "0"}}, {"files": {"a.txt": None, "b.txt": {}}}, {"files": {"\0": "0"}, "sha256": []},
    ],
)  # fmt: skip
@pytest.mark.parametrize("signed", [True, False])
def test_a_forged_index_vouches_for_nothing(tmp_path, record, signed):
    fill(tmp_path)
    if signed and isinstance(record, dict):
        record = record | {"sha256": manifest_hash(record)}
    (tmp_path / RUN).write_text(json.dumps(record))
    before = contents(tmp_path)
    with pytest.raises(ValueError, match=r"not known to have written|is not as ccassg wrote it"):
        fill(tmp_path, "new")
    assert contents(tmp_path) == before
    if record != {"files": {}, "sha256": manifest_hash({"files": {}})}:  # nothing is claimed there
        with pytest.raises(ValueError, match=r"holds no run|is missing, or not as"):
            require_whole(tmp_path)


def test_one_process_at_a_time(tmp_path):
    code = "import sys, time; from pathlib import Path; from ccassg.io.folders import locked\n"
    code += f"with locked(Path({str(tmp_path / 'r')!r})): print('has it', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "has it\n"
        said = r"another process is writing to .*r; wait for it, or name another folder"
        with pytest.raises(ValueError, match=said), locked(tmp_path / "r"):
            pass
        other.kill()
    with locked(tmp_path / "r"):  # the lock died with its process
        pass
    with pytest.raises(OSError, match="x"), locked(tmp_path / "new"):
        raise OSError("x")
    assert os.listdir(tmp_path) == ["r"]
