"""Open files nobody vouches for: what they are by content, gzip within the limits, errors in one sentence.

Nothing here or above it ever loads a pickle. Before a reader takes memory for what a file says of itself (a shape, a number
of rows, what a compressed stream becomes), it asks `Limits.budget`. Real files stay far below, bombs far above. Every reader
takes ``limits``, so that a caller may draw them tighter.
"""

import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

PathLike: TypeAlias = str | os.PathLike[str]

GZIP = b"\x1f\x8b"
MAGIC = {
    b"PAR1": "Parquet",
    b"\x93NUMPY": "NumPy .npy",
    b"PK\x03\x04": "zip (.npz, .xlsx)",
    b"\x89HDF": "HDF5 (.h5ad, .h5)",
    b"%%MatrixMarket": "Matrix Market",
    b"<?xml": "XML",
    b"<graphml": "XML",
    b"ARROW1": "Arrow/Feather",
    b"SQLite": "SQLite",
    b"\x80\x04\x95": "pickle",
    b"\x80\x05\x95": "pickle",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}


@dataclass(frozen=True)
class Limits:
    """How much a file that nobody vouches for may claim and grow to before it is believed."""

    growth: int = 200  # how many times its size a file may become when it is decompressed or decoded
    growth_floor: int = 256 * 2**20  # how many bytes any file may become, however small it is
    free_rows: int = 1_000_000  # rows without content take no room in a file; so many are taken on faith
    columns: int = 20_000
    first_row: int = 1 << 22  # bytes within which the first row of a text table must end
    line: int = 1 << 23  # bytes of a line of whitespace text; one row must fit a block of the parser
    piece: int = 1 << 25  # bytes of whitespace text parsed at a time
    depth: int = 64  # of nested XML elements

    def budget(self, path: PathLike) -> int:
        """Return how many bytes the content of a file may take in memory."""
        return max(self.growth_floor, self.growth * os.path.getsize(path))

    def require_budget(self, path: PathLike, n_bytes: int, how: str, way_out: str) -> None:
        """Refuse a file that has grown beyond its budget while it was read."""
        if n_bytes > self.budget(path):
            raise ValueError(
                f"{path} grows beyond {self.budget(path):,} bytes when {how}, {self.growth} times its size; if you "
                f"trust it, {way_out}"
            )


LIMITS = Limits()


class Reading(NamedTuple):
    """How a table is read: whether text begins with column names (None: guessed), its encoding, and the bounds of all readers."""

    header: bool | None = None
    encoding: str = "utf-8"
    limits: Limits = LIMITS


READING = Reading()


def check_file(path: PathLike) -> Path:
    """Return the path of a readable, regular, non-empty file; ValueError otherwise."""
    file = Path(path)
    try:
        if not file.exists():
            raise ValueError(f"{file}: there is no such file")
        if not file.is_file():
            # A pipe would hang, a device may never end.
            raise ValueError(f"{file} is {'a folder' if file.is_dir() else 'not a regular file'}; name a file")
        if file.stat().st_size == 0:
            raise ValueError(f"{file} is empty (0 bytes); check how it was written")
        with open(file, "rb"):
            return file
    except OSError as error:
        raise ValueError(f"{file} cannot be opened: {error.strerror or error}") from None


def suffix_of(path: PathLike) -> str:
    """Return the suffix in lower case, without a final ``.gz``: ``edges.CSV.gz`` has ``.csv``."""
    name = Path(path).name.lower()
    return Path(name.removesuffix(".gz")).suffix


def content_kind(path: PathLike) -> str:
    """Return what a file is by its first bytes, after gunzip: a value of `MAGIC`, "text" or "binary"."""
    head = read_head(path, 4096)
    stripped = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    for magic, kind in MAGIC.items():
        if head.startswith(magic) or stripped.startswith(magic):
            return kind
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "text"  # UTF-16 with its mark; the encoding is complained about later
    return "binary" if b"\x00" in head else "text"


def require_kind(path: PathLike, expected: str) -> None:
    """Refuse a file whose content is not what its suffix promised."""
    kind = content_kind(path)
    if kind != expected:
        promised = "text table" if expected == "text" else f"{expected} file"
        raise ValueError(f"{path} is not a {promised}: its content is {kind}; give it the suffix of what it is")


def open_bytes(path: PathLike, limits: Limits = LIMITS) -> IO[bytes]:
    """Open for reading; gzip is recognised by content and may grow to its budget."""
    file = open(path, "rb")  # noqa: SIM115 - handed to the caller
    if file.peek(2)[:2] != GZIP:
        return file
    return io.BufferedReader(_Gunzip(path, file, limits), 1 << 18)


def is_gzip(path: PathLike) -> bool:
    """Return whether the content is gzip, whatever the name."""
    with open(path, "rb") as file:
        return file.read(2) == GZIP


def read_head(path: PathLike, n_bytes: int) -> bytes:
    """Read the first bytes, after gunzip."""
    with open_bytes(path) as file:
        return file.read(n_bytes)


def sha256(path: PathLike) -> str:
    """Return the hash of a file's content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def one_sentence(path: Any) -> Iterator[None]:
    """Turn whatever a reading library raises into a ValueError of one line that names the file."""
    try:
        yield
    except MemoryError:
        raise ValueError(f"{path} cannot be read: it needs more memory than there is") from None
    except Exception as error:  # damaged files make libraries raise anything, from TokenError to BadZipFile
        text = str(error)
        if type(error) is ValueError and text.startswith(str(path)) and "\n" not in text:
            raise
        raise ValueError(f"{path} cannot be read: {first_line(error)}") from None


def first_line(error: BaseException) -> str:
    """Return what an error of a library says, in one line that is not long."""
    text = str(error).strip().splitlines()
    line = text[0] if text else type(error).__name__
    return line if len(line) <= 300 else line[:297] + "..."


class _Gunzip(io.RawIOBase):
    """Decompresses a stream up to its budget and tells damage as a ValueError."""

    def __init__(self, path: PathLike, file: IO[bytes], limits: Limits) -> None:
        self._path, self._file, self._limits = path, file, limits
        self._stream = gzip.GzipFile(fileobj=file, mode="rb")
        self._n_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            n = self._stream.readinto(buffer)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{self._path} is a damaged gzip file: {first_line(error)}") from None
        self._n_bytes += n
        self._limits.require_budget(self._path, self._n_bytes, "decompressed", "decompress it first (gunzip)")
        return n

    def close(self) -> None:
        self._stream.close()
        self._file.close()
        super().close()
