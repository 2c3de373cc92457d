import pytest

from ccassg.cli.settings import parse_settings, settings_of
from ccassg.estimator import CCASSG


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
