"""Coverage-guided fuzzing of the readers: `python tests/trust/fuzz_atheris.py -runs=20000`, as `make soak` does.

The first byte chooses the reader, the rest is the file; a ValueError is the documented answer to a bad one.
"""

from __future__ import annotations

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
    from ccassg.io.store import read_store
    from ccassg.modelfile import load
    from ccassg.runs import read_run

FOLDER = Path(tempfile.mkdtemp(prefix="ccassg-fuzz-"))
(FOLDER / "model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
(FOLDER / "good.csv").write_text("source,target\n0,1\n1,2\n")
READERS = (
    ("edges.csv", lambda path: read_graph(path, n_components=1)),
    ("edges.graphml", lambda path: read_graph(path, n_components=1)),
    ("edges.mtx", lambda path: read_graph(path, n_components=1)),
    ("nodes.csv", lambda path: read_graph(FOLDER / "good.csv", path)),
    ("nodes.npy", lambda path: read_graph(FOLDER / "good.csv", path)),
    ("nodes.npz", lambda path: read_graph(FOLDER / "good.csv", path)),
    ("nodes.parquet", lambda path: read_graph(FOLDER / "good.csv", path)),
    ("labels.csv", read_labels),
    ("manifest.json", lambda path: read_store(path.parent)),
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


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()
