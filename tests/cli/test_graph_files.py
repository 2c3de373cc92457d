"""The options of a graph's files, shared by the commands that read one."""

import inspect
from dataclasses import fields

import pytest

from ccassg.cli.convert import convert
from ccassg.cli.fit import embed, fit
from ccassg.cli.graph_files import GraphFiles

NAMES = [field.name for field in fields(GraphFiles)]


@pytest.mark.parametrize("command", [fit, convert])
def test_every_command_has_all_options_in_one_order(command):
    parameters = list(inspect.signature(command).parameters)
    assert "files" not in parameters
    assert [name for name in parameters if name in NAMES] == NAMES


def test_embed_takes_what_its_model_does_not_know():
    parameters = inspect.signature(embed).parameters
    assert next(iter(parameters)) == "model"
    assert set(NAMES) - set(parameters) == {"labels", "label_column", "feature_columns", "keep", "scale"}
