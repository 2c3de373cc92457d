"""How much memory there is, and one sentence where it is not enough."""

import contextlib
import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

# What PyTorch and other libraries in C++ say where Python has MemoryError.
EXHAUSTED = ("can't allocate memory", "not enough memory", "out of memory", "bad_alloc")
# What a container may take, in the files of either version of Linux's control groups.
CONTAINER = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def available() -> int:
    """Return how many bytes this process could take at most: all of the machine's, or less where the system grants less."""
    granted = []
    with contextlib.suppress(ValueError, OSError):
        granted.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for file in CONTAINER:
        with contextlib.suppress(ValueError, OSError):  # "max" is no number
            granted.append(int(Path(file).read_text()))
    granted.append(resource.getrlimit(resource.RLIMIT_AS)[0])
    return min((n_bytes for n_bytes in granted if n_bytes > 0), default=sys.maxsize)


def require(n_bytes: int, what: str) -> None:
    """Refuse what is known to need more memory than there is, before any is taken for it."""
    there_are = available()
    if n_bytes > there_are:
        raise ValueError(
            f"{what} needs at least {n_bytes / 2**30:,.1f} GiB of memory, and there are {there_are / 2**30:,.1f}; "
            f"lower the largest of these"
        )


@contextlib.contextmanager
def named(what: str) -> Iterator[None]:
    """Say in one sentence what needed more memory than there was; MemoryError, also where a library has an error of its own."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_exhausted(error) or str(error).startswith(what):
            raise
        raise MemoryError(f"{what} needs more memory than there is ({why(error)})") from None


def is_exhausted(error: BaseException) -> bool:
    """Return whether an error says that there was not enough memory."""
    # By name: PyTorch, whose own class this is, is not imported for it. Errors of ours may quote another process.
    is_of_torch = type(error).__name__ in ("RuntimeError", "OutOfMemoryError")
    return isinstance(error, MemoryError) or (is_of_torch and any(said in str(error) for said in EXHAUSTED))


def why(error: BaseException) -> str:
    """Return what was asked for in vain, as far as the error says."""
    said = (str(error).strip().splitlines() or [""])[0]
    # Before it PyTorch names a line of its source, behind it the system's own words.
    said = said.rpartition("DefaultCPUAllocator: ")[2].partition(". Error code")[0]
    return said or "it does not say how much"
