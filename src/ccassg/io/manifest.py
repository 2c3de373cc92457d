"""The manifest of a store: what it says, whether it is ours, and where it is while another store takes its place."""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ccassg.graph.feature_space import check_idf
from ccassg.graph.scaling import check_scaling
from ccassg.io.files import read_json
from ccassg.io.hashes import are_hashes

# Earlier versions are read too: both have one hash for each file, and 1 has strings in ids.npy, each of the width of the longest.
FORMAT, VERSION = "ccassg graph store", 3
MANIFEST = "manifest.json"
# The arrays of a store, and which types of NumPy they may have.
KINDS = {
    **dict.fromkeys(("indptr", "indices", "labels", "ids_indptr", "features_indptr", "features_indices"), "i"),
    "ids_text": "u",
    **dict.fromkeys(("weights", "features", "features_data"), "f"),
    "ids": "iuUS",
}


def is_store(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder with a manifest in it."""
    recover(Path(path))
    return (Path(path) / MANIFEST).is_file()


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest, its parts of the right types; ValueError otherwise."""
    recover(folder)
    file = folder / MANIFEST
    if not folder.is_dir() or file.is_symlink() or not file.is_file():
        raise ValueError(f"{folder} is not a graph store: there is no {MANIFEST} in it; make one with: ccassg convert")
    try:
        manifest = read_json(file)
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise ValueError(f"{file} does not describe a graph store")
        if manifest["version"] not in (1, 2, VERSION):
            raise ValueError(
                f"{folder} has version {manifest['version']!r} of the format and this program reads {VERSION}; convert again"
            )
        if manifest["sha256"] != manifest_hash(manifest):
            raise ValueError(f"{file} was altered: its hash differs; convert the graph again")
        for name, entry in manifest["arrays"].items():
            if name not in KINDS:
                raise ValueError(f"{file} names an array {name!r}, which a store does not have")
            np.dtype(entry["dtype"])
            if any(not isinstance(size, int) or size < 0 for size in (*entry["shape"], entry["bytes"])):
                raise ValueError(f"{file} gives {name} an impossible shape or size")
            if not are_hashes(entry["sha256"], entry["bytes"]):
                raise ValueError(f"{file} gives {name} no hashes that fit its size")
        counts = [manifest[key] for key in ("n_nodes", "n_edges", "n_features")]
        bounds = manifest["bounds"]
        if any(not isinstance(value, int) or value < 0 for value in (*counts, *bounds)):
            raise ValueError(f"{file} gives an impossible count")
        if sorted(bounds) != bounds or len(bounds) < 2 or bounds[0] != 0 or bounds[-1] != counts[0]:
            raise ValueError(f"{file}: the parts do not cover the {counts[0]} nodes")
        if not all(_is_names(manifest[key]) for key in ("class_names", "feature_names")):
            raise ValueError(f"{file}: class_names and feature_names must be lists of strings or null")
        try:
            manifest["scaling"] = check_scaling(manifest.get("scaling"), manifest["n_features"])
            manifest["idf"] = check_idf(manifest.get("idf"), manifest["feature_names"])
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
        missing = {"indptr", "indices"} - set(manifest["arrays"])
        if missing or not isinstance(manifest["directed"], bool) or not isinstance(manifest["notes"], list):
            raise ValueError(f"{file} lacks {', '.join(sorted(missing)) or 'directed or notes'}")
        return manifest
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{file} is not a store's manifest ({type(error).__name__}: {error})") from None


def part_bounds(path: str | os.PathLike[str]) -> tuple[int, ...]:
    """Read where the parts of a store begin and end: nodes ``bounds[k] .. bounds[k + 1]`` are part k; (0, n) if it is one."""
    return tuple(read_manifest(Path(path))["bounds"])


def manifest_hash(manifest: dict[str, Any]) -> str:
    """Hash all that a manifest says, but for the hash itself."""
    content = {key: value for key, value in manifest.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def aside(path: Path) -> Path:
    """Return where the store at ``path`` is while another one takes its place."""
    name = hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]  # of a length that any name leaves room for
    return path.absolute().parent / f".ccassg-{name}.old"


def recover(path: Path) -> None:
    """Put a store back that was set aside for one that never came."""
    old = aside(path)
    if not os.path.lexists(path) and not old.is_symlink() and (old / MANIFEST).is_file():
        with suppress(FileNotFoundError):  # another process was first
            os.rename(old, path)


def _is_names(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(name, str) for name in value))
