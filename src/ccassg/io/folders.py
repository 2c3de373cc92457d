"""A folder of files that belong together: known by their hashes, replaced all or none, never in place of somebody else's.

One JSON file among them, the index, has the sha256 of all others and of itself. New files are written into a folder within, whose
one rename to `DECIDED` makes them those that count; whoever opens the folder next moves in what a kill has left there.
"""

import errno
import fcntl
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ccassg.io.atomic import said_of, sync, write_bytes_atomic
from ccassg.io.files import open_regular, read_json, sha256
from ccassg.io.manifest import manifest_hash

RUN, MODEL = "run.json", "config.json"  # the indexes of a run, and of a model alone
CHECKPOINT = "checkpoint.safetensors"
DECIDED = ".ccassg-decided"
_OURS = ".ccassg-"  # what is on its way, or was when it was killed


def require_ours(folder: Path, names: Iterable[str], *, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Refuse to write files of these names where somebody else's files are, or what is read (``inputs``): ValueError.

    A folder must be new, empty or an earlier run's, and what is replaced in it must still be as it was written.
    """
    recover(folder)
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ValueError(f"{folder} is a file; name a folder for the model")
    for path in map(Path, inputs):
        if path.exists() and os.path.samefile(path if path.is_dir() else path.parent, folder):
            raise ValueError(f"{path} is read by this very command; name another folder to write to")
    known, checkpoints = files_of(folder), _checkpoints(folder)
    there = sorted(name for name in os.listdir(folder) if not name.startswith(_OURS))
    if there and not known and not checkpoints:
        others = f"{there[0]} and {len(there) - 1} more" if len(there) > 1 else there[0]
        raise ValueError(
            f"{folder} holds files that ccassg is not known to have written ({others}); name a folder that is new, empty or an "
            f"earlier run's"
        )
    wanted = set(names)
    if RUN in known and RUN not in wanted:
        raise ValueError(f"{folder} holds a run, of which a model is only a part; name another folder")
    for name in there:
        if (
            (name in wanted or name.startswith(CHECKPOINT))
            and name not in checkpoints
            and not _is(folder / name, known)
        ):
            raise ValueError(f"{folder / name} is not as ccassg wrote it; move it away, or name another folder")


def files_of(folder: Path) -> dict[str, str]:
    """Return the hashes of the files that ccassg wrote here, by name: those of a run, else of a model, else none."""
    index = next((folder / name for name in (RUN, MODEL) if os.path.lexists(folder / name)), None)
    if index is None or index.is_symlink() or not index.is_file():
        return {}
    try:
        record = read_json(index)
        known = dict(record["files"])
        is_ours = record["sha256"] == manifest_hash(record)
    except (ValueError, TypeError, KeyError):
        return {}
    return known | {index.name: sha256(index)} if is_ours and all(map(_is_name, known)) else {}


def is_output(folder: Path) -> bool:
    """Whether a folder is empty, or begins to look as a run or a model does: no graph to read."""
    if not folder.is_dir():
        return False
    names = [path.name for path in folder.iterdir()]
    return (
        not names or not {RUN, MODEL}.isdisjoint(names) or any(name.startswith((CHECKPOINT, _OURS)) for name in names)
    )


@contextmanager
def replaced(folder: Path) -> Iterator[Path]:
    """Give an empty folder to write to; when the block ends, its files take the place of the earlier ones, all or none."""
    with said_of(folder):
        folder.mkdir(parents=True, exist_ok=True)
    recover(folder)  # else the rename below would find its place taken
    with tempfile.TemporaryDirectory(prefix=_OURS, suffix=".tmp", dir=folder) as name:
        staged = Path(name) / "files"
        staged.mkdir()
        yield staged
        require_ours(folder, os.listdir(staged))
        with said_of(folder):
            os.rename(staged, folder / DECIDED)
            sync(folder)
    recover(folder)


def recover(folder: Path) -> None:
    """Move in the files of a run that was killed once they were decided on; nothing is done where there are none."""
    decided = folder / DECIDED
    if not os.path.lexists(decided):
        return
    if decided.is_symlink() or not decided.is_dir():
        raise ValueError(f"{decided} is not what ccassg leaves there; remove it")
    with said_of(folder):
        # The indexes go last: until then the earlier one vouches for what is still to be replaced.
        names = sorted(os.listdir(decided), key=lambda name: (name == RUN, name == MODEL, name))
        earlier, new = files_of(folder), files_of(decided)
        for name in names:
            there = folder / name
            if os.path.lexists(there) and not _is(there, earlier) and not _is(there, new):
                raise ValueError(f"{there} is not as ccassg wrote it; move it away, or {decided}")
        for name in names:
            with suppress(FileNotFoundError):  # another process is moving them too
                os.replace(decided / name, folder / name)
        with suppress(FileNotFoundError):
            decided.rmdir()
        sync(folder)


def write_index(folder: Path, name: str, record: dict[str, Any]) -> None:
    """Write the index of a folder: a record in JSON's types, with the hashes of all files there and of itself."""
    record = record | {"files": {path.name: sha256(path) for path in sorted(folder.iterdir()) if path.name != name}}
    text = json.dumps(record | {"sha256": manifest_hash(record)}, indent=1) + "\n"
    write_bytes_atomic(folder / name, text.encode())


def require_whole(folder: Path) -> None:
    """Refuse a run of which a file is missing, was changed, or is of another run: ValueError."""
    recover(folder)
    known = files_of(folder)
    if RUN not in known:
        why = "is damaged, altered or of an earlier version" if (folder / RUN).exists() else "is not there"
        raise ValueError(f"{folder} holds no run ({RUN} {why}); make one with: ccassg fit GRAPH -o FOLDER")
    for name in known:
        if not _is(folder / name, known):
            raise ValueError(f"{folder / name} is missing, or not as this run wrote it; fit again into a new folder")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a folder for this process, making it if need be; ValueError if another one has it. The lock ends with the process."""
    made = not folder.exists()
    with said_of(folder):
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise ValueError(
                    f"another process is writing to {folder}; wait for it, or name another folder"
                ) from None
            # Some network file systems lock no folder.
        yield
    finally:
        os.close(handle)
        if made:
            with suppress(OSError):  # something is in it
                folder.rmdir()


def is_checkpoint(path: Path) -> bool:
    """Whether a safetensors file says of itself what a checkpoint does."""
    with open_regular(path) as file:
        size = int.from_bytes(file.read(8), "little")
        try:
            return "fingerprint" in json.loads(file.read(min(size, 2**24)))["__metadata__"]
        except (ValueError, TypeError, KeyError, RecursionError):
            return False


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and name not in ("", ".", "..") and "/" not in name and "\0" not in name


def _is(path: Path, known: dict[str, str]) -> bool:
    """Whether a file is there and as it was written."""
    return not path.is_symlink() and path.is_file() and sha256(path) == known.get(path.name)


def _checkpoints(folder: Path) -> set[str]:
    """Names of an unfinished run's checkpoints, a damaged one included; none if they are somebody else's."""
    names = {path.name for path in folder.glob(f"{CHECKPOINT}*") if path.is_file() and not path.is_symlink()}
    return names if any(is_checkpoint(folder / name) for name in names) else set()
