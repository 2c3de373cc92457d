import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import ccassg.cli.convert  # noqa: F401
from ccassg.cli.app import app, as_options
from ccassg.datasets import load_dataset
from ccassg.io.embeddings import write_embeddings
from ccassg.io.manifest import part_bounds
from ccassg.io.store import open_store

run = CliRunner().invoke


def test_convert_a_dataset_with_parts(tmp_path):
    target, record = tmp_path / "store", tmp_path / "r.json"
    result = run(app, ["convert", "cora", "-o", str(target), "--parts", "3", "--json", str(record)])
    assert result.exit_code == 0, result.output
    assert "nodes: 2,708" in result.output
    assert "3 parts: " in result.output
    opened, cora = open_store(target), load_dataset("cora")
    assert len(part_bounds(target)) == 4
    assert opened.class_names == cora.class_names
    place = {name: i for i, name in enumerate(cora.graph.node_ids.tolist())}
    order = [place[name] for name in opened.graph.ids.tolist()]
    assert np.array_equal(opened.y, cora.y[order])
    written = json.loads(record.read_text())
    assert (written["nodes"], written["edges"], written["parts"]) == (2708, 10556, 3)
    assert 0 < written["edges_cut"] < 2000
    assert written["bytes"] == sum(file.stat().st_size for file in target.iterdir())


def test_convert_a_store_again(tmp_path):
    assert run(app, ["convert", "cora", "-o", str(tmp_path / "a")]).exit_code == 0
    assert run(app, ["convert", str(tmp_path / "a"), "-o", str(tmp_path / "b")]).exit_code == 0
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


def test_convert_own_files(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\nc,a\n")
    (tmp_path / "nodes.csv").write_text("id,height,width,label\na,1,2,x\nb,3,4,y\nc,5,6,x\n")
    arguments = ["convert", str(tmp_path / "edges.csv"), "--features", str(tmp_path / "nodes.csv")]
    result = run(app, [*arguments, "-o", str(tmp_path / "s")])
    assert result.exit_code == 0, result.exception
    opened = open_store(tmp_path / "s")
    assert opened.graph.ids.tolist() == ["a", "b", "c"]
    assert opened.y.tolist() == [0, 1, 0]
    assert opened.graph.n_features == 2


def test_convert_reads_what_fit_reads(tmp_path):
    (tmp_path / "e.csv").write_bytes("citer;cited by;strength\né;b;1\nb;c;2\n".encode("latin-1"))
    (tmp_path / "n.csv").write_bytes("paper;height;note;topic\né;1;x;u\nb;2;y;v\nc;3;z;u\n".encode("latin-1"))
    options = ["--source", "citer", "--target", "cited by", "--weight", "strength", "--id-column", "paper"]
    options += [
        "--label-column",
        "topic",
        "--feature-columns",
        "height",
        "--encoding",
        "latin-1",
        "-f",
        str(tmp_path / "n.csv"),
    ]
    result = run(app, ["convert", str(tmp_path / "e.csv"), *options, "-o", str(tmp_path / "s")])
    assert result.exit_code == 0, result.exception
    opened = open_store(tmp_path / "s")
    assert opened.graph.ids.tolist() == ["é", "b", "c"]
    assert (opened.graph.n_features, opened.y.tolist()) == (1, [0, 1, 0])
    assert sorted(opened.graph.weights.tolist()) == [1, 1, 2, 2]


def test_a_store_keeps_the_scale_that_convert_chose(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\nc,a\n")
    (tmp_path / "nodes.csv").write_text("id,year,share\na,2001,0.2\nb,2002,0.2\nc,2003,0.5\n")
    arguments = ["convert", str(tmp_path / "edges.csv"), "--features", str(tmp_path / "nodes.csv")]
    result = run(app, [*arguments, "-o", str(tmp_path / "s")])
    assert result.exit_code == 0, result.exception
    assert "brought to mean 0 and deviation 1; --no-scale keeps them as they are" in " ".join(result.output.split())
    opened = open_store(tmp_path / "s")
    assert opened.scaling.means[0] == 2002
    np.testing.assert_allclose(opened.graph.features.mean(axis=0), 0, atol=1e-6)
    assert run(app, ["convert", str(tmp_path / "s"), "-o", str(tmp_path / "again")]).exit_code == 0
    assert open_store(tmp_path / "again").scaling == opened.scaling
    result = run(app, [*arguments, "--no-scale", "-o", str(tmp_path / "raw")])
    assert result.exit_code == 0, result.exception
    assert "(--scale)" in result.output
    raw = open_store(tmp_path / "raw")
    assert raw.scaling is None
    assert raw.graph.features[:, 0].tolist() == [2001, 2002, 2003]


def test_a_second_time_needs_overwrite(tmp_path):
    arguments = ["convert", "cora", "-o", str(tmp_path / "s")]
    assert run(app, arguments).exit_code == 0
    again = run(app, arguments)
    assert isinstance(again.exception, ValueError)
    assert as_options(str(again.exception)).endswith("exists already; pass --overwrite")
    assert run(app, [*arguments, "--overwrite"]).exit_code == 0


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))
from ccassg.cli import main
from ccassg.provenance import peak_memory
try:
    main()
finally:
    print(peak_memory(), file=sys.stderr)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the peak is that of the parent, too")
def test_one_long_id_takes_its_own_room_and_no_other(tmp_path):
    """Of a fixed width, 3,002 ids would be as long as the longest: 33 GB."""
    ids = ["x" * 3_000_000, *(f"n{i}" for i in range(3001))]
    z = np.random.default_rng(0).normal(size=(len(ids), 4))
    pq.write_table(pa.table({"source": ids[:-1], "target": ids[1:]}), tmp_path / "edges.parquet")
    write_embeddings(tmp_path / "z.parquet", z, ids)
    commands = (("convert", "edges.parquet", "-o", "store"), ("similar", "z.parquet", "n7", "-k", "3"))
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-c", LIMITED, *command], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr[-2000:]
        assert int(done.stderr.split()[-1]) < 600_000_000
    assert set(open_store(tmp_path / "store").ids) == set(ids)
