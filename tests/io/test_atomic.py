"""Atomic files: whole or not at all, earlier ones untouched."""

import errno
import os
import stat
import subprocess
import sys

import pytest

from ccassg.io import atomic
from ccassg.io.atomic import (
    atomic_path,
    atomic_write,
    blank,
    is_sealed,
    require_replaceable,
    require_room,
    seal,
    sealed,
    write_bytes_atomic,
)


def test_bytes_and_text_arrive_whole(tmp_path):
    write_bytes_atomic(tmp_path / "a.bin", b"\x00\xff")
    assert (tmp_path / "a.bin").read_bytes() == b"\x00\xff"
    with atomic_write(tmp_path / "b.txt", "w") as file:
        file.write("Zürich\n")
    assert (tmp_path / "b.txt").read_bytes() == "Zürich\n".encode()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.bin", "b.txt"]


def test_target_appears_only_at_the_end(tmp_path):
    target = tmp_path / "a.bin"
    target.write_bytes(b"old")
    with atomic_write(target) as file:
        file.write(b"new")
        file.flush()
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_failure_keeps_the_earlier_file_and_no_rest(tmp_path, error):
    target = tmp_path / "a.bin"
    target.write_bytes(b"old")
    with pytest.raises(error), atomic_write(target) as file:  # noqa: PT012
        file.write(b"half")
        raise error
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_kill_keeps_the_earlier_file(tmp_path):
    target = tmp_path / "a.bin"
    target.write_bytes(b"old")
    # The module alone: importing the whole package would take seconds.
    code = (
        "import os, runpy, sys\natomic_write = runpy.run_path(sys.argv[1])['atomic_write']\n"
        "with atomic_write(sys.argv[2]) as file:\n    file.write(b'half'); file.flush(); os.kill(os.getpid(), 9)\n"
    )
    command = [sys.executable, "-c", code, atomic.__file__, str(target)]
    assert subprocess.run(command, check=False).returncode == -9
    assert target.read_bytes() == b"old"
    write_bytes_atomic(target, b"new")  # a stray temporary file is in nobody's way
    assert target.read_bytes() == b"new"


def test_full_disk_is_one_sentence(tmp_path):
    target = tmp_path / "a.bin"
    target.write_bytes(b"old")
    with pytest.raises(OSError, match=r"cannot write .*a\.bin: No space left on device") as caught, atomic_path(target):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.errno == errno.ENOSPC
    assert "\n" not in str(caught.value)
    assert target.read_bytes() == b"old"


def test_missing_folder_folder_and_device_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist; make it first"):
        write_bytes_atomic(tmp_path / "no" / "a.bin", b"")
    with pytest.raises(OSError, match="it is a folder"):
        write_bytes_atomic(tmp_path, b"")
    with pytest.raises(OSError, match="not a regular file"):
        write_bytes_atomic(os.devnull, b"")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_permissions_follow_the_umask(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    write_bytes_atomic(tmp_path / "atomic", b"")
    assert (tmp_path / "atomic").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_content_is_on_the_disk_before_the_name_and_the_name_at_the_end(tmp_path, monkeypatch):
    done, fsync, replace = [], os.fsync, os.replace

    def watched_fsync(handle):
        done.append(f"sync {os.readlink(f'/proc/self/fd/{handle}')}")
        fsync(handle)

    def watched_replace(old, new):
        done.append(f"rename {old}")
        replace(old, new)

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("the system does not tell which file a handle is of")
    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "replace", watched_replace)
    write_bytes_atomic(tmp_path / "a.bin", b"new")
    temporary = done[0].removeprefix("sync ")
    assert os.path.basename(temporary).startswith(".ccassg-")
    assert done == [f"sync {temporary}", f"rename {temporary}", f"sync {tmp_path}"]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_disk_that_fails_is_heard_and_one_that_cannot_sync_is_not(tmp_path, monkeypatch, kind):
    fsync = os.fsync

    def failing(code):
        def sync(handle):
            if stat.S_ISDIR(os.fstat(handle).st_mode) == (kind == "folder"):
                raise OSError(code, os.strerror(code))
            fsync(handle)

        return sync

    monkeypatch.setattr(os, "fsync", failing(errno.EINVAL))
    write_bytes_atomic(tmp_path / "a.bin", b"old")
    assert (tmp_path / "a.bin").read_bytes() == b"old"
    monkeypatch.setattr(os, "fsync", failing(errno.EIO))
    with pytest.raises(OSError, match=r"cannot write .*a\.bin: Input/output error") as caught:
        write_bytes_atomic(tmp_path / "a.bin", b"new")
    assert caught.value.errno == errno.EIO
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]
    assert (tmp_path / "a.bin").read_bytes() == (b"old" if kind == "file" else b"new")


