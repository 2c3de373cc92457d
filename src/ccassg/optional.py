"""Packages that only some of the program needs: asked for before any work, with the command that installs them."""

from importlib.util import find_spec

# Under which extra each is installed.
EXTRAS = {
    "anndata": "anndata",
    "h5py": "anndata",
    "gensim": "baselines",
    "matplotlib": "plot",
    "pymetis": "scale",
    "torch_geometric": "pyg",
}


def require(package: str | None, what: str) -> None:
    """Refuse ``what`` in one sentence if the package that it needs is not installed: ImportError."""
    if package is not None and find_spec(package) is None:
        raise ImportError(f"{what} needs {package}; in the project's folder: pip install '.[{EXTRAS[package]}]'")
