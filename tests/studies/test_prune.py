"""What no table uses goes, line by line; everything else stays as it was, byte for byte."""

import pytest
import typer
from typer.testing import CliRunner

from ccassg.experiments import EXPERIMENTS, Records
from ccassg.experiments.records import key_of
from ccassg.experiments.runs import classification_run
from studies import batches, prune
from studies.catalogue import STUDIES


@pytest.fixture
def recorded(tmp_path, fake):
    """Records on Cora, of which the second and the fourth are of no use."""
    plan = batches.STUDY.plan(datasets=["cora"])
    former = next(iter(batches.STUDY.former(plan).values()))[0]
    runs = [
        classification_run("grace", "cora", 0),
        classification_run("grace", "cora", 0) | {"revision": 99},
        former,
        classification_run("default", "cora", 0) | {"defaults": 1},
        classification_run("gcn", "cora", 19),
    ]
    records = Records(tmp_path)
    for run in runs:
        records.add(fake(run))
    records.add(fake({"task": "collapse", "dataset": "other", "seed": 0}))
    return tmp_path / "cora.jsonl", tmp_path / "other.jsonl"


def program(folder, *arguments):
    app = typer.Typer()
    app.command()(prune.main)
    return CliRunner().invoke(app, ["--results", str(folder), *arguments]).output


def test_told_by_file_task_and_method_and_left_alone(recorded):
    before = [path.read_bytes() for path in recorded]
    text = program(recorded[0].parent)
    assert "| cora.jsonl  | node-classification | cca-ssg |       1 |" in text
    assert "| cora.jsonl  | node-classification | grace   |       1 |" in text
    assert "| other.jsonl | collapse            |         |       1 |" in text
    assert "3 records are used by no table" in text
    assert [path.read_bytes() for path in recorded] == before


def test_removed_when_told_to_and_nothing_else(recorded):
    cora, other = recorded
    lines = cora.read_bytes().splitlines(keepends=True)
    program(cora.parent, "--remove")
    assert cora.read_bytes() == lines[0] + lines[2] + lines[4]
    assert not other.exists()
    assert "0 records are used by no table" in program(cora.parent, "--remove")
    assert cora.read_bytes() == lines[0] + lines[2] + lines[4]


def test_whatever_is_drawn_is_used():
    keys = prune.used()
    for experiment in (EXPERIMENTS | STUDIES).values():
        for plan in (experiment.plan(), experiment.plan(quick=True), experiment.plan(methods=["all"])):
            assert {key_of(run) for run in experiment.runs(plan)} <= keys


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(typer.BadParameter, match="there is no folder"):
        prune.main(results=tmp_path / "nowhere", remove=False)
