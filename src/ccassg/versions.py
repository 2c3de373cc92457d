"""Versions of what determines a result."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("ccassg", "torch", "numpy", "scipy", "scikit-learn", "pyarrow", "torch-geometric", "gensim", "cca-zoo")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that can change a result, those that are installed."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
