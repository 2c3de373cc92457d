"""Write files that are either the old ones or the new ones, never half of either.

What is written goes to a temporary file in the same folder, is forced to the disk and then renamed over the target. A
process killed on the way leaves the earlier file untouched (and at worst a stray ``.ccassg-*.tmp`` beside it).
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path to write to, an empty file; on success it becomes ``path``, on any failure it is removed.

    OSError if the file cannot be written, in one sentence, with the ``errno`` of the cause.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        # Renaming over a folder fails late; renaming over a device (/dev/null) would destroy it.
        kind = "a folder" if target.is_dir() else "not a regular file"
        raise _sentence(target, FileExistsError(17, f"it is {kind}; name a file"))
    temporary = target.with_name(f".ccassg-{secrets.token_hex(8)}.tmp")
    try:
        # Not tempfile: its files are private to the user, and a renamed one would stay so.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        yield temporary
        _sync(temporary)
        os.replace(temporary, target)
        _sync(target.parent)
    except ConnectionError:  # what was to be written did not arrive
        raise
    except OSError as error:
        raise _sentence(target, error) from error
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


def _sync(path: Path) -> None:
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


def _sentence(target: Path, error: OSError) -> OSError:
    """Return the same kind of error, as one sentence naming the file."""
    reason = error.strerror or str(error)
    if isinstance(error, FileNotFoundError) and not target.parent.exists():
        reason = f"the folder {target.parent} does not exist; make it first"
    made = type(error)(f"cannot write {target}: {reason}")
    made.errno = error.errno
    return made
