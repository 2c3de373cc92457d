"""What the two main tables say of the paper's first claim."""

import pytest

from ccassg.experiments.accuracy_table import _rank


@pytest.mark.parametrize(
    ("others", "word"),
    [
        ({"dgi": [80.0, 80.2, 79.8]}, "confirmed"),
        ({"dgi": [80.0, 80.2, 79.8], "mvgrl": [84.9, 85.1, 85.0]}, "contradicted (MVGRL 1.0 points above)"),
        ({"grace": [84.0, 84.3, 83.6]}, "undecided (GRACE within the standard error)"),
        ({"grace": [99.0]}, "undecided (GRACE with too few runs)"),
    ],
)
def test_above_the_best_of_the_others_by_more_than_chance(others, word):
    assert _rank({"cca-ssg": [83.8, 84.2, 84.0], **others}) == word
