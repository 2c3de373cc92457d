"""Parquet columns of every type and encoding come back as they are; what would outgrow the file is refused unread."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ccassg.io.files import LIMITS, Limits, within
from ccassg.io.parquet import read_batches
from ccassg.io.tables import ParquetTable

N = 3000
TEXT = [None if i % 7 == 0 else f"é{i % 90}" * (i % 5) for i in range(N)]
TABLE = pa.table(
    {
        "text": TEXT,
        "large": pa.array(TEXT, pa.large_string()),
        "bytes": pa.array([b"\x00" * (i % 3) for i in range(N)]),
        "coded": pa.array(TEXT).dictionary_encode(),
        "dotted.name": np.arange(N),
        "half": np.arange(N, dtype=np.float16),
        "flag": [i % 2 == 0 for i in range(N)],
        "nothing": pa.nulls(N),
        "list": [[1.5, i] for i in range(N)],
        "wide": pa.array([[1, 2, 3]] * N, pa.list_(pa.int8(), 3)),
        "day": pa.array(np.arange(N, dtype=np.int32)).cast(pa.date32()),
    }
)
# What makes every string read as a dictionary: a long one that only one row names.
LONG = TABLE.set_column(0, "text", pa.array([*TEXT[1:], "x" * 10_000]))


def read(path, names, limits=LIMITS):
    with within(limits):
        return pa.Table.from_batches(read_batches(path, names))


@pytest.mark.parametrize("table", [TABLE, LONG])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"row_group_size": 700, "compression": "zstd"},
        {"dictionary_pagesize_limit": 50, "data_page_size": 100},
        {"use_dictionary": False},
        {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY", "large": "DELTA_LENGTH_BYTE_ARRAY"}},
    ],
)
def test_columns_come_back_as_they_are(tmp_path, table, options):
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, **options)
    tight = Limits(growth=1, growth_floor=600_000)  # too little for the longest string in every row
    for limits in (LIMITS, tight):
        for names in (table.column_names, ["wide", "text"], ["dotted.name"], ["bytes"]):
            found = read(path, names, limits)
            assert found.column_names == names
            for name in names:
                assert found[name].type == table[name].type
                assert found[name].to_pylist() == table[name].to_pylist(), name


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_BYTE_ARRAY", "dictionary"])
def test_text_is_counted_before_it_is_written_out(tmp_path, encoding):
    path = tmp_path / "t.parquet"
    kinds = {} if encoding == "dictionary" else {"use_dictionary": False, "column_encoding": {"t": encoding}}
    pq.write_table(pa.table({"t": ["x" * 2000] * N, "x": range(N)}), path, compression="zstd", **kinds)
    limits = Limits(growth=1, growth_floor=6_020_000)
    before = pa.total_allocated_bytes()
    with pytest.raises(ValueError, match=r"t\.parquet grows beyond 6,020,000 bytes when decoded"):
        read(path, ["t", "x"], limits)
    assert pa.total_allocated_bytes() - before < 100_000
    assert read(path, ["t"], Limits(growth=1, growth_floor=6_100_000)).num_rows == N
    assert read(path, ["x"], limits).num_rows == N


@pytest.mark.parametrize(
    "column",
    [
        pa.nulls(N),
        np.zeros(N, np.int8),
        pa.array([[0] * (N - 1), [0]], pa.list_(pa.int8())),
        pa.array([None] * 2, pa.list_(pa.float32(), N)),
    ],
)
def test_numbers_are_counted_by_what_the_file_says(tmp_path, column):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": column}), path)
    with pytest.raises(ValueError, match="grows beyond 23,999 bytes when decoded"):
        read(path, ["x"], Limits(growth=0, growth_floor=8 * N - 1))
    assert read(path, ["x"]).num_rows == len(column)


@pytest.mark.parametrize("column", [[["a"]], [{"a": 1}], [[[1.0]]], pa.array([[("a", 1)]], pa.map_("string", "int8"))])
def test_columns_of_no_use_are_refused_unread(tmp_path, column):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": column, "y": [1]}), path)
    with pytest.raises(ValueError, match=r"t\.parquet, column 'x': .* cannot be a class, an id or a feature"):
        ParquetTable(path).read(["y", "x"])
    assert ParquetTable(path).read(["y"])["y"].to_pylist() == [1]


def test_a_string_column_of_many_row_groups_is_not_read_row_by_row(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [f"node {i}" for i in range(200_000)]}), path, row_group_size=50_000)
    batches = list(read_batches(path, ["x"]))
    assert len(batches) <= 4
    assert batches[0].schema.types == [pa.string()]


@pytest.mark.parametrize("dictionary", [True, False])
def test_bytes_that_are_no_text_are_refused(tmp_path, dictionary):
    path = tmp_path / "x.parquet"
    texts = pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 1, 3], np.int32)), pa.py_buffer(b"a\xff\xfe"))
    pq.write_table(pa.table({"id": texts}), path, use_dictionary=dictionary)
    with pytest.raises(ValueError, match=r"x.parquet, column 'id' is damaged: Invalid UTF8 sequence"):
        list(read_batches(path, ["id"]))
