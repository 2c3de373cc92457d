"""Small files that ask for much memory, by construction: one function per format, each writes its file at the path it is given.

`KINDS` names what reads them: as edges, as features or labels of the nodes 0, 1 and 2, or as embeddings. `grown` writes files
of any size in between; `measure` reads one in a process of its own.
"""

import base64
import gzip
import json
import os
import resource
import signal
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ccassg.io.embeddings import read_embeddings
from ccassg.io.files import LIMITS
from ccassg.io.graphs import read_graph
from ccassg.scoring import page

# No machine is harmed by a bomb that goes off: beyond so much the system says no.
MOST, SECONDS = 4 * 2**30, 60
# What a reader may take at most: a few copies of the file's budget, and the blocks and libraries that every file needs.
COPIES, BLOCKS = 4, 160 * 2**20


def read(kind: str, path: str) -> str | None:
    """Read a file as what it claims to be; the sentence that refuses it, or None."""
    edges = pa.table({"source": ["0", "1"], "target": ["1", "2"]})
    try:
        if kind == "run":
            page(Path(path).parent)
        elif kind == "embeddings":
            read_embeddings(path)
        elif kind == "edges":
            read_graph(path)
        else:
            read_graph(edges, **{kind: path})
    except ValueError as error:
        return str(error)
    return None


def measure(kind: str, path: str, floor: int = LIMITS.growth_floor) -> dict[str, object]:
    """Read a file under limits of memory and time; what was said, and the bytes that this took and that it might take.

    ``floor`` takes the place of the one in the limits, which are those of the whole process.
    """
    object.__setattr__(LIMITS, "growth_floor", floor)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MOST, resource.RLIM_INFINITY))
    signal.alarm(SECONDS)
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before = _peak()
    said = read(kind, path)
    # A file of holes is as large as it likes: its bytes are those on the disk.
    allowed = BLOCKS + COPIES * max(floor, LIMITS.growth * os.stat(path).st_blocks * 512)
    return {"said": said, "bytes": _peak() - before, "allowed": allowed}


def grow(form: str, path: str, rows: int, columns: int, length: int, floor: int) -> dict[str, object]:
    """Write a file of a form in `GROWN`, with so many rows, columns and characters in a cell, and `measure` reading it.

    Rows are left out of what could not be read below ``MOST`` however honest it is.
    """
    kind, write = GROWN[form]
    write(Path(path), max(1, min(rows, MOST // 8 // (columns * length))), columns, length)
    return measure(kind, path, floor)


def csv_of_empty_cells(path: Path) -> None:
    """Rows of nothing but separators: each cell takes one byte here and eight as a number."""
    path.write_bytes(b"id" + b"".join(b",x%d" % i for i in range(2000)) + b"\n" + (b"," * 2000 + b"\n") * 500)


def csv_gz_of_cells(path: Path) -> None:
    """300 MB of short cells in 300 kB."""
    header = b"id," + b",".join(b"x%d" % i for i in range(5000)) + b"\n"
    _write_gzip(path, header, b"0" + b",0" * 5000 + b"\n", 30_000)


def csv_with_an_open_quote(path: Path) -> None:
    """A quote that opens in the first row and never closes, before a megabyte of rows."""
    path.write_bytes(b'source,target\n0,"1\n' + b"1,2\n" * 250_000)


def txt_gz_of_lines(path: Path) -> None:
    """A hundred million edges in half a megabyte."""
    _write_gzip(path, b"", b"0 1\n" * 1000, 100_000)


def txt_gz_of_comments(path: Path) -> None:
    """As many lines that hold nothing."""
    _write_gzip(path, b"0 1\n", b"#\n" * 1000, 100_000)


def parquet_dictionary(path: Path, names: Sequence[str] = ("source", "target")) -> None:
    """One string of 20 kB, which a million rows name."""
    codes = pa.array(np.zeros(1_000_000, np.int32))
    text = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * 20_000]))
    pq.write_table(pa.table([text, text], names), path, compression="zstd")


def parquet_prefix(path: Path, names: Sequence[str] = ("source", "target")) -> None:
    """Fifteen thousand strings of 20 kB, each stored as a number: how much of the one before it is its own."""
    table = pa.table([np.arange(15_000), ["x" * 20_000] * 15_000], names)
    kinds = {"use_dictionary": False, "column_encoding": {names[1]: "DELTA_BYTE_ARRAY"}}
    pq.write_table(table, path, compression="zstd", **kinds)


