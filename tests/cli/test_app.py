"""What all commands share: help, completion, wrong command lines."""

import pytest


def test_completion_offers_commands_and_options(complete):
    assert complete("ev") == ["evaluate"]
    assert complete("fit", "edges.csv", "--feat") == ["--features", "--feature-columns"]


def test_help_begins_with_what_a_new_user_needs(program):
    code, out, err = program("--help")
    assert (code, err) == (0, "")
    places = [out.index(f" {name} ") for name in ("demo", "fit", "report", "embed", "reproduce", "bench")]
    assert places == sorted(places)


def test_without_a_command_the_help_is_all_there_is(program):
    code, out, err = program()
    assert (code, err) == (2, "")
    assert "Usage" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("fit", "edges.csv"), "Error: Missing option '--output' / '-o'; see ccassg fit --help"),
        (("dance",), "Error: No such command 'dance'; see ccassg --help"),
        (("fit", "edges.csv", "--zzz"), "Error: No such option: --zzz; see ccassg fit --help"),
    ],
)
def test_a_wrong_command_line_names_the_help_to_look_at(program, arguments, sentence):
    code, _, err = program(*arguments)
    assert code == 2
    assert " ".join(err.split()) == sentence


def test_settings_and_outputs_are_checked_before_files_are_read(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("a file")
    for arguments, sentence in [
        (("fit", "none.csv", "-o", "m", "--method", "magic"), "no method 'magic'"),
        (("fit", "none.csv", "-o", "taken"), "taken is a file; name a folder for the model"),
        (("embed", "m", "none.csv", "-o", "z.foo"), "the suffix of z.foo names no format"),
    ]:
        code, _, err = program(*arguments)
        assert code == 2
        assert sentence in err
