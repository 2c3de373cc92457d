"""Columns found and guessed, and numbers in them."""

import numpy as np
import pyarrow as pa
import pytest

from ccassg.io import columns
from ccassg.io.columns import check_weights, edge_columns, find_column, guess_column, id_column, label_column, numbers
from ccassg.io.open_table import open_table
from ccassg.io.tables import FrameTable


def frame(**columns):
    return open_table(pa.table(columns), what="it")


def test_columns_are_found_and_guessed():
    table = frame(Node_ID=[1], Label=[2])
    assert guess_column(table, columns.ID) == "Node_ID"
    assert guess_column(table, columns.LABEL) == "Label"
    assert guess_column(table, columns.WEIGHT) is None
    assert guess_column(table, columns.LABEL, but=("label",)) is None
    assert (id_column(table), label_column(table, None, "Node_ID")) == ("Node_ID", "Label")
    assert find_column(table, "Label", "labels", "label_column") == "Label"
    with pytest.raises(ValueError, match="there is no column 'label' for the labels; did you mean 'Label'"):
        find_column(table, "label", "labels", "label_column")
    with pytest.raises(ValueError, match="there is no column 'kind' for the labels; it has 'Node_ID', 'Label'"):
        find_column(table, "kind", "labels", "label_column")


@pytest.mark.parametrize(
    ("names", "ends"),
    [
        (("x", "Target", "Source"), ("Source", "Target")),
        (("dst", "src"), ("src", "dst")),
        (("to", "from", "u", "v"), ("from", "to")),
        (("p", "q", "r"), ("p", "q")),
    ],
)
def test_edge_columns_are_guessed(names, ends):
    assert edge_columns(frame(**{name: [1] for name in names}), None, None) == ends


def test_numbers_of_every_type():
    for values in (
        [1, 2],
        [1.0, 2.0],
        [True, True],
        pa.array([1, 2], pa.decimal128(5, 1)),
        pa.array([1, 2], pa.uint8()),
    ):
        table = frame(x=values)
        assert numbers(table.columns(["x"])["x"], "a number").dtype == "float64"
    table = frame(x=["1", "2"])
    with pytest.raises(ValueError, match="written as text"):
        numbers(table.columns(["x"])["x"], "a weight")


@pytest.mark.parametrize("bad", [-1, 1e39])
def test_weights_out_of_range_are_refused_with_their_place(bad):
    table = FrameTable(pa.table({"w": [1.0, bad]}), "it")
    check_weights(table.columns(["w"])["w"], np.array([0.0, 3e38]))
    with pytest.raises(ValueError, match=r"it, column 'w', row 1 \(counted from 0\): .* cannot be a weight"):
        check_weights(table.columns(["w"])["w"], np.array([1.0, bad]))
