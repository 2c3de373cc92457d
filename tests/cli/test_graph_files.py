"""The options of a graph's files, shared by the commands that read one."""

import inspect
from dataclasses import fields
from pathlib import Path

import pytest

from ccassg.cli.convert import convert
from ccassg.cli.fit import embed, fit
from ccassg.cli.graph_files import GraphFiles
from ccassg.cli.tune import tune

NAMES = [field.name for field in fields(GraphFiles)]


@pytest.mark.parametrize("command", [fit, tune, convert])
def test_every_command_has_all_options_in_one_order(command):
    parameters = list(inspect.signature(command).parameters)
    assert "files" not in parameters
    assert [name for name in parameters if name in NAMES] == NAMES


def test_embed_takes_what_its_model_does_not_know():
    parameters = inspect.signature(embed).parameters
    assert next(iter(parameters)) == "model"
    assert set(NAMES) - set(parameters) == {"labels", "label_column", "feature_columns", "scale"}


def test_words_repeat_what_was_given_and_no_more():
    assert GraphFiles(graph="edges.csv").words() == "edges.csv"
    given = GraphFiles(graph="my edges.csv", features=Path("n.csv"), labels=Path("y.csv"), id_column="k", scale=True)
    assert given.words() == "'my edges.csv' --features n.csv --id-column k --scale"