def parquet_steps(path: Path) -> None:
    """A path of three million nodes, of which only the differences are stored."""
    ids = np.arange(3_000_001)
    kinds = {"source": "DELTA_BINARY_PACKED", "target": "DELTA_BINARY_PACKED"}
    table = pa.table({"source": ids[:-1], "target": ids[1:]})
    pq.write_table(table, path, compression="zstd", use_dictionary=False, column_encoding=kinds)


def parquet_nested(path: Path) -> None:
    """Three lists of equal numbers, forty million in all."""
    values = pa.array(np.zeros(40_000_000, np.int8))
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2, 40_000_000], pa.int32()), values)
    pq.write_table(pa.table({"id": [0, 1, 2], "x": lists}), path, compression="zstd")


def parquet_of_missing_lists(path: Path) -> None:
    """Three missing lists, which take the room of a hundred million numbers each."""
    lists = pa.array([None] * 3, pa.list_(pa.float32(), 2))
    pq.write_table(pa.table({"id": [0, 1, 2], "x": lists}), path)
    # The width stands in the schema that Arrow keeps beside Parquet's own.
    wide = pa.schema([("id", pa.int64()), ("x", pa.list_(pa.float32(), 100_000_000))])
    file = pq.ParquetFile(path)
    with pq.ParquetWriter(path, file.schema_arrow, store_schema=False) as writer:
        writer.write_table(pa.table({"id": [0, 1, 2], "x": lists}))
        writer.add_key_value_metadata({"ARROW:schema": _encoded(wide)})


def parquet_of_nulls(path: Path, names: Sequence[str] = ("id", "x")) -> None:
    """Fifty million rows of nothing."""
    pq.write_table(pa.table([pa.nulls(50_000_000)] * 2, names), path)


def npz_coo(path: Path) -> None:
    """A sparse matrix of three entries that claims 200 million rows and columns."""
    one = np.arange(3)
    shape = np.array([200_000_000, 200_000_000])
    np.savez(path, row=one, col=one, data=one.astype(np.float32), shape=shape, format=np.array(b"coo"))


def npz_of_zeros(path: Path) -> None:
    """A dense matrix of 250 million bytes, all zero."""
    header = _npy_header("|u1", (3, 83_000_000))
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("x.npy", "w") as file,
    ):
        file.write(header)
        for _ in range(249):
            file.write(bytes(1_000_000))


def npy_without_width(path: Path) -> None:
    """Four hundred million strings of no length, which take no room in the file."""
    path.write_bytes(_npy_header("<U0", (400_000_000,)) + bytes(64))


def npy_without_rows(path: Path) -> None:
    """A matrix of no rows and a hundred million million columns."""
    path.write_bytes(_npy_header("<f4", (0, 10**14)) + bytes(64))


def npy_hole(path: Path) -> None:
    """A terabyte of zeros in a file of holes, which takes no room on the disk."""
    with open(path, "wb") as file:
        file.write(_npy_header("<f4", (3, 2**36)))
        file.truncate(file.tell() + 3 * 2**38)


def mtx_of_lone_nodes(path: Path) -> None:
    """A million nodes and one edge."""
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n1000000 1000000 1\n1 2\n")


def mtx_of_nodes(path: Path) -> None:
    """A hundred million nodes and one edge."""
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n100000000 100000000 1\n1 2\n")


def mtx_gz_of_lines(path: Path) -> None:
    """Fifty million entries in 200 kB."""
    head = b"%%MatrixMarket matrix coordinate pattern general\n3 3 50000000\n"
    _write_gzip(path, head, b"1 2\n" * 1000, 50_000)


def graphml_default(path: Path) -> None:
    """A default of a megabyte for an attribute that 20,000 nodes have not."""
    path.write_text(_with_default("string", "y", "x" * 1_000_000))


def graphml_number(path: Path) -> None:
    """The same with a number of a megabyte."""
    path.write_text(_with_default("double", "1", "0" * 1_000_000))


def graphml_gz_of_nodes(path: Path) -> None:
    """Fifteen million nodes in 200 MB of elements, 400 kB when compressed."""
    _write_gzip(path, b'<?xml version="1.0"?><graphml><graph>', b'<node id="a"/>' * 1000, 15_000)


def graphml_gz_of_one_tag(path: Path) -> None:
    """A name of 200 MB, which no parser can let go of before it ends."""
    _write_gzip(path, b'<?xml version="1.0"?><graphml><graph><node id="', b"a" * 1000, 200_000)


