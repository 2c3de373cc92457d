import re
from pathlib import Path

import pytest

from ccassg.cli.settings import AUTOMATIC, parse_settings, settings_of
from ccassg.estimator import CCASSG
from ccassg.systems import METHODS, get_class


def test_pairs_and_text_in_settings():
    assert parse_settings(["a=1", "b=0.5", "c=0.1,0.2", "d=gcn", "e=true", "f=None"]) == {
        "a": 1, "b": 0.5, "c": (0.1, 0.2), "d": "gcn", "e": True, "f": None,
    }  # fmt: skip
    with pytest.raises(ValueError, match="NAME=VALUE, got 'n_steps'"):
        parse_settings(["n_steps"])


@pytest.mark.parametrize(
    ("pair", "sentence"),
    [
        (
            "hidden_dim=" + "[" * 60_000,
            "^the value of 'hidden_dim' has 60,000 characters; no setting needs more than 500$",
        ),
        ("n_steps=" + "9" * 5_000, "^the value of 'n_steps' has 5,000 characters; no setting needs more than 500$"),
        ("x" * 60_000, "^a setting is written NAME=VALUE, got 'x{27}...x{28}'$"),
    ],
)
def test_values_that_are_too_long(pair, sentence):
    with pytest.raises(ValueError, match=sentence):
        parse_settings([pair])


def test_what_is_nearly_a_number_is_text():
    nested = "[" * 490
    assert parse_settings(["a=e,e", f"b={nested}", "c=.5,.25", "d=[1]"]) == {
        "a": "e,e", "b": nested, "c": (0.5, 0.25), "d": (1,),
    }  # fmt: skip


def test_the_list_is_that_of_the_document():
    """Names, their order, and what "auto" stands for."""
    text = Path("docs/settings.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| `[^`]*` \|(.*?)\|", text, re.MULTILINE)
    assert [(name, automatic.strip().replace("`", "")) for name, automatic in rows] == list(AUTOMATIC.items())
    assert [name for name, *_ in settings_of(CCASSG)] == list(AUTOMATIC)


def test_settings_are_read_off_the_class():
    listed = {name: (default, text) for name, default, text in settings_of(CCASSG)}
    assert {name: default for name, (default, _) in listed.items()} == CCASSG().get_params(deep=False)
    texts = [text for _, text in listed.values()]
    assert all(texts)
    assert len(set(texts)) == len(texts), "one entry per parameter"


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_of_every_system_says_what_it_is(name):
    assert not [parameter for parameter, _, text in settings_of(get_class(name)) if not text]


def test_a_meaning_comes_from_the_class_or_those_it_builds_on():
    listed = {name: text for name, _, text in settings_of(get_class("gat"))}
    assert listed["hidden_dim"] == "Width per head."
    assert listed["learning_rate"] == "Of Adam."  # another default, the same meaning
