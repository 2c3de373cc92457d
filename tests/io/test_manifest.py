"""The manifest of a store: whatever does not fit is refused, though its hash does."""

import dataclasses
import json

import pytest

from ccassg.graph.scaling import Scaling
from ccassg.io.manifest import MANIFEST, manifest_hash
from ccassg.io.store import open_store
from ccassg.io.storewriter import write_store
from saved_models import rewrite


def test_how_features_were_scaled_is_kept_and_checked(small, tmp_path):
    assert open_store(small).scaling is None
    kept = Scaling((0.1, 2.0, 0.0, 0.0), (1 / 3, 0.0, 1.0, 1.0))
    write_store(tmp_path / "scaled", dataclasses.replace(open_store(small), scaling=kept))
    assert open_store(tmp_path / "scaled").scaling == kept
    for forged, message in (
        ({"means": [0] * 4, "deviations": [float("nan")] * 4}, "finite numbers"),
        ({"means": [0], "deviations": [1]}, "4 means, one per feature, got 1"),
        ([], "two lists"),
    ):
        rewrite(tmp_path / "scaled", scaling=forged)
        with pytest.raises(ValueError, match=rf"manifest\.json: scaling must hold .*{message}"):
            open_store(tmp_path / "scaled")
    manifest = json.loads((small / MANIFEST).read_text())
    del manifest["scaling"]  # as stores were before there was a scaling
    manifest["sha256"] = manifest_hash(manifest)
    (small / MANIFEST).write_text(json.dumps(manifest))
    assert open_store(small).scaling is None


@pytest.mark.parametrize("name", ["../elsewhere", "/etc/passwd", "unknown"])
def test_the_manifest_cannot_name_other_files(small, name):
    manifest = json.loads((small / MANIFEST).read_text())
    rewrite(small, arrays=manifest["arrays"] | {name: manifest["arrays"]["labels"]})
    with pytest.raises(ValueError, match="which a store does not have"):
        open_store(small)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 4}, "version 4 of the format and this program reads 3"),
        ({"format": "other"}, "does not describe a graph store"),
        ({"n_nodes": 5}, "parts do not cover"),
        ({"n_nodes": 5, "bounds": [0, 5]}, r"indptr has shape \(5,\), but the store needs \(6,\)"),
        ({"n_edges": 7}, "indices has shape"),
        ({"n_features": 2}, "points outside 0 .. 1"),
        ({"bounds": [0, 9, 4]}, "parts do not cover"),
        ({"bounds": None}, "not a store's manifest"),
        ({"directed": "no"}, "lacks"),
        ({"arrays": {}}, "lacks indices, indptr"),
        ({"arrays": []}, "not a store's manifest"),
        ({"class_names": "abc"}, "must be lists of strings"),
    ],
)
def test_manifests_that_do_not_fit_are_refused(small, changes, message):
    rewrite(small, **changes)
    with pytest.raises(ValueError, match=message):
        open_store(small)


def test_an_altered_manifest_is_refused(small):
    text = (small / MANIFEST).read_text()
    (small / MANIFEST).write_text(text.replace('"directed": false', '"directed": true'))
    with pytest.raises(ValueError, match="was altered: its hash differs"):
        open_store(small)
    (small / MANIFEST).write_text(text[:-30])
    with pytest.raises(ValueError, match="not a store's manifest"):
        open_store(small)


@pytest.mark.parametrize(
    "change",
    [
        lambda e: e.pop("sha256"),
        lambda e: e.update(sha256=None),
        lambda e: e.update(sha256=[]),
        lambda e: e.update(sha256=[3]),
        lambda e: e.pop("bytes"),
        lambda e: e.pop("dtype"),
    ],
)
def test_an_array_without_its_hash_size_or_type_is_refused(small, change):
    arrays = json.loads((small / MANIFEST).read_text())["arrays"]
    change(arrays["indices"])
    rewrite(small, arrays=arrays)
    with pytest.raises(ValueError, match=r"manifest\.json"):
        open_store(small)
