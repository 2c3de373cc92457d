"""Coverage-guided fuzzing of the readers: `python tests/trust/fuzz_atheris.py -runs=20000`, as `make soak` does.

The first byte chooses the reader, the rest is the file; a ValueError is the documented answer to a bad one. It begins with
whole files of every kind, so that it does not spend its time on finding out what a Parquet file looks like.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["ccassg"]):
    from ccassg.datasets.planetoid import unpickle
    from ccassg.experiments.records import read
    from ccassg.io.embeddings import read_embeddings
    from ccassg.io.graphs import read_graph
    from ccassg.io.labels import read_labels
    from ccassg.io.store import open_store
    from ccassg.model_file import load
    from ccassg.run import read_run

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "io")]
import fuzz  # noqa: E402
from test_fuzz import EDGES, FEATURES  # noqa: E402

FOLDER = Path(tempfile.mkdtemp(prefix="ccassg-fuzz-"))
(FOLDER / "model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
(FOLDER / "good.csv").write_text("source,target\n0,1\n1,2\n")
READERS = (
    ("edges.csv", lambda path: read_graph(path, n_components=1)),
    ("edges.graphml", lambda path: read_graph(path, n_components=1)),
    ("edges.mtx", lambda path: read_graph(path, n_components=1)),
    ("edges.gexf", lambda path: read_graph(path, n_components=1)),
    ("edges.gml", lambda path: read_graph(path, n_components=1)),
    ("edges.npz", lambda path: read_graph(path, n_components=1)),
    ("nodes.csv", lambda path: read_graph(FOLDER / "good.csv", path)),
    ("nodes.json", lambda path: read_graph(FOLDER / "good.csv", path)),
    ("nodes.list.csv", lambda path: read_graph(FOLDER / "good.csv", path)),
    ("nodes.npy", lambda path: read_graph(FOLDER / "good.csv", path)),
    ("nodes.npz", lambda path: read_graph(FOLDER / "good.csv", path)),
    ("nodes.parquet", lambda path: read_graph(FOLDER / "good.csv", path)),
    ("labels.csv", read_labels),
    ("manifest.json", lambda path: open_store(path.parent)),
    ("config.json", lambda path: load(path.parent)),
    ("run.json", lambda path: read_run(path.parent)),
    ("a.jsonl", read),
    ("z.parquet", read_embeddings),
    ("allx", unpickle),
)


def test_one_input(data: bytes) -> None:
    """Read one file; all but ValueError is a finding."""
    if not data:
        return
    name, read_file = READERS[data[0] % len(READERS)]
    path = FOLDER / name
    path.write_bytes(data[1:])
    try:
        read_file(path)
    except ValueError:
        pass
    finally:
        path.unlink()


def write_seeds(folder: Path) -> None:
    """A whole file for every reader, as `test_one_input` takes it."""
    fuzz.prepare(folder)
    whole = {f"edges.{suffix}": content for suffix, content in EDGES.items()}
    whole |= {f"nodes.{suffix}": content for suffix, content in FEATURES.items()}
    whole |= {Path(name).name: (folder / "good" / name).read_bytes() for name in fuzz.TEXTS}
    whole["z.parquet"] = FEATURES["parquet"]
    shutil.rmtree(folder / "good")
    for number, (name, _) in enumerate(READERS):
        (folder / name).write_bytes(bytes([number]) + whole[name])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    seeds = Path(tempfile.mkdtemp(prefix="ccassg-seeds-"))
    write_seeds(seeds)
    atheris.Setup([*sys.argv, str(seeds)], test_one_input)
    atheris.Fuzz()
