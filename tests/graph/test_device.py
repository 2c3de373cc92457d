"""A device by its name, or a sentence."""

import pytest

from ccassg.graph.device import device_of


def test_devices():
    assert device_of("cpu").type == "cpu"
    for name in ("gpu", 3.5, None, "", "meta", "cuda:-1", "\\0", []):
        with pytest.raises(ValueError, match=r"cannot be used \(.*\); cpu always can"):
            device_of(name)
