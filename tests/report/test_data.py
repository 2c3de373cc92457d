from __future__ import annotations

import numpy as np
import pytest

from ccassg.report import ReportData

Z = np.ones((3, 2), np.float32)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"embedding": np.ones(3)}, r"shape \(nodes, dimensions\).*got shape \(3,\)"),
        ({"embedding": np.ones((0, 3))}, r"got shape \(0, 3\)"),
        ({"embedding": np.array([["a"]])}, "numeric array.*dtype <U1"),
        ({"embedding": np.array([[1, np.nan], [np.inf, 2]])}, "2 values that are not finite"),
        ({"node_ids": ["a"]}, "node_ids has 1 entries, but there are 3 nodes"),
        ({"labels": ["a"] * 4}, "labels has 4 entries"),
        ({"columns": {"age": [1]}}, "age has 1 entries"),
        ({"layout": np.ones((3, 3))}, r"layout must be finite numbers of shape \(3, 2\), got shape \(3, 3\)"),
        ({"layout": np.full((3, 2), np.nan)}, "layout must be finite"),
        ({"probe": {"confusion": np.ones((2, 3))}}, r"square, got shape \(2, 3\)"),
        ({"probe": {"confusion": np.ones((2, 2)), "classes": ["a"]}}, "names 1 classes.*2 rows"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_the_reason(parts, message):
    with pytest.raises(ValueError, match=message):
        ReportData(**{"title": "t", "embedding": Z, **parts})


def test_only_a_title_and_an_embedding_are_needed():
    data = ReportData("t", Z)
    assert data.node_ids is None
    assert data.columns == {}
