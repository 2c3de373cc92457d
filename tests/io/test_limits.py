"""The bounds of every reader."""

import pytest

from ccassg.io.limits import Limits


def test_a_budget_is_a_floor_or_a_multiple_of_the_size(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(bytes(100))
    assert Limits(growth=3, growth_floor=200).budget(path) == 300
    assert Limits(growth=3, growth_floor=500).budget(path) == 500


def test_what_grows_beyond_its_budget_is_refused(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(bytes(100))
    limits = Limits(growth=3, growth_floor=0)
    limits.require_budget(path, 300, "decoded", "write it again")
    with pytest.raises(
        ValueError,
        match=r"x grows beyond 300 bytes when decoded, 3 times its size; if you trust it, write it again$",
    ):
        limits.require_budget(path, 301, "decoded", "write it again")
