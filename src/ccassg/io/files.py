"""Open files nobody vouches for: regular ones only, what they are by content, gzip within the limits, errors in one sentence.

Nothing here or above it ever loads a pickle. Before a reader takes memory for what a file says of itself (a shape, a number
of rows, what a compressed or repeated value becomes), it asks `require_budget` or `require_room`. Real files
stay far below, bombs far above; `within` draws the limits tighter. Whoever opens a file from outside does it by
`open_regular`, or hands its path to a library within `vetted`.
"""

import errno
import gzip
import hashlib
import io
import json
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

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
    b"<gexf": "XML",
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
    row: int = 256  # bytes that a row or column counts for, since one without content may take none in the file
    columns: int = 20_000
    first_row: int = 1 << 22  # bytes within which the first row of a text table must end
    line: int = 1 << 23  # bytes of a line of whitespace text; one row must fit a block of the parser
    piece: int = 1 << 25  # bytes of whitespace text parsed at a time
    depth: int = 64  # of nested XML elements

    def budget_of(self, n_bytes: int) -> int:
        """Return how many bytes the content of so many may take in memory."""
        return max(self.growth_floor, self.growth * n_bytes)


LIMITS = Limits()
_CURRENT = ContextVar("limits", default=LIMITS)


def limits() -> Limits:
    """Return the limits that hold here."""
    return _CURRENT.get()


@contextmanager
def within(drawn: Limits) -> Iterator[None]:
    """Let other limits hold for what is read in this block."""
    token = _CURRENT.set(drawn)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def budget(path: PathLike) -> int:
    """Return how many bytes the content of a file may take in memory."""
    handle = _without_waiting(os.fspath(path), os.O_RDONLY)
    try:
        return limits().budget_of(_written(handle))
    finally:
        os.close(handle)


class Meter:
    """Counts what a file becomes piece by piece; ValueError once that is beyond its budget."""

    def __init__(self, path: PathLike, how: str, way_out: str = "decompress it first (gunzip)") -> None:
        self._path, self._how, self._way_out = path, how, way_out
        self._n_bytes, self._budget = 0.0, budget(path)

    def add(self, n_bytes: float) -> None:
        """Count so many bytes more."""
        self._n_bytes += n_bytes
        if self._n_bytes > self._budget:
            raise ValueError(
                f"{self._path} grows beyond {self._budget:,} bytes when {self._how}, {limits().growth} times its size; if you trust "
                f"it, {self._way_out}"
            )


def require_budget(path: PathLike, n_bytes: float, how: str, way_out: str) -> None:
    """Refuse a file that would grow beyond its budget."""
    Meter(path, how, way_out).add(n_bytes)


def require_room(path: PathLike, n_rows: int, claim: str) -> None:
    """Refuse a file that claims more rows or columns than its budget has room for, whether they hold anything or not."""
    if n_rows * limits().row > budget(path):
        raise ValueError(f"{path} {claim}, out of proportion to its size; is it damaged?")


def check_file(path: PathLike) -> Path:
    """Return the path of a readable, regular, non-empty file; ValueError otherwise."""
    file = Path(path)
    try:
        if not file.exists():
            raise ValueError(f"{file}: there is no such file")
        with open_regular(file) as content:
            if not content.peek(1):
                raise ValueError(f"{file} is empty (0 bytes); check how it was written")
        return file
    except OSError as error:
        raise ValueError(f"{file} cannot be opened: {error.strerror or error}") from None


def open_regular(path: PathLike) -> io.BufferedReader:
    """Open a regular file for reading, without ever waiting; ValueError for what is none, OSError as `open`.

    A pipe would hang, a device may never end, and a file of holes is as large as it likes without taking room.
    """
    _require_regular(path, os.stat(path))
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - handed to the caller
    try:
        _require_regular(path, os.fstat(file.fileno()))  # it may have been exchanged in between
        size, stored = os.fstat(file.fileno()).st_size, _written(file.fileno())
        if size > LIMITS.budget_of(stored):
            raise ValueError(
                f"{path} claims {size:,} bytes, but {stored:,} are written, the rest are holes; copy it again"
            )
    except ValueError:
        file.close()
        raise
    return file


def read_json(path: PathLike, **options: Any) -> Any:
    """Return what a JSON file holds; ValueError if it is none, OSError as `open`. ``options`` are those of `json.loads`."""
    with open_regular(path) as file:
        content = file.read()
    try:
        return json.loads(content, **options)
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply; is it damaged?") from None


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


def open_bytes(path: PathLike) -> IO[bytes]:
    """Open for reading; gzip is recognised by content and may grow to its budget."""
    file = open_regular(path)
    if file.peek(2)[:2] != GZIP:
        return file
    return io.BufferedReader(_Gunzip(path, file), 1 << 18)


def is_gzip(path: PathLike) -> bool:
    """Return whether the content is gzip, whatever the name."""
    with open_regular(path) as file:
        return file.read(2) == GZIP


def read_head(path: PathLike, n_bytes: int) -> bytes:
    """Read the first bytes, after gunzip."""
    with open_bytes(path) as file:
        return file.read(n_bytes)


def sha256(path: PathLike) -> str:
    """Return the hash of a file's content."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def vetted(path: PathLike, kind: str | None = None) -> Iterator[Path]:
    """Give the path of a file that `check_file` passes and that is of one kind, and turn errors into one sentence."""
    file = check_file(path)
    if kind is not None:
        require_kind(file, kind)
    with one_sentence(file):
        yield file


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


def _require_regular(path: PathLike, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise ValueError(f"{path} is {kind}; name a file")


def _without_waiting(path: str, flags: int) -> int:
    """Open as `open` does, but without waiting for somebody at the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _written(handle: int) -> int:
    """Return how many bytes of a file are written, holes left out; all of them where the system does not tell."""
    size = os.fstat(handle).st_size
    if not hasattr(os, "SEEK_HOLE"):
        return size
    before, end, total = os.lseek(handle, 0, os.SEEK_CUR), 0, 0
    try:
        while end < size:
            start = os.lseek(handle, end, os.SEEK_DATA)
            end = os.lseek(handle, start, os.SEEK_HOLE)
            total += end - start
    except OSError as error:
        total = total if error.errno == errno.ENXIO else size  # ENXIO: a hole is all that is left
    os.lseek(handle, before, os.SEEK_SET)
    return total


class _Gunzip(io.RawIOBase):
    """Decompresses a stream up to its budget and tells damage as a ValueError."""

    def __init__(self, path: PathLike, file: IO[bytes]) -> None:
        self._path, self._file = path, file
        self._stream = gzip.GzipFile(fileobj=file, mode="rb")
        self._meter = Meter(path, "decompressed")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            n = self._stream.readinto(buffer)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{self._path} is a damaged gzip file: {first_line(error)}") from None
        self._meter.add(n)
        return n

    def close(self) -> None:
        self._stream.close()
        self._file.close()
        super().close()
