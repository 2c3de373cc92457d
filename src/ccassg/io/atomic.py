"""Write files that are either the old ones or the new ones, never half of either, and replace none but our own.

What is written goes to a temporary file in the same folder, is forced to the disk and then renamed over the target. A
process killed on the way leaves the earlier file untouched (and at worst a stray ``.ccassg-*.tmp`` beside it).

A seal is a text in a file with the hash of all its bytes, the place of the hash itself taken as zeros. By it a file is known as
one that was written here and that nobody has changed since.
"""

import hashlib
import mmap
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal

from ccassg.io.files import open_regular

_ZEROS = "0" * 64


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path to write to, an empty file; on success it becomes ``path``, on any failure it is removed.

    OSError if the file cannot be written, in one sentence, with the ``errno`` of the cause.
    """
    target = Path(path)
    require_file(target)
    temporary = _beside(target)
    with said_of(target):
        try:
            # Not tempfile: its files are private to the user, and a renamed one would stay so.
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            yield temporary
            sync(temporary)
            os.replace(temporary, target)
            sync(target.parent)
        finally:
            with suppress(OSError):
                temporary.unlink()


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: Literal["wb", "w"] = "wb") -> Iterator[IO[Any]]:
    """Open a file for bytes or UTF-8 text; it takes the place of ``path`` only when the block ends without an error."""
    text = {} if mode == "wb" else {"encoding": "utf-8", "newline": "\n"}
    with atomic_path(path) as temporary, open(temporary, mode, **text) as file:  # type: ignore[call-overload]
        yield file


def write_bytes_atomic(path: str | os.PathLike[str], data: bytes | memoryview) -> None:
    """Write the bytes as the file ``path``, whole or not at all."""
    with atomic_write(path) as file:
        file.write(data)


def require_replaceable(
    path: str | os.PathLike[str],
    is_ours: Callable[[Path], bool],
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
    remedy: str = "give another name, or remove it first",
) -> None:
    """Refuse, before the work, a file that could not be written or that may not be replaced.

    What is there must be ours, as ``is_ours`` tells it (ValueError), and not one of the ``inputs`` nor in a folder of them.
    """
    target = Path(path)
    require_file(target)
    with said_of(target):
        if target.exists():
            read = [Path(given) for given in inputs if os.path.exists(given)]
            for file in (file for given in read for file in (given.iterdir() if given.is_dir() else (given,))):
                if os.path.samefile(file, target):
                    raise ValueError(f"{target} is read by this very command; give the output another name")
            if not is_ours(target):
                raise ValueError(
                    f"{target} is there already and is not known to be an earlier output that nobody changed; {remedy}"
                )
    require_room(target, 1)


def require_file(target: Path) -> None:
    """Refuse to write to what is there and is no regular file; OSError.

    Renaming over a folder fails late; renaming over a device (/dev/null) or a link would destroy it.
    """
    if target.is_symlink() or (target.exists() and not target.is_file()):
        kind = "a link" if target.is_symlink() else "a folder" if target.is_dir() else "not a regular file"
        raise one_sentence(target, FileExistsError(17, f"it is {kind}; name a file"))


def require_room(target: Path, n_bytes: int) -> None:
    """Raise an OSError unless a file of so many bytes could be written beside ``target``."""
    probe = _beside(target)
    with said_of(target):
        try:
            with open(probe, "xb") as file:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, n_bytes)
        finally:
            with suppress(OSError):
                probe.unlink()


def sync(path: Path) -> None:
    """Force a file, or the names in a folder, to the disk."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:  # some systems do not open folders
        return
    try:
        os.fsync(handle)
    except OSError as error:
        # File systems that cannot sync a folder say EINVAL; a real failure (EIO, ENOSPC) must be heard.
        if error.errno != 22:
            raise
    finally:
        os.close(handle)


@contextmanager
def said_of(target: Path) -> Iterator[None]:
    """Turn an OSError into one of the same kind that says in a sentence what could not be written, and why."""
    try:
        yield
    except ConnectionError:  # what was to be written did not arrive
        raise
    except OSError as error:
        raise one_sentence(target, error) from error


def one_sentence(target: Path, error: OSError) -> OSError:
    """Return the same kind of error, as one sentence naming the file and what the system said."""
    number = error.errno
    reason = error.strerror or (os.strerror(number) if number else str(error))
    if found := re.search(r"errno\W*(\d+)", reason):  # what Arrow and HDF5 say around it
        number = int(found[1])
        reason = os.strerror(number)
    if isinstance(error, FileNotFoundError) and not target.parent.exists():
        reason = f"the folder {target.parent} does not exist; make it first"
    made = type(error)(f"cannot write {target}: {reason}")
    made.errno = number
    return made


def _beside(target: Path) -> Path:
    return target.with_name(f".ccassg-{secrets.token_hex(8)}.tmp")


def blank(kind: str) -> str:
    """Return what to write into a file of this kind for `seal` or `sealed` to fill."""
    return f"ccassg {kind}, sha256 {_ZEROS}"


def sealed(text: str, kind: str) -> bytes:
    """Return a text with its blank filled, in UTF-8."""
    content, empty = text.encode(), blank(kind).encode()
    filled = empty.replace(_ZEROS.encode(), hashlib.sha256(content).hexdigest().encode())
    return content.replace(empty, filled, 1)


def seal(path: Path, kind: str) -> None:
    """Fill the blank in a file that is written in full."""
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as content:
        start = content.find(blank(kind).encode()) + len(blank(kind)) - len(_ZEROS)
        content[start : start + len(_ZEROS)] = _hash(content, start)


def is_sealed(path: Path, kind: str) -> bool:
    """Tell whether a file is of this kind, and as it was sealed."""
    pattern = re.compile(re.escape(blank(kind).removesuffix(_ZEROS)).encode() + b"([0-9a-f]{64})")
    try:
        with open_regular(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            found = pattern.search(content)
            return found is not None and found[1] == _hash(content, found.start(1))
    except (ValueError, OSError):  # empty, or none that could be ours
        return False


def _hash(content: Any, start: int) -> bytes:
    """Return the hash of a mapped file in which the seal's own begins at ``start``."""
    digest = hashlib.sha256()
    with memoryview(content) as whole, whole[:start] as before, whole[start + len(_ZEROS) :] as behind:
        for part in (before, _ZEROS.encode(), behind):
            digest.update(part)
    return digest.hexdigest().encode()
