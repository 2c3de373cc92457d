import hashlib
import io

import numpy as np
import pytest

from ccassg.io import hashes
from ccassg.io.hashes import BlockHashes, are_hashes, header, is_unchanged


def sha(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(hashes, "BLOCK", 4)


@pytest.mark.parametrize("pieces", [[b"abcdefghij"], [b"a", b"bcdefg", b"", b"hij"], [b"abcd", b"efgh", b"ij"]])
def test_every_block_has_a_hash_however_it_is_written(pieces):
    made = BlockHashes()
    for piece in pieces:
        made.update(piece)
    assert made.finish() == [sha(b"abcd"), sha(b"efgh"), sha(b"ij")]


def test_nothing_follows_a_full_block():
    made = BlockHashes()
    made.update(np.frombuffer(b"abcdefgh", np.uint16).data)
    made.update(np.zeros((0, 3)).data)
    assert made.finish() == [sha(b"abcd"), sha(b"efgh")]
    assert BlockHashes().finish() == []


def test_the_header_is_that_of_numpy():
    array = np.arange(6, dtype="<i4").reshape(2, 3)
    read = np.load(io.BytesIO(header(array.dtype, array.shape) + array.tobytes()))
    assert (read == array).all()
    assert read.dtype == array.dtype


def test_hashes_fit_a_size():
    assert are_hashes(["a", "b"], 8)
    assert are_hashes(["a", "b", "c"], 9)
    assert are_hashes([], 0)
    assert are_hashes("of the whole", 9)
    for wrong in (["a", "b"], ["a", "b", 3], None, {"a": "b"}):
        assert not are_hashes(wrong, 9)


def test_only_blocks_asked_for_are_compared(tmp_path):
    file = tmp_path / "f"
    file.write_bytes(b"abcdefghij")
    good = [sha(b"abcd"), sha(b"efgh"), sha(b"ij")]
    assert is_unchanged(file, good)
    assert is_unchanged(file, sha(b"abcdefghij"))
    assert not is_unchanged(file, sha(b"abcd"), 0, 4)
    for bad in range(3):
        given = [each if k != bad else "x" for k, each in enumerate(good)]
        assert not is_unchanged(file, given)
        for first, last, met in ((0, 4, {0}), (3, 5, {0, 1}), (4, 8, {1}), (8, 10, {2}), (9, 10, {2}), (4, 4, set())):
            assert is_unchanged(file, given, first, last) == (bad not in met)
