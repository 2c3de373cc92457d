"""Fetch the public files of a dataset: the only part of the package that opens a connection.

A file takes its place in one step, once its hash is right. Processes that fetch into the same folder at the same time take
turns by a lock on it, which a killed process releases.
"""

import fcntl
import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ccassg.datasets.cards import FILES, SourceFile
from ccassg.datasets.load import cache_folder, check_name, expanded
from ccassg.io.atomic import atomic_path

Progress = Callable[[str, int, int], None]


def fetch_dataset(
    name: str,
    *,
    folder: str | os.PathLike[str] | None = None,
    base_url: str | None = None,
    progress: Progress | None = None,
    attempts: int = 3,
    wait: float = 1.0,
) -> list[Path]:
    """Download what is missing of a dataset, and check all of it; return its files, which for the embedded Cora are none.

    Files go to ``folder``, by default the cache, where `load_dataset` looks. ``base_url`` is the address of a mirror's
    folder. ``progress`` is called with a file's name, the bytes so far and the bytes in all, 0 if the server did not say.
    A connection is tried ``attempts`` times, with ``wait`` seconds between. ValueError if a file does not have the known
    hash (it is deleted), ConnectionError if the server cannot be reached or breaks off every time.
    """
    check_name(name)
    if attempts < 1:
        raise ValueError(f"attempts must be at least 1, got {attempts}")
    target = cache_folder() if folder is None else expanded(folder)
    for file in FILES[name] if folder is not None else ():  # the cache is ours to mend, a folder is its owner's
        path = target / file.path
        if path.is_file() and not digest_matches(path, file.digest):
            raise ValueError(
                f"{path} is there already and is not the file of {name}; move it away, or name another folder"
            )
    return [_fetch(file, target / file.path, base_url, progress, attempts, wait) for file in FILES[name]]


def digest_matches(path: Path, digest: str) -> bool:
    """Return whether a file has the given hash: ``sha256:...`` of its content, or ``git:...``, the id of a git blob."""
    import pooch

    algorithm, expected = digest.split(":")
    if algorithm != "git":
        return pooch.file_hash(path, alg=algorithm) == expected
    blob = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: blob).hexdigest() == expected


def _fetch(
    file: SourceFile, path: Path, base_url: str | None, progress: Progress | None, attempts: int, wait: float
) -> Path:
    """Bring one file to its place, unless it is there."""
    if path.is_file() and digest_matches(path, file.digest):
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    url = f"{(base_url or file.base_url).rstrip('/')}/{file.file_name}"
    with _turn(path.parent):
        if path.is_file() and digest_matches(path, file.digest):  # it arrived while we waited
            return path
        with atomic_path(path) as temporary:
            _receive(url, temporary, progress, attempts, wait)
            if not digest_matches(temporary, file.digest):
                raise ValueError(
                    f"{url} does not have the known hash {file.digest}; the download was deleted. Try again, and if it "
                    "stays so, the file at the source has changed"
                )
    return path


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Wait until no other process is fetching into the folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        # Some network file systems lock no folder; two processes may then fetch the same file, each a whole one.
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _receive(url: str, target: Path, progress: Progress | None, attempts: int, wait: float) -> None:
    """Write what is at ``url`` to ``target``; try again if the connection breaks or the server is overloaded."""
    import pooch
    import requests

    # Compression on the way would make the number of bytes in all mean something else.
    options = {"chunk_size": 1 << 14, "headers": {"Accept-Encoding": "identity"}, "timeout": 30}
    for attempt in range(1, attempts + 1):
        try:
            pooch.HTTPDownloader(progressbar=_Bar(url, progress), **options)(url, str(target), None)
            return
        except requests.RequestException as error:
            refused = error.response is not None and error.response.status_code < 500
            if attempt == attempts or refused:
                raise ConnectionError(f"could not download {url}: {error}; run the command again") from error
        time.sleep(wait)


class _Bar:
    """Reports what has arrived: what pooch takes for a progress bar."""

    def __init__(self, url: str, progress: Progress | None) -> None:
        self.name, self.progress = url.rsplit("/", 1)[-1], progress
        self.total = self.done = 0  # pooch sets the total

    def update(self, n_bytes: int) -> None:
        self.done = min(self.done + n_bytes, self.total or sys.maxsize)
        if self.progress is not None:
            self.progress(self.name, self.done, self.total)

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        pass
