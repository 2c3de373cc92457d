"""Sealed files are known as long as no byte of them changes."""

import pytest

from ccassg.io.seal import blank, is_sealed, seal, sealed

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
