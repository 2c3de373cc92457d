"""Read AnnData files, embeddings or whole graphs: what lies in the file itself, of sizes that the file can have.

HDF5 follows links into other files, makes room for what was never stored, inflates a piece without looking how far, and walks
damaged heaps for ever; so all of that is looked at first.
"""

import math
import mmap
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from ccassg import optional
from ccassg.graph import Array
from ccassg.io.arrays import Matrix, sparse_of
from ccassg.io.columns import LABEL
from ccassg.io.files import Meter, budget, open_regular, require_budget, require_room, vetted
from ccassg.io.ids import to_numpy
from ccassg.io.tables import Whole, edges_of, listed, shown

OBSM_KEY = "X_ccassg"
VLEN_BYTES = 16  # where a string of any length stands: its length and place
PIECE_BYTES = 4096  # what HDF5 keeps in mind of a piece of a dataset while it reads, whether the piece is stored or not
# How a heap of strings begins, and how long its own head and those of its strings are.
HEAP, HEAD_BYTES = b"GCOL\x01", 16


def read_h5ad(path: Path) -> tuple[Array, Array]:
    """Read the matrix (n, d) in ``obsm``, else ``X``, and the names in ``obs``; ValueError if the file cannot hold them."""
    with _opened(path) as file:
        z = file.dataset("obsm", OBSM_KEY) or file.dataset("X")
        names = file.dataset("obs", file.index("obs"))
        if z is None or names is None or z.ndim != 2 or z.dtype.kind not in "iuf" or names.shape != z.shape[:1]:
            raise ValueError(f"{path} holds no matrix with one name per row (obsm[{OBSM_KEY!r}] and obs)")
        require_room(path, max(z.shape), f"claims the shape {z.shape}")
        kind = file.dataset("uns", "ccassg_ids")
        integers = kind is not None and kind.shape == () and kind[()] in (b"int", "int")
        ids = file.strings(names)
        return np.asarray(z[()]).astype(np.float32), to_numpy(ids.cast(pa.int64()) if integers else ids)


def read_h5ad_graph(path: Path, features: str | None, label_column: str | None) -> Whole:
    """Read the neighbours in ``obsp["connectivities"]``, features in ``X`` and labels in a column of ``obs``.

    ``features`` names an entry of ``obsm`` or ``layers`` instead; a column of labels is guessed by its name.
    """
    optional.require("h5py", f"{path}: .h5ad")
    with _opened(path) as file:
        places = [("X",)] if features is None else [("obsm", features), ("layers", features)]
        edges = file.parts("obsp", "connectivities")
        x = next((parts for place in places if (parts := file.parts(*place)) is not None), None)
        if edges is None:
            raise ValueError(f"{path} has no obsp['connectivities']; run scanpy.pp.neighbors(adata) and write it again")
        if features is not None and x is None:
            raise ValueError(f"{path} has no {shown(features)} in obsm or layers; leave it out to use X")
        n_bytes = sum(part.size * part.dtype.itemsize for parts in (edges, x or {}) for part in parts.values())
        require_budget(path, n_bytes, "decoded", "write it without compression")
        ids, there = file.column("obs", file.index("obs")), list(file.item("obs"))
        label = label_column or next((name for name in there if name.lower() in LABEL), None)
        if label is not None and label not in there:
            raise ValueError(f"{path}: obs has no column {shown(label)}; it has {listed(there)}")
        labels = None if label is None else pa.table({"id": ids, label: file.column("obs", label)})
        coo = sp.coo_array(file.together(edges))
        matrix, names = None if x is None else file.together(x), None
        if matrix is not None and features is None and file.item("var") is not None:
            genes = file.column("var", file.index("var"))
            is_named = pc.count_distinct(genes).as_py() == len(genes) == matrix.shape[1]
            names = tuple(map(str, genes.to_pylist())) if is_named else None
        if coo.shape != (len(ids), len(ids)):
            raise ValueError(f"{path}: obsp['connectivities'] is {coo.shape}, but there are {len(ids):,} names in obs")
        rows = edges_of(str(path), ids, (coo.row, coo.col), coo.data)
        return Whole(rows, None if matrix is None else Matrix(matrix, names), labels)


