"""What the tests of readers share."""

import pytest


@pytest.fixture
def write(tmp_path):
    """A function (name, text or bytes): the path of a file with that content."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
