"""Finished runs as JSON lines: what determines a run, what came out, and where, in files that survive a crash.

A *run* is a dict in JSON's types that holds all that determines its result; its *key* is a hash of that. A *record* is one
line: key, run, result and provenance. There is one file per dataset, so that tables share records: a run of the ablation
that equals one of the main table is never made twice.
"""

import base64
import fcntl
import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ccassg.io.files import open_regular

Run: TypeAlias = dict[str, Any]
Record: TypeAlias = dict[str, Any]
_MAX_PICTURE = 2**24


def key_of(run: Run) -> str:
    """Return a hash of all that determines a run, 16 hex digits; the order of the entries does not matter.

    A run that names no revision of its system is one of the first.
    """
    told = {name: value for name, value in run.items() if (name, value) != ("revision", 1)}
    return hashlib.sha256(json.dumps(told, sort_keys=True, allow_nan=False).encode()).hexdigest()[:16]


class Records:
    """The finished runs in a folder, by key, from its files ``NAME.jsonl``, NAME being a run's ``dataset``."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._known: dict[str, Record] = {}
        for path in sorted(self.folder.glob("*.jsonl")):
            self._known |= {key_of(record["run"]): record for record in read(path)}

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Record]:
        return iter(self._known.values())

    def get(self, run: Run) -> Record | None:
        """Return the record of this very run, or None if it was never finished."""
        return self._known.get(key_of(run))

    def of(self, runs: Iterable[Run]) -> list[Record]:
        """Return the records of those runs that are finished, in the order of the runs."""
        return [record for run in runs if (record := self.get(run)) is not None]

    def add(self, record: Record) -> None:
        """Put a finished run on disk, whole or not at all, and remember it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        append(self.folder / f"{record['run']['dataset']}.jsonl", record)
        self._known[key_of(record["run"])] = record


def read(path: Path) -> list[Record]:
    """Read the records in a file; a last line that was not finished is left out."""
    with open_regular(path) as file:
        return _parse(file.read(), path)


def append(path: Path, record: Record) -> None:
    """Add one line and force it to the disk, under a lock that other writers respect.

    A record whose run is in the file already is not added again: two programs may work on the same experiment. What a
    killed writer left of a line is cut off first.
    """
    line = json.dumps({"key": key_of(record["run"]), **record}, allow_nan=False).encode() + b"\n"
    with open(path, "ab+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed
        file.seek(0)
        content = file.read()
        if any(key_of(known["run"]) == key_of(record["run"]) for known in _parse(content, path)):
            return
        file.truncate(content.rfind(b"\n") + 1)
        file.write(line)
        file.flush()
        os.fsync(file.fileno())


def pack(matrix: npt.ArrayLike) -> dict[str, Any]:
    """Values in [0, 1] as text of one byte each, compressed: for pictures, not for arithmetic."""
    values = np.rint(np.clip(matrix, 0, 1) * np.float64(255)).astype(np.uint8)
    return {"shape": list(values.shape), "zlib": base64.b85encode(zlib.compress(values.tobytes(), 9)).decode()}


def unpack(packed: dict[str, Any]) -> npt.NDArray[np.float64]:
    """Return the matrix that `pack` was given, to within 1/510."""
    # No more than a picture can use is ever decompressed, whatever the text would grow to.
    content = zlib.decompressobj().decompress(base64.b85decode(packed["zlib"]), _MAX_PICTURE)
    return np.frombuffer(content, dtype=np.uint8).reshape(packed["shape"]) / 255.0


def _parse(content: bytes, path: Path) -> list[Record]:
    *lines, torn = content.split(b"\n")  # without its line end, a line was not finished
    if not torn.startswith(b'{"key": "'[: len(torn)]):
        raise ValueError(f"{path}, line {len(lines) + 1} is not the record of a run; remove that line")
    found = []
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            lacks = _lack(record)
        except (ValueError, TypeError, KeyError, RecursionError):
            lacks = ""
        if lacks is not None:
            why = f" ({lacks})" if lacks else ""
            raise ValueError(f"{path}, line {number} is not the record of a run{why}; remove that line")
        found.append(record)
    return found


def _lack(record: Any) -> str | None:
    """Return what the tables and the runner's clock would miss in a record; what a result holds is for its table to say."""
    for name in ("run", "result", "seconds"):
        if name not in record:
            return f"it has no {name!r}"
        if not isinstance(record[name], dict):
            return f"its {name!r} is not an object"
    key_of(record["run"])
    for name in ("task", "dataset"):
        if not isinstance(record["run"].get(name), str):
            return f"its run names no {name}"
    if not all(type(value) in (int, float) and 0 <= value < 1e9 for value in record["seconds"].values()):
        return "its seconds are not numbers"
    return None if "total" in record["seconds"] else "its seconds have no total"
