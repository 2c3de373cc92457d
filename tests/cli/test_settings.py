import pytest

from ccassg.cli.settings import parse_settings, settings_of
from ccassg.estimator import CCASSG
from ccassg.systems import METHODS, get_class


def test_pairs_and_text_in_settings():
    assert parse_settings(["a=1", "b=0.5", "c=0.1,0.2", "d=gcn", "e=true", "f=None"]) == {
        "a": 1, "b": 0.5, "c": (0.1, 0.2), "d": "gcn", "e": True, "f": None,
    }  # fmt: skip
    with pytest.raises(ValueError, match="NAME=VALUE, got 'n_steps'"):
        parse_settings(["n_steps"])


def test_settings_are_read_off_the_class():
    listed = {name: (default, text) for name, default, text in settings_of(CCASSG)}
    assert {name: default for name, (default, _) in listed.items()} == CCASSG().get_params(deep=False)
    assert listed["hidden_dim"] == ("auto", listed["embedding_dim"][1])
    assert all(text for _, text in listed.values())


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_of_every_system_says_what_it_is(name):
    assert not [parameter for parameter, _, text in settings_of(get_class(name)) if not text]


def test_a_meaning_comes_from_the_class_or_those_it_builds_on():
    listed = {name: text for name, _, text in settings_of(get_class("gat"))}
    assert listed["hidden_dim"] == "Width per head."
    assert listed["learning_rate"] == "Of Adam."  # another default, the same meaning