def json_of_lists(path: Path) -> None:
    """A million empty lists where labels should be."""
    path.write_text("[" + "[]," * 1_000_000 + "[]]")


def json_of_digits(path: Path) -> None:
    """A number of a million digits among the labels."""
    path.write_text(json.dumps([0, 1])[:-1] + "," + "9" * 1_000_000 + "]")


def word2vec_of_columns(path: Path) -> None:
    """One row of two million numbers, each of which would be a column of its own."""
    path.write_bytes(b"1 2000000\na" + b" 0" * 2_000_000 + b"\n")


def h5ad_of_rows(path: Path) -> None:
    """A thousand million rows of which none is stored."""
    with _h5ad(path, (10**9, 1)) as file:
        file["obs"].create_dataset("_index", (10**9,), "S1", chunks=(1000,))


def h5ad_of_kinds(path: Path) -> None:
    """A note of a thousand million entries on what the ids are."""
    with _h5ad(path, (3, 2)) as file:
        file["obs"]["_index"] = [b"a", b"b", b"c"]
        file.create_dataset("uns/ccassg_ids", (10**9,), "S8", chunks=(1000,))


def h5ad_of_one_name(path: Path) -> None:
    """A name of a megabyte to which ten thousand rows point."""
    import h5py

    with _h5ad(path, (10_000, 1)) as file:
        ids = file["obs"].create_dataset("_index", (10_000,), h5py.string_dtype(), chunks=(100,))
        ids[:100] = ["x" * 1_000_000] + [""] * 99
        pointers = ids.id.read_direct_chunk((0,))[1]
        for start in range(0, 10_000, 100):
            ids.id.write_direct_chunk((start,), pointers[:16] * 100)


def h5ad_of_a_chunk(path: Path) -> None:
    """A piece of a matrix that should become twelve bytes, and becomes eight gigabytes when it is inflated."""
    with _h5ad(path, (3, 1), compression="gzip", chunks=(3, 1)) as file:
        file["obs"]["_index"] = [b"a", b"b", b"c"]
        deflate = zlib.compressobj(9, wbits=-15)
        zeros = deflate.compress(bytes(2**24)) + deflate.flush(zlib.Z_FULL_FLUSH)  # as often as one likes
        file["obsm/X_ccassg"].id.write_direct_chunk((0, 0), b"\x78\xda" + zeros * 512 + deflate.flush())


def gexf_gz_of_nodes(path: Path) -> None:
    """Fifteen million nodes in 400 kB."""
    _write_gzip(path, b'<?xml version="1.0"?><gexf><graph><nodes>', b'<node id="a"/>' * 1000, 15_000)


def gml_of_one_label(path: Path) -> None:
    """A node with a label of a megabyte, at which twenty thousand edges end."""
    edges = "edge [ source 0 target 1 ]\n" * 20_000
    path.write_text(f'graph [\nnode [ id 0 label "{"x" * 1_000_000}" ]\nnode [ id 1 label "b" ]\n{edges}]\n')


def gml_with_an_open_quote(path: Path) -> None:
    """A quote that opens and never closes, before a million short lines."""
    path.write_bytes(b'graph [\nnode [ id 0 label "\n' + b"1\n" * 4_000_000)


def gml_gz_of_nodes(path: Path) -> None:
    """Twenty million nodes in 400 kB."""
    _write_gzip(path, b"graph [\n", b"node [ id 1 ]\n" * 1000, 20_000)


def jsonl_of_columns(path: Path) -> None:
    """Twelve thousand rows, each with a column of its own."""
    path.write_text("".join(f'{{"id": {i}, "x{i}": 1}}\n' for i in range(12_000)))


def json_of_one_name(path: Path) -> None:
    """A node with a name of a megabyte and twenty thousand features."""
    path.write_text(json.dumps({"0": [1], "1": [2], "x" * 1_000_000: list(range(20_000))}))


def json_gz_of_lists(path: Path) -> None:
    """A hundred million empty lists in 300 kB."""
    _write_gzip(path, b'{"0": [', b"[]," * 1000, 100_000)


def mtx_of_columns(path: Path) -> None:
    """Three rows and a thousand million columns."""
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n3 1000000000 1\n1 2\n")


def npz_of_one_edge(path: Path) -> None:
    """An edge to the node of the highest number there is."""
    np.savez(path, edge_index=np.array([[0], [2**62]]))


