"""Records without training."""

import pytest

from fake_records import fake_record


@pytest.fixture
def fake():
    """A function from a run to a record that looks like a real one."""
    return fake_record