def begins_with_ours(path):
    return path.read_bytes().startswith(b"ours")


def test_only_earlier_outputs_may_be_replaced(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "ours.txt").write_text("ours, earlier")
    os.link(tmp_path / "ours.txt", tmp_path / "hard.txt")
    (tmp_path / "soft.txt").symlink_to(tmp_path / "ours.txt")
    (tmp_path / "folder").mkdir()
    for name in ("ours.txt", "hard.txt", "new.txt"):
        require_replaceable(tmp_path / name, begins_with_ours, inputs=["cora", tmp_path / "mine.txt"])
    with pytest.raises(ValueError, match=r"mine\.txt is there already and is not known to be an earlier output"):
        require_replaceable(tmp_path / "mine.txt", begins_with_ours)
    for name, given in (
        ("ours.txt", "ours.txt"),
        ("hard.txt", "ours.txt"),
        ("hard.txt", "soft.txt"),
        ("hard.txt", "."),
    ):
        with pytest.raises(ValueError, match=f"{name} is read by this very command; give the output another name"):
            require_replaceable(tmp_path / name, begins_with_ours, inputs=[tmp_path / given])
    for name, kind in (
        ("soft.txt", "a link"),
        ("folder", "a folder"),
        ("no/new.txt", "the folder .*no does not exist"),
    ):
        with pytest.raises(OSError, match=f"cannot write .*{name}: (it is )?{kind}"):
            require_replaceable(tmp_path / name, begins_with_ours)
    assert sorted(os.listdir(tmp_path)) == ["folder", "hard.txt", "mine.txt", "ours.txt", "soft.txt"]


def test_a_link_is_not_replaced(tmp_path):
    (tmp_path / "there").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="it is a link; name a file"):
        write_bytes_atomic(tmp_path / "there", b"x")
    assert (tmp_path / "there").is_symlink()
    assert not (tmp_path / "target").exists()


@pytest.mark.parametrize(
    "said",
    [
        "Error writing bytes to file. Detail: [errno 28] No space left on device",
        "Can't write data (file write failed: time = now\n, errno = 28, error message = 'No space left on device', buf = 1)",
    ],
)
def test_what_libraries_say_becomes_what_the_system_said(tmp_path, said):
    with (
        pytest.raises(OSError, match=r"^cannot write .*x: No space left on device$") as caught,
        atomic_path(tmp_path / "x"),
    ):
        raise OSError(said)
    assert caught.value.errno == 28


TEXT = f"head\n{blank('page')}\nZürich\n"


def test_a_seal_holds_until_a_byte_changes(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(sealed(TEXT, "page"))
    assert is_sealed(path, "page")
    assert not is_sealed(path, "result")
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert not is_sealed(path, "page"), place
    path.write_bytes(content + b" ")
    assert not is_sealed(path, "page")


def test_a_file_is_sealed_as_its_text_is(tmp_path):
    (tmp_path / "a").write_bytes(TEXT.encode())
    seal(tmp_path / "a", "page")
    assert (tmp_path / "a").read_bytes() == sealed(TEXT, "page")


@pytest.mark.parametrize("content", ["", "mine", TEXT, TEXT.replace("0" * 64, "f" * 64), TEXT.replace("0" * 64, "")])
def test_nothing_else_is_sealed(tmp_path, content):
    (tmp_path / "a").write_bytes(content.encode())
    assert not is_sealed(tmp_path / "a", "page")
    assert not is_sealed(tmp_path / "none", "page")


def test_what_is_said_of_seals_further_on_is_left_alone(tmp_path):
    (tmp_path / "a").write_bytes(sealed(TEXT + blank("page"), "page"))
    assert (tmp_path / "a").read_bytes().endswith(blank("page").encode())
    assert is_sealed(tmp_path / "a", "page")


def test_room_is_asked_of_the_disk_from_the_first_byte(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(os, "posix_fallocate", lambda file, start, n_bytes: asked.append((start, n_bytes)))
    require_room(tmp_path / "a", 7)
    assert asked == [(0, 7)]
    assert list(tmp_path.iterdir()) == []