def npz_of_lone_nodes(path: Path) -> None:
    """Nine hundred thousand nodes and one edge."""
    one = np.arange(1)
    np.savez(path, data=one, row=one, col=one + 1, shape=np.array([900_000, 900_000]), format=np.array(b"coo"))


def h5ad_of_neighbours(path: Path) -> None:
    """Neighbours among a thousand million cells, of which nothing is stored."""
    with _h5ad(path, (3, 1)) as file:
        file["obs"]["_index"] = [b"a", b"b", b"c"]
        _neighbours(file, 10**9, 10**9)


def h5ad_of_one_cell(path: Path) -> None:
    """A cell with a name of a megabyte, at which forty thousand edges end."""
    with _h5ad(path, (2, 1)) as file:
        file["obs"]["_index"] = [b"x" * 1_000_000, b"b"]
        _neighbours(file, 2, 40_000)
        file["obsp/connectivities/indptr"][:] = [0, 20_000, 40_000]


def h5ad_of_one_category(path: Path) -> None:
    """A cell type with a name of a megabyte, of which twenty thousand cells are."""
    with _h5ad(path, (3, 1)) as file:
        file["obs"]["_index"] = [b"%d" % i for i in range(20_000)]
        _neighbours(file, 20_000, 2)
        file["obs/label/categories"] = [b"x" * 1_000_000]
        file["obs/label/codes"] = np.zeros(20_000, np.int8)


def _neighbours(file, n, n_edges):
    """Write neighbours among n cells, all of them zeros."""
    group = file.create_group("obsp/connectivities")
    group.attrs.update({"encoding-type": "csr_matrix", "shape": [n, n]})
    for name, length, kind in (("data", n_edges, "f4"), ("indices", n_edges, "i4"), ("indptr", n + 1, "i4")):
        group.create_dataset(name, (length,), kind, chunks=(1000,) if length > 1000 else None)


# What is read as edges, as features or labels of the nodes 0, 1, 2, and as embeddings.
KINDS = {
    "edges": {
        "quote.csv": csv_with_an_open_quote,
        "lines.txt.gz": txt_gz_of_lines,
        "comments.txt.gz": txt_gz_of_comments,
        "dictionary.parquet": parquet_dictionary,
        "prefix.parquet": parquet_prefix,
        "steps.parquet": parquet_steps,
        "lone.mtx": mtx_of_lone_nodes,
        "nodes.mtx": mtx_of_nodes,
        "lines.mtx.gz": mtx_gz_of_lines,
        "default.graphml": graphml_default,
        "number.graphml": graphml_number,
        "nodes.graphml.gz": graphml_gz_of_nodes,
        "tag.graphml.gz": graphml_gz_of_one_tag,
        "nodes.gexf.gz": gexf_gz_of_nodes,
        "label.gml": gml_of_one_label,
        "quote.gml": gml_with_an_open_quote,
        "nodes.gml.gz": gml_gz_of_nodes,
        "edge.npz": npz_of_one_edge,
        "lone.npz": npz_of_lone_nodes,
        "neighbours.h5ad": h5ad_of_neighbours,
        "cell.h5ad": h5ad_of_one_cell,
        "category.h5ad": h5ad_of_one_category,
    },
    "features": {
        "empty.csv": csv_of_empty_cells,
        "cells.csv.gz": csv_gz_of_cells,
        "lists.parquet": parquet_nested,
        "missing.parquet": parquet_of_missing_lists,
        "nulls.parquet": parquet_of_nulls,
        "coo.npz": npz_coo,
        "zeros.npz": npz_of_zeros,
        "rows.npy": npy_without_rows,
        "hole.npy": npy_hole,
        "columns.jsonl": jsonl_of_columns,
        "name.json": json_of_one_name,
        "lists.json.gz": json_gz_of_lists,
        "columns.mtx": mtx_of_columns,
    },
    "labels": {"width.npy": npy_without_width, "lists.json": json_of_lists, "digits.json": json_of_digits},
    "embeddings": {
        "columns.vec": word2vec_of_columns,
        "dictionary.pq": parquet_dictionary,
        "rows.h5ad": h5ad_of_rows,
        "kinds.h5ad": h5ad_of_kinds,
        "name.h5ad": h5ad_of_one_name,
        "chunk.h5ad": h5ad_of_a_chunk,
    },
}


def _edges_csv(path, rows, columns, length):
    _write_gzip(path, b"source,target\n", b",".join([b"a" * length] * 2) + b"\n", rows)


