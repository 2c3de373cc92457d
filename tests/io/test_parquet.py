"""Parquet columns of every type and encoding come back as they are; what would outgrow the file is refused unread."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ccassg.io.features import read_nodes
from ccassg.io.files import LIMITS, Limits, within
from ccassg.io.parquet import pieces, read_batches
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


SMALL = pa.table(
    {
        "id": [f"node {i}" for i in range(5000)],
        "x": np.arange(5000) % 7,
        "flag": np.arange(5000) % 2 == 0,
        "list": [[1.0, 2.0]] * 5000,
        "some": [None if i % 3 else "ü" * 40 for i in range(5000)],
    }
)


def sizes(path):
    """Of each column, what its pages say and what the end of the file says."""
    meta = pq.ParquetFile(path).metadata
    found = pieces(path, SMALL.column_names)
    for j, name in enumerate(SMALL.column_names):
        columns = [meta.row_group(i).column(j) for i in range(meta.num_row_groups)]
        assert [piece.n_values for piece in found[name]] == [column.num_values for column in columns]
        yield sum(piece.n_bytes for piece in found[name]), sum(column.total_uncompressed_size for column in columns)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "none"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_pages_add_up_to_what_an_honest_file_says(tmp_path, version, compression, dictionary):
    path = tmp_path / "t.parquet"
    pq.write_table(
        SMALL, path, row_group_size=2000, data_page_size=1000, data_page_version=version, compression=compression,
        use_dictionary=dictionary, write_page_checksum=True, write_statistics=True,
    )  # fmt: skip
    for pages, said in sizes(path):
        assert 0 < pages <= said < 2 * pages + 1000  # heads count there, too


def varint(number, width=None):
    """A whole number as Thrift writes it, in as many bytes as asked for."""
    number, out = 2 * number, []
    while number >= 128 or (width is not None and len(out) < width - 1):
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def test_a_page_that_becomes_more_than_the_file_says_is_refused_undecoded(tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.table({"id": ["x" * 300_000_000], "x": [1.0]})
    pq.write_table(table, path, compression="zstd", use_dictionary=False, write_statistics=False)
    size = pq.ParquetFile(path).metadata.row_group(0).column(0).total_uncompressed_size
    content = path.read_bytes()
    end = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    forged = varint(1000, len(varint(size)))
    path.write_bytes(content[:end] + content[end:].replace(varint(size), forged))
    assert pq.ParquetFile(path).metadata.row_group(0).column(0).total_uncompressed_size == 1000
    usual, pool = pa.default_memory_pool(), pa.system_memory_pool()
    pa.set_memory_pool(pool)
    try:
        with pytest.raises(ValueError, match=r"t\.parquet grows beyond 268,435,456 bytes when decoded"):
            read_nodes(path)
    finally:
        pa.set_memory_pool(usual)
    assert pool.max_memory() < 50_000_000


@pytest.mark.parametrize("damage", [b"\x00", b"\xff", b"\x19\xff\xff\xff\xff\x7f", b"\x1c" * 40])
def test_heads_that_are_none_are_refused(tmp_path, bounded, damage):
    path = tmp_path / "t.parquet"
    pq.write_table(SMALL, path, compression="zstd")
    content = path.read_bytes()
    path.write_bytes(content[:4] + damage + content[4 + len(damage) :])
    bounded()
    with pytest.raises(
        ValueError, match=r"t\.parquet cannot be read: what it says of its columns does not hold together"
    ):
        read_nodes(path)


DAMAGE_EACH_BYTE = """
import sys
from pathlib import Path
from ccassg.io.features import read_nodes

path = Path(sys.argv[1])
content = path.read_bytes()
for i in range(len(content) - int.from_bytes(content[-8:-4], "little") - 8, len(content) - 8):
    for value in (0xFF, content[i] ^ 1):
        path.write_bytes(content[:i] + bytes([value]) + content[i + 1 :])
        try:
            read_nodes(path)
        except ValueError:
            pass
"""


def test_no_byte_at_the_end_of_a_file_ends_the_process(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"id": ["a", "b"], "x": [1.0, 2.0]}), path, compression="zstd", store_schema=False)
    subprocess.run([sys.executable, "-c", DAMAGE_EACH_BYTE, str(path)], check=True)
