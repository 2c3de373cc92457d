"""The seal of a file: a text in it with the hash of all its bytes, the place of the hash itself taken as zeros.

By it a file is known as one that was written here and that nobody has changed since.
"""

import hashlib
import mmap
import re
from pathlib import Path
from typing import Any

from ccassg.io.files import open_regular

_ZEROS = "0" * 64


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