def _edges_txt(path, rows, columns, length):
    _write_gzip(path, b"# edges\n", b"\t".join([b" 1" * length, b"2"]) + b"\n", rows)


def _edges_parquet(path, rows, columns, length):
    names = pa.DictionaryArray.from_arrays(pa.array(np.arange(rows) % 2, pa.int32()), ["a" * length, "b"])
    pq.write_table(pa.table({"source": names, "target": names}), path, compression="zstd")


def _edges_mtx(path, rows, columns, length):
    head = b"%%%%MatrixMarket matrix coordinate pattern general\n%d %d %d\n" % (columns * rows, columns * rows, rows)
    _write_gzip(path, head, b"1 2\n", rows)


def _edges_graphml(path, rows, columns, length):
    keys = b"".join(
        b'<key id="k%d" for="node"><default>%b</default></key>' % (i, b"x" * length) for i in range(columns)
    )
    head = b'<?xml version="1.0"?><graphml>' + keys + b'<graph><edge source="0" target="1"/><node id="0">'
    data = b"".join(b'<data key="k%d">y</data>' % i for i in range(columns)) + b"</node>"
    nodes = b"".join(b'<node id="%d"/>' % i for i in range(1, min(rows, 300_000)))
    path.write_bytes(gzip.compress(head + data + nodes + b"</graph></graphml>"))


def _edges_gml(path, rows, columns, length):
    node = b"".join(b' x%d "%b"' % (i, b"y" * length) for i in range(columns))
    nodes = b"".join(b'node [ id %d label "%d%b"%b ]\n' % (i, i, b"z" * length, node) for i in range(min(rows, 3000)))
    edges = b"edge [ source 0 target 1 ]\n" * min(rows, 300_000)
    path.write_bytes(
        gzip.compress(b"graph [\nnode [ id 0 ]\nnode [ id 1 ]\n"[: 8 if rows > 1 else None] + nodes + edges + b"]")
    )


def _edges_gexf(path, rows, columns, length):
    keys = b"".join(
        b'<attribute id="%d" title="t%d"><default>%b</default></attribute>' % (i, i, b"x" * length)
        for i in range(columns)
    )
    head = b'<?xml version="1.0"?><gexf><graph><attributes class="node">' + keys + b"</attributes><nodes>"
    data = b"".join(b'<attvalue for="%d" value="y"/>' % i for i in range(columns))
    nodes = b"".join(b'<node id="%d"/>' % i for i in range(1, min(rows, 300_000)))
    tail = b'</nodes><edges><edge source="0" target="0"/></edges></graph></gexf>'
    path.write_bytes(gzip.compress(head + b'<node id="0">' + data + b"</node>" + nodes + tail))


def _edges_npz(path, rows, columns, length):
    pairs = np.zeros((2, rows), ("i2", "i4", "i8")[length % 3])
    np.savez_compressed(path, edge_index=pairs, x=np.zeros((rows, min(columns, 30)), "u1"), y=np.zeros(rows, "i1"))


def _edges_h5ad(path, rows, columns, length):
    with _h5ad(path, (1, 1)) as file:
        file["obs"].create_dataset("_index", (rows,), f"S{length}", chunks=(1000,) if rows > 1000 else None)
        _neighbours(file, rows, rows)
        file.create_dataset("X", (rows, columns), "f4", chunks=(1000, 1) if rows > 1000 else None)


def _features_json(path, rows, columns, length):
    piece = json.dumps({"9" * length: [0] * columns})[1:-1].encode()
    _write_gzip(path, b'{"0": [1], "1": [2]', b", " + piece, rows)
    with gzip.open(path, "ab") as file:
        file.write(b"}")


