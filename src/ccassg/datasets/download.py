"""Fetch the public files of a dataset: the only part of the package that opens a connection.

A file grows as ``NAME.part`` beside its place and is moved there, in one step, once its hash is right. After an
interruption the next attempt asks for the missing rest only. Processes that want the same file at the same time take turns
by a lock on ``NAME.lock``, which a killed process releases.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ccassg.datasets.load import cache_folder, check_name
from ccassg.datasets.sources import FILES, SourceFile

BLOCK = 16_384  # bytes between two writes: what a broken connection costs at most
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
    """Download what is missing of a dataset, and check all of it.

    Parameters
    ----------
    name : str
        One of the seven names; for the embedded Cora there is nothing to do.
    folder : path, optional
        Where to put the files; by default the cache, where `load_dataset` looks.
    base_url : str, optional
        Address of another folder with the same files, for a mirror.
    progress : function (file name, bytes so far, bytes in all), optional
        Called as data arrive; 0 bytes in all means that the server did not say.
    attempts : int
        How often a broken connection is tried again, each time from where it broke.
    wait : float
        Seconds between attempts.

    Returns
    -------
    list of Path
        The files, all with the right hash.

    Raises
    ------
    ValueError
        If a file does not have the known hash; it is deleted.
    ConnectionError
        If the server cannot be reached or breaks off every time; what has arrived is kept for the next call.
    """
    check_name(name)
    if attempts < 1:
        raise ValueError(f"attempts must be at least 1, got {attempts}")
    target = cache_folder() if folder is None else Path(folder).expanduser()
    return [_fetch(file, target / file.path, base_url, progress, attempts, wait) for file in FILES.get(name, ())]


def digest_matches(path: Path, digest: str) -> bool:
    """Whether a file has the given hash: ``sha256:...`` of its content, or ``git:...``, the id of a git blob."""
    import pooch

    algorithm, expected = digest.split(":")
    if algorithm != "git":
        return pooch.file_hash(path, alg=algorithm) == expected
    with path.open("rb") as file:
        blob = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
        while block := file.read(1 << 20):
            blob.update(block)
    return blob.hexdigest() == expected


def _fetch(
    file: SourceFile, path: Path, base_url: str | None, progress: Progress | None, attempts: int, wait: float
) -> Path:
    if path.is_file() and digest_matches(path, file.digest):
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with _turn(path):
        if not (path.is_file() and digest_matches(path, file.digest)):  # else it arrived while we waited
            _fetch_alone(file, path, base_url, progress, attempts, wait)
    return path


def _fetch_alone(
    file: SourceFile, path: Path, base_url: str | None, progress: Progress | None, attempts: int, wait: float
) -> None:
    url = f"{(base_url or file.base_url).rstrip('/')}/{file.file_name}"
    part = path.with_name(path.name + ".part")
    if not (part.is_file() and digest_matches(part, file.digest)):  # else only the last step was missing
        _receive(url, part, progress, attempts, wait)
    if not digest_matches(part, file.digest):
        part.unlink()
        raise ValueError(
            f"{url} does not have the known hash {file.digest}; the download was deleted. Try again, and if it "
            "stays so, the file at the source has changed"
        )
    part.replace(path)


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """Wait until no other process is fetching ``path``."""
    lock = path.with_name(path.name + ".lock")
    while True:
        with lock.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            # Whoever held it before has removed it: what is locked now may have no name any more.
            if not _has_name(file, lock):
                continue
            try:
                yield
            finally:
                lock.unlink(missing_ok=True)
            return


def _has_name(file: BinaryIO, path: Path) -> bool:
    """Whether an open file is the one at ``path``."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _receive(url: str, part: Path, progress: Progress | None, attempts: int, wait: float) -> None:
    """Bring ``part`` to its full length, continuing over broken connections."""
    import requests

    for attempt in range(1, attempts + 1):
        try:
            with part.open("ab") as output:
                _continue(url, output, progress)
            return
        except requests.RequestException as error:
            if part.stat().st_size == 0:
                part.unlink()
            status = None if error.response is None else error.response.status_code
            if status == 416:  # what we have is not a beginning of this file: the next attempt starts anew
                part.unlink(missing_ok=True)
            elif attempt == attempts or (status is not None and status < 500):
                message = f"could not download {url}: {error}; run the command again to continue"
                raise ConnectionError(message) from error
        if attempt < attempts:
            time.sleep(wait)
    raise ConnectionError(f"could not download {url}: the server refused every range; run the command again")


def _continue(url: str, output: BinaryIO, progress: Progress | None) -> None:
    """Append what is missing of ``url`` to ``output``."""
    import pooch
    import requests

    bar = _Bar(url.rsplit("/", 1)[-1], output, progress)

    def on_response(response: requests.Response, *_: Any, **__: Any) -> None:
        if response.status_code == 200:  # all of it, whether or not a range was asked for
            output.truncate(0)
        length = int(response.headers.get("content-length", 0))
        if response.ok and length:
            bar.expected = output.seek(0, os.SEEK_END) + length

    start = output.seek(0, os.SEEK_END)
    # Compression on the way would make the byte counts of a range mean something else.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    download = pooch.HTTPDownloader(
        progressbar=bar, chunk_size=BLOCK, headers=headers, hooks={"response": on_response}, timeout=30
    )
    download(url, output, None)
    if (size := output.tell()) < bar.expected:
        raise requests.ConnectionError(f"the connection broke after {size:,} of {bar.expected:,} bytes")


class _Bar:
    """What pooch takes for a progress bar; it counts what is really written, not chunks."""

    def __init__(self, name: str, output: BinaryIO, progress: Progress | None) -> None:
        self.name, self.output, self.progress = name, output, progress
        self.total = 0  # set by pooch: the length of this answer, not of the file
        self.expected = 0

    def update(self, _: int) -> None:
        if self.progress is not None:
            self.progress(self.name, self.output.tell(), self.expected)

    def reset(self) -> None:
        """Nothing to do: the next update reports the true position."""

    def close(self) -> None:
        """Nothing to close."""
