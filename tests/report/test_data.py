from __future__ import annotations

import numpy as np
import pytest
import torch

from ccassg.report.data import ReportData, about_model

Z = np.ones((3, 2), np.float32)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"embedding": np.ones(3)}, r"embedding must have shape \(nodes, dimensions\).*got \(3,\)"),
        ({"embedding": np.ones((0, 3))}, r"both at least 1, got \(0, 3\)"),
        ({"embedding": np.array([["a"]])}, "embedding must be numeric, got dtype <U1"),
        (
            {"embedding": np.array([[1, np.nan], [np.inf, 2]])},
            "embedding has NaN or infinite values in 2 rows, first in row 0",
        ),
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


def test_a_tensor_and_a_list_become_arrays():
    for given in (torch.ones(3, 2, requires_grad=True), [[1, 1]] * 3):
        embedding = ReportData("t", given).embedding
        assert isinstance(embedding, np.ndarray)
        np.testing.assert_array_equal(embedding, Z)


def test_what_a_model_tells():
    class Model:
        def get_params(self, deep):
            return {"dim": 3}

    model = Model()
    assert about_model(model) == {"history": {}, "settings": {"dim": 3}, "choices": (), "scaled": False}
    model.history_, model.settings_, model.reasons_ = {"loss": [1.0]}, {"dim": 4}, ["because"]
    assert about_model(model) == {
        "history": {"loss": [1.0]},
        "settings": {"dim": 4},
        "choices": ["because"],
        "scaled": False,
    }


def test_only_a_title_and_an_embedding_are_needed():
    data = ReportData("t", Z)
    assert data.node_ids is None
    assert data.columns == {}
