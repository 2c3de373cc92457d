"""Tables of every kind behind one interface; columns found and guessed."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ccassg.io import tables
from ccassg.io.tables import counted, find_column, guess_column, listed, numbers, open_table, pick_edge_columns, shown


def frame(**columns):
    return open_table(pa.table(columns), what="it")


def test_kinds_of_tables(tmp_path):
    data = pd.DataFrame({"id": ["a", "b"], "x": [1, 2]})
    data.to_csv(tmp_path / "t.csv", index=False)
    data.to_parquet(tmp_path / "t.parquet")
    for source in (tmp_path / "t.csv", str(tmp_path / "t.parquet"), data):
        table = open_table(source)
        assert table.names == ("id", "x")
        assert table.read(["x", "id"]).to_pydict() == {"x": [1, 2], "id": ["a", "b"]}
    assert open_table(tmp_path / "t.csv").place(1) == "line 3"
    assert open_table(tmp_path / "t.parquet").place(1) == "row 2"
    assert open_table(data).place(1) == "row 1 (counted from 0)"


def test_parquet_with_nothing_in_it_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), path)
    with pytest.raises(ValueError, match="no rows of data"):
        open_table(path)
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]), path)
    with pytest.raises(ValueError, match="column 'a' appears more than once"):
        open_table(path)


def test_columns_are_found_and_guessed():
    table = frame(Node_ID=[1], Label=[2])
    assert guess_column(table, tables.ID) == "Node_ID"
    assert guess_column(table, tables.LABEL) == "Label"
    assert guess_column(table, tables.WEIGHT) is None
    assert find_column(table, "Label", "labels", "label_column") == "Label"
    with pytest.raises(ValueError, match="there is no column 'label' for the labels; it has 'Node_ID', 'Label'"):
        find_column(table, "label", "labels", "label_column")


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
    assert pick_edge_columns(frame(**{name: [1] for name in names}), None, None) == ends


def test_numbers_of_every_type():
    for values in (
        [1, 2],
        [1.0, 2.0],
        [True, True],
        pa.array([1, 2], pa.decimal128(5, 1)),
        pa.array([1, 2], pa.uint8()),
    ):
        table = frame(x=values)
        assert numbers(table, "x", table.read(["x"])["x"], "a number").dtype == "float64"
    table = frame(x=["1", "2"])
    with pytest.raises(ValueError, match="written as text"):
        numbers(table, "x", table.read(["x"])["x"], "a weight")


def test_words_of_messages():
    assert counted(1, "node", "nodes") == "1 node"
    assert counted(2000, "node", "nodes") == "2,000 nodes"
    assert listed(range(10), 3) == "0, 1, 2 and 7 more"
    assert len(shown("x" * 1000)) == 60
