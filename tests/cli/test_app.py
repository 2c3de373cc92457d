"""What all commands share: help, completion, wrong command lines."""

import numpy as np
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


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("embedding_dim=1000000000", "Error: embedding_dim must be at most 32768, got 1000000000"),
        ("hidden_dim=100000000", "Error: hidden_dim must be at most 32768, got 100000000"),
        ("n_layers=100000", "Error: n_layers must be at most 1000, got 100000"),
        ("n_layers=1000", "Error: CCASSG with embedding_dim=512, hidden_dim=512, n_layers=1000 on 2,708 nodes with 1,433 features needs at least 14.3 GiB of memory, and there are"),
        ("augmentations=[1]", "Error: augmentations must be functions (graph, seed, step, view) -> graph, which Python alone can give, got (1,)"),
    ],
)  # fmt: skip
def test_settings_that_no_memory_holds_are_one_sentence(program, bounded, tmp_path, setting, sentence):
    bounded()
    code, _, err = program("fit", "cora", "-o", tmp_path / "m", "--set", setting)
    assert code == 2
    assert err.startswith(sentence)
    assert len(err.splitlines()) == 1


def test_memory_that_runs_out_anywhere_is_one_sentence(program, bounded, tmp_path):
    z = np.lib.format.open_memmap(tmp_path / "z.npy", "w+", np.float32, (1_000_000, 100))
    del z
    bounded()
    code, _, err = program("similar", tmp_path / "z.npy", "0", "-k", "3")
    assert code == 2
    assert err.startswith("Error: ccassg similar ")
    assert "needs more memory than there is (Unable to allocate " in err
    assert len(err.splitlines()) == 1
