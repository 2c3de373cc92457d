"""Where a number comes from: commit, versions, machine, memory."""

import os
import platform
import resource
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("ccassg", "torch", "numpy", "scipy", "scikit-learn", "pyarrow", "torch-geometric", "gensim")


def of_run(seed: int, seconds: float) -> dict[str, Any]:
    """Return where the numbers of a run that ends now come from, ready for JSON."""
    import torch

    return {
        "seed": seed,
        "seconds": seconds,
        "peak_memory": peak_memory(),
        "versions": versions(),
        "commit": commit(),
        "machine": machine(torch.get_num_threads()),
    }


def effective(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that had an effect: none that has no value, and of training none where nothing was trained."""
    solved = ("encoder", "embedding_dim", "random_state", "device")
    is_solved = settings.get("encoder") == "canonical"
    return {name: value for name, value in settings.items() if value is not None and (not is_solved or name in solved)}


def commit() -> dict[str, Any] | None:
    """Return the commit of the running source and whether its files differ from it; None outside a checkout."""
    source = Path(__file__).parent
    try:
        head = _git(source, "rev-parse", "HEAD")
        # An installed copy inside someone else's repository has no files in that repository.
        if not _git(source, "ls-files", "--", "__init__.py"):
            return None
        changed = _git(source, "status", "--porcelain", "--untracked-files=no", "--", ".")
    except (OSError, subprocess.CalledProcessError):
        return None
    return {"id": head, "modified": bool(changed)}


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that can change a result, those that are installed."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def machine(threads: int) -> dict[str, Any]:
    """Return what the time depends on."""
    return {"system": platform.system(), "processor": _processor(), "cpus": os.cpu_count(), "threads": threads}


def peak_memory() -> int:
    """Return the most resident memory this process ever had, in bytes."""
    try:
        # Not getrusage where there is a choice: on Linux its peak is handed down from the process that started this one.
        status = Path("/proc/self/status").read_text()
        return 1024 * int(status.split("VmHWM:")[1].split()[0])
    except (OSError, IndexError, ValueError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else 1024 * peak


def busy_seconds() -> float | None:
    """Return how long all processors together have worked, for whatever program; None where the system does not say."""
    try:
        counts = [int(word) for word in Path("/proc/stat").read_text().split()[1:8]]
    except (OSError, ValueError):
        return None
    user, nice, system, _idle, _waiting, interrupts, more_interrupts = counts
    return (user + nice + system + interrupts + more_interrupts) / os.sysconf("SC_CLK_TCK")


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True, timeout=30
    ).stdout.strip()


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
