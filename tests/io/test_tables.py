"""Parquet files that hold nothing, and the words of messages."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ccassg.io.tables import FrameTable, ParquetTable, counted, listed, shown


def test_parquet_with_nothing_in_it_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), path)
    with pytest.raises(ValueError, match="no rows of data"):
        ParquetTable(path)
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]), path)
    with pytest.raises(ValueError, match="column 'a' appears 2 times; rename all but one"):
        ParquetTable(path)


def test_a_column_is_refused_at_its_first_bad_row():
    column = FrameTable(pa.table({"x": [1, 2, 3]}), "it").columns(["x"])["x"]
    column.refuse_where([False, False, False], "never")
    with pytest.raises(ValueError, match=r"^it, column 'x', row 1 \(counted from 0\): 1 is bad$"):
        column.refuse_where(pa.array([False, True, True]), lambda row: f"{row} is bad")


def test_words_of_messages():
    assert counted(1, "node", "nodes") == "1 node"
    assert counted(2000, "node", "nodes") == "2,000 nodes"
    assert listed(range(10), 3) == "0, 1, 2 and 7 more"
    assert len(shown("x" * 1000)) == 60
