"""Small saved models, runs and stores, for what is read back, altered and refused."""

import json

from ccassg import CCASSG
from ccassg.datasets import stochastic_block_graph
from ccassg.io.folders import write_index
from ccassg.io.manifest import MANIFEST, manifest_hash
from ccassg.run import RUN
from ccassg.systems import make


def small_graph():
    """A graph of 30 nodes with six features."""
    return stochastic_block_graph(30, 2, 4.0, n_features=6).graph


def save_grace(folder):
    """Save a GRACE in the folder."""
    model = make("grace", hidden_dim=8, embedding_dim=4, n_steps=2, edge_drop_rate=(0.1, 0.2), random_state=5)
    model.fit(small_graph()).save(folder)
    return folder


def save_ours(folder):
    """Save a CCA-SSG in the folder."""
    settings = {"n_steps": 3, "hidden_dim": 8, "embedding_dim": 4, "random_state": 0}
    CCASSG(encoder="gcn", **settings).fit(small_graph()).save(folder)
    return folder


def change(folder, *path, to):
    """Write a config that says something else in one place."""
    file = folder / "config.json"
    config = json.loads(file.read_text())
    place = config
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    file.write_text(json.dumps(config))


def sealed(folder, **changes):
    """Make the hashes of a run fit what is in its folder now."""
    record = json.loads((folder / RUN).read_text()) | changes
    write_index(folder, RUN, {name: record[name] for name in record if name not in ("files", "sha256")})


def rewrite(path, **changes):
    """Alter the manifest and make its hash fit, as somebody bent on it would."""
    manifest = json.loads((path / MANIFEST).read_text()) | changes
    manifest["sha256"] = manifest_hash(manifest)
    (path / MANIFEST).write_text(json.dumps(manifest))
