"""Pages are counted by their own heads, as Arrow writes them; what is forged is refused before it is decoded, damage never fatal."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ccassg.io.features import read_nodes
from ccassg.io.parquet_footer import pieces

TABLE = pa.table(
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
    found = pieces(path, TABLE.column_names)
    for j, name in enumerate(TABLE.column_names):
        columns = [meta.row_group(i).column(j) for i in range(meta.num_row_groups)]
        assert [piece.n_values for piece in found[name]] == [column.num_values for column in columns]
        yield sum(piece.n_bytes for piece in found[name]), sum(column.total_uncompressed_size for column in columns)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "none"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_pages_add_up_to_what_an_honest_file_says(tmp_path, version, compression, dictionary):
    path = tmp_path / "t.parquet"
    pq.write_table(
        TABLE, path, row_group_size=2000, data_page_size=1000, data_page_version=version, compression=compression,
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
    pq.write_table(TABLE, path, compression="zstd")
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
