"""Files known by their content, gzip bounded, errors in one sentence."""

import gzip
import os
import socket
from pathlib import Path

import pytest

from ccassg.io.files import (
    LIMITS,
    Limits,
    budget,
    check_file,
    content_kind,
    one_sentence,
    open_bytes,
    open_regular,
    read_json,
    require_budget,
    require_kind,
    require_room,
    sha256,
    suffix_of,
    within,
)


def test_kinds_by_content(write):
    for content, kind in [
        (b"a,b\n", "text"),
        (b"\xef\xbb\xbf<?xml ?>", "XML"),
        (gzip.compress(b"PAR1...."), "Parquet"),
        (b"a\x00b", "binary"),
        ("a,b\n".encode("utf-16"), "text"),
    ]:
        assert content_kind(write("x", content)) == kind
    with pytest.raises(ValueError, match="not a Parquet file: its content is text"):
        require_kind(write("x.parquet", b"a,b"), "Parquet")
    assert suffix_of("a/Edges.CSV.gz") == ".csv"


def test_gzip_is_read_by_content_and_up_to_its_budget(write):
    path = write("x.csv", gzip.compress(bytes(10_000)))
    with open_bytes(path) as file:
        assert file.read() == bytes(10_000)
    tight = within(Limits(growth=1, growth_floor=9_999))
    with tight, open_bytes(path) as file, pytest.raises(ValueError, match="grows beyond"):
        file.read()
    path.write_bytes(path.read_bytes()[:-5])
    with open_bytes(path) as file, pytest.raises(ValueError, match="damaged gzip"):
        file.read()


def test_files_that_are_none(tmp_path, write):
    for path, sentence in [
        (tmp_path / "none", "there is no such file"),
        (tmp_path, "is a folder"),
        (write("empty", b""), "is empty"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            check_file(path)


def test_only_regular_files_are_opened_and_at_once(tmp_path, bounded):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for path in (tmp_path / "pipe", tmp_path / "link", tmp_path / "socket", Path("/dev/zero"), tmp_path):
            for read in (open_regular, check_file, sha256, content_kind):
                bounded()
                with pytest.raises(ValueError, match=f"{path.name} is (not a regular file|a folder); name a file"):
                    read(path)
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "none")
    (tmp_path / "link").unlink()
    (tmp_path / "file").write_bytes(b"ab")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with open_regular(tmp_path / "link") as file:
        assert file.read() == b"ab"


def test_holes_count_for_nothing(tmp_path):
    path = tmp_path / "x"
    with open(path, "wb") as file:
        file.truncate(2**30)
        file.write(bytes(2**16))
        file.seek(-(2**16), os.SEEK_END)
        file.write(bytes(2**16))
    with within(Limits(growth=3, growth_floor=0)):
        assert budget(path) == 3 * 2 * 2**16
    with pytest.raises(ValueError, match=r"x claims 1,073,741,824 bytes, but 131,072 are written, the rest are holes"):
        check_file(path)


def test_errors_of_libraries_become_one_sentence():
    for error, sentence in [
        (KeyError("a\nb"), r"^x cannot be read: "),
        (MemoryError(), "more memory than there is"),
        (ValueError("x, line 1: wrong"), "^x, line 1: wrong$"),
        (RuntimeError("first\nsecond"), "^x cannot be read: first$"),
    ]:
        with pytest.raises(ValueError, match=sentence), one_sentence("x"):
            raise error


def test_a_budget_is_a_floor_or_a_multiple_of_the_size(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(bytes(100))
    for floor, expected in ((200, 300), (500, 500)):
        with within(Limits(growth=3, growth_floor=floor)):
            assert budget(path) == expected
    assert budget(path) == LIMITS.growth_floor


def test_what_grows_beyond_its_budget_is_refused(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(bytes(100))
    sentence = r"x grows beyond 300 bytes when decoded, 3 times its size; if you trust it, write it again$"
    with within(Limits(growth=3, growth_floor=0)):
        require_budget(path, 300, "decoded", "write it again")
        with pytest.raises(ValueError, match=sentence):
            require_budget(path, 301, "decoded", "write it again")


def test_rows_without_content_are_believed_up_to_the_budget(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(bytes(100))
    with within(Limits(growth=100, growth_floor=0, row=10)):
        require_room(path, 1000, "claims 1,000 rows")
        with pytest.raises(ValueError, match="x claims 1,001 rows, out of proportion to its size"):
            require_room(path, 1001, "claims 1,001 rows")


def test_json_is_read_from_regular_files_that_can_hold_it(tmp_path, write, bounded):
    assert read_json(write("a.json", '{"ü": 1}')) == {"ü": 1}
    assert read_json(tmp_path / "a.json", parse_int=str) == {"ü": "1"}
    os.mkfifo(tmp_path / "pipe.json")
    os.truncate(write("holes.json", "{}"), 2**34)
    for name, content in (("deep.json", b"[" * 10**6), ("binary.json", b"\xff"), ("half.json", b'{"a":')):
        write(name, content)
    for name in ("pipe", "holes", "deep", "binary", "half"):
        bounded()
        with pytest.raises(ValueError):  # noqa: PT011 - of several kinds
            read_json(tmp_path / f"{name}.json")