def _features_jsonl(path, rows, columns, length):
    row = {"id": 0} | {f"x{i}": "y" * length for i in range(columns)}
    _write_gzip(path, b"", json.dumps(row).encode() + b"\n" + b'{"id": 1}\n' * 20, max(1, rows // 20))


def _features_mtx(path, rows, columns, length):
    head = b"%%%%MatrixMarket matrix coordinate pattern general\n%d %d %d\n" % (rows, columns**3, rows)
    _write_gzip(path, head, b"1 1\n", rows)


def _features_csv(path, rows, columns, length):
    header = b",".join(b"x%d" % i for i in range(columns))
    _write_gzip(path, header + b"\n", b",".join([b"0" * length] * columns) + b"\n", rows)


def _features_parquet(path, rows, columns, length):
    values = pa.array(np.zeros(rows * min(columns, 30), np.float32))
    lists = pa.FixedSizeListArray.from_arrays(values, min(columns, 30)).cast(pa.list_(pa.float32()))
    pq.write_table(pa.table({"x": lists, "y": pa.nulls(rows)}), path, compression="zstd")


def _features_npz(path, rows, columns, length):
    np.savez_compressed(path, x=np.zeros((rows, min(columns, 30)), ("u1", "f2", "f8")[length % 3]))


def _features_sparse(path, rows, columns, length):
    parts = {"indices": np.zeros(1, int), "data": np.ones(1), "shape": np.array([rows, columns**3]), "format": b"csr"}
    np.savez_compressed(path, indptr=np.r_[0, np.ones(rows, np.int32)], **parts)


def _labels_json(path, rows, columns, length):
    path.write_text(json.dumps(["a" * min(length, 20)] * min(rows, 300_000)))


def _embeddings_h5ad(path, rows, columns, length):
    with _h5ad(path, (rows * length, columns), compression="gzip", chunks=(1, 1)) as file:
        file["obs"].create_dataset("_index", (rows * length,), f"S{length}", chunks=(1,))


def _embeddings_parquet(path, rows, columns, length):
    table = {"id": np.arange(rows)} | {f"e{i}": np.zeros(rows, np.float32) for i in range(min(columns, 30))}
    kinds = {"use_dictionary": [f"e{i}" for i in range(columns)], "column_encoding": {"id": "DELTA_BINARY_PACKED"}}
    pq.write_table(pa.table(table), path, compression="zstd", **kinds)


# Files by their numbers of rows, columns and characters in a cell, up to those that take a hundred times their budget.
GROWN = {
    "e.csv.gz": ("edges", _edges_csv),
    "e.txt.gz": ("edges", _edges_txt),
    "e.parquet": ("edges", _edges_parquet),
    "e.mtx.gz": ("edges", _edges_mtx),
    "e.graphml.gz": ("edges", _edges_graphml),
    "e.gml.gz": ("edges", _edges_gml),
    "e.gexf.gz": ("edges", _edges_gexf),
    "e.npz": ("edges", _edges_npz),
    "e.h5ad": ("edges", _edges_h5ad),
    "x.json.gz": ("features", _features_json),
    "x.jsonl.gz": ("features", _features_jsonl),
    "x.mtx.gz": ("features", _features_mtx),
    "x.csv.gz": ("features", _features_csv),
    "x.parquet": ("features", _features_parquet),
    "x.npz": ("features", _features_npz),
    "sparse.npz": ("features", _features_sparse),
    "l.json": ("labels", _labels_json),
    "z.h5ad": ("embeddings", _embeddings_h5ad),
    "z.parquet": ("embeddings", _embeddings_parquet),
}


# What may stand in a run's nodes.parquet.
RUNS = (parquet_dictionary, parquet_prefix, parquet_of_nulls)


def _peak() -> int:
    """Return the most bytes that were resident."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def _write_gzip(path: Path, head: bytes, piece: bytes, n_pieces: int) -> None:
    """Write the head and so many times the piece; what is compressed may stand one after the other."""
    block = max(1, 2**20 // len(piece))
    whole, rest = divmod(n_pieces, block)
    path.write_bytes(gzip.compress(head) + gzip.compress(piece * block) * whole + gzip.compress(piece * rest))


def _npy_header(descr: str, shape: tuple[int, ...]) -> bytes:
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def _encoded(schema: pa.Schema) -> bytes:
    """Return a schema as Arrow keeps it in a Parquet file."""
    return base64.b64encode(schema.serialize().to_pybytes())


def _with_default(kind: str, value: str, default: str) -> str:
    key = f'<key id="k" for="node" attr.name="x" attr.type="{kind}"><default>{default}</default></key>'
    nodes = f'<node id="0"><data key="k">{value}</data></node>' + "".join(f'<node id="{i}"/>' for i in range(1, 20_000))
    edge = '<edge source="0" target="1"/>'
    return f'<?xml version="1.0"?><graphml>{key}<graph edgedefault="undirected">{nodes}{edge}</graph></graphml>'


def _h5ad(path: Path, shape: tuple[int, int], **storage):
    """Return an open file of embeddings of this shape, of which nothing is stored, without names."""
    import h5py

    file = h5py.File(path, "w")
    file.create_dataset(
        "obsm/X_ccassg", shape, np.float32, **({"chunks": (1000, 1)} if shape[0] > 1000 else {}) | storage
    )
    file.create_group("obs")
    return file