class _Content:
    """What lies in an open file, looked at before it is read."""

    def __init__(self, path: Path, file: Any) -> None:
        self.path, self.file = path, file

    def item(self, *names: str) -> Any:
        """Return what is stored in this very file under a name, one after the other; None if there is nothing.

        A link may lead to another file, which may be a pipe: it is looked at before it is followed.
        """
        import h5py

        item = self.file
        for name in map(str, names):
            if not isinstance(item, h5py.Group) or "/" in name or not item.id.links.exists(name.encode()):
                return None
            if item.id.links.get_info(name.encode()).type != h5py.h5l.TYPE_HARD:
                raise ValueError(f"{self.path}: {name} is not in the file itself; write the file again without links")
            item = item[name]
        return item

    def dataset(self, *names: str) -> Any:
        """Return a dataset stored in this very file, of a size the file can have; None if there is none."""
        import h5py

        data, name, room = self.item(*names), "/".join(map(str, names)), budget(self.path)
        if data is None:
            return None
        if not isinstance(data, h5py.Dataset) or data.is_virtual or data.external or data.shape is None:
            raise ValueError(f"{self.path}: {name} is not a plain dataset; is it an .h5ad of embeddings?")
        n_bytes = data.dtype.itemsize + np.dtype(np.float32).itemsize
        for shape in (data.shape, data.chunks or ()):
            if math.prod(shape) * n_bytes > room:
                raise ValueError(f"{self.path}: {name} claims the shape {shape}, out of proportion to the file's size")
        widths = data.chunks or data.shape
        n_pieces = math.prod(-(-n // width) for n, width in zip(data.shape, widths, strict=True) if width)
        if n_pieces * PIECE_BYTES > room:
            raise ValueError(
                f"{self.path}: {name} is cut into {n_pieces:,} pieces, out of proportion to the file's size"
            )
        _require_inflatable(self.path, name, data)
        return data

    def strings(self, data: Any) -> pa.Array:
        """Read strings, some at a time: many may stand in one place, and each can be as long as the file."""
        # Bytes, strings of Python and of Arrow at once.
        n_rows = max(1, budget(self.path) // (4 * self.path.stat().st_size))
        meter, pieces = Meter(self.path, "read", "write it as .parquet"), []
        for start in range(0, len(data), n_rows):
            values = data[start : start + n_rows]
            piece = pa.array([v.decode() if isinstance(v, bytes) else str(v) for v in values], pa.large_string())
            meter.add(piece.nbytes)
            pieces.append(piece)
        return pa.chunked_array(pieces, pa.large_string()).combine_chunks()

    def index(self, frame: str) -> str:
        """Return the name of the column of a frame that holds its names."""
        item = self.item(frame)
        return "_index" if item is None else str(item.attrs.get("_index", "_index"))

    def column(self, *names: str) -> pa.Array:
        """Read a column of a frame: numbers, strings, or categories."""
        item, name = self.item(*names), "/".join(names)
        if hasattr(item, "keys"):
            codes, values = self.dataset(*names, "codes"), self.item(*names, "categories")
            if codes is None or values is None or hasattr(values, "keys"):
                raise ValueError(f"{self.path}: {name} is of a kind that cannot be read; write it as strings")
            values = self.column(*names, "categories")
            codes = np.asarray(codes[()]).astype(np.int64)
            if not pa.types.is_primitive(values.type):
                lengths = pc.binary_length(values).to_numpy(zero_copy_only=False)
                n_bytes = float(lengths[codes[codes >= 0]].sum())
                require_budget(self.path, n_bytes, "read", "write it with shorter categories")
            return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), values)
        data = self.dataset(*names)
        if data is None or data.ndim != 1:
            raise ValueError(f"{self.path} has no column {name}; is it an .h5ad?")
        return pa.array(data[()]) if data.dtype.kind in "biuf" else self.strings(data)

    def parts(self, *names: str) -> dict[str, Any] | None:
        """Return the pieces of a matrix, dense or sparse, none of them read; None if there is none."""
        item = self.item(*names)
        if item is None:
            return None
        kind = str(item.attrs.get("encoding-type", "array"))
        parts = ("",) if kind == "array" else ("data", "indices", "indptr")
        found = {part: self.dataset(*names, *part.split()) for part in parts}
        are_numbers = all(data is not None and data.dtype.kind in "biuf" for data in found.values())
        if kind not in ("array", "csr_matrix", "csc_matrix") or not are_numbers:
            raise ValueError(
                f"{self.path}: {'/'.join(names)} is no matrix of numbers, dense or sparse; write it as one"
            )
        return (
            found if kind == "array" else found | {"format": np.array(kind[:3]), "shape": np.array(item.attrs["shape"])}
        )

    def together(self, parts: dict[str, Any]) -> Any:
        """Read the pieces of a matrix."""
        arrays = {part: np.asarray(data[()]) for part, data in parts.items()}
        if "" not in arrays:
            return sparse_of(self.path, arrays)
        require_room(self.path, max(arrays[""].shape), f"claims the shape {arrays[''].shape}")
        return arrays[""]


@contextmanager
def _opened(path: Path) -> Iterator[_Content]:
    import h5py

    with vetted(path, "HDF5 (.h5ad, .h5)") as path:
        _require_heaps(path)
        with h5py.File(path, "r") as file:
            yield _Content(path, file)


def _require_inflatable(path: Path, name: str, data: Any) -> None:
    """Refuse compressed pieces that would become more than their place: HDF5 inflates them without looking how far."""
    from h5py import h5z

    properties = data.id.get_create_plist()
    filters = [properties.get_filter(i)[0] for i in range(properties.get_nfilters())]
    packed = [code for code in filters if code not in (h5z.FILTER_SHUFFLE, h5z.FILTER_FLETCHER32)]
    if packed not in ([], [h5z.FILTER_DEFLATE], [h5z.FILTER_LZF]):
        raise ValueError(f"{path}: {name} is compressed neither with gzip nor lzf; write it without compression")
    if packed != [h5z.FILTER_DEFLATE]:
        return
    pieces: list[tuple[int, ...]] = []
    data.id.chunk_iter(lambda piece: pieces.append(piece.chunk_offset))
    width = VLEN_BYTES if data.dtype.kind == "O" else data.id.get_type().get_size()
    n_bytes = math.prod(data.chunks) * width
    for piece in pieces:
        as_is, content = data.id.read_direct_chunk(piece)
        if not as_is and len(zlib.decompressobj().decompress(content, n_bytes + 1)) > n_bytes:
            raise ValueError(f"{path}: a piece of {name} grows beyond its place when decompressed; is it damaged?")


def _require_heaps(path: Path) -> None:
    """Refuse heaps of strings in which a gap has no length, from which HDF5 never gets away."""
    with open_regular(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        n_steps, at = 0, content.find(HEAP)
        while 0 <= at <= len(content) - HEAD_BYTES:
            end = min(at + struct.unpack_from("<8xQ", content, at)[0], len(content))
            place = at + HEAD_BYTES
            while place + HEAD_BYTES <= end:
                index, length = struct.unpack_from("<H6xQ", content, place)
                step = HEAD_BYTES + -(-length // 8) * 8 if index else length
                n_steps += 1
                if not step or n_steps > len(content) // HEAD_BYTES:  # or heaps that overlap
                    raise ValueError(f"{path} is damaged where its strings are, near byte {place:,}; write it again")
                place += step
            at = content.find(HEAP, at + 1)
