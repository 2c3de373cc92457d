"""What all commands share: help, completion, wrong command lines."""

import json
import os
import re
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest
import typer
from pyarrow import csv

from ccassg import read_embeddings


def test_completion_offers_commands_and_options(complete):
    assert complete("ev") == ["evaluate"]
    assert complete("fit", "edges.csv", "--feat") == ["--features", "--feature-columns"]


def test_help_begins_with_what_a_new_user_needs(program):
    code, out, err = program("--help")
    assert (code, err) == (0, "")
    places = [out.index(f" {name} ") for name in ("demo", "fit", "report", "embed", "reproduce", "bench")]
    assert places == sorted(places)


def test_of_several_processes_only_the_first_does_what_is_not_shared(program, monkeypatch, tmp_path):
    monkeypatch.setenv("RANK", "1")  # as torchrun says it, or somebody else means it
    assert "no such file" in program("evaluate", tmp_path / "none.parquet")[2].lower()
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert program("evaluate", tmp_path / "none.parquet") == (0, "", "")
    monkeypatch.setenv("RANK", "0")
    assert program("evaluate", tmp_path / "none.parquet")[0] == 2


def options_of(text):
    """The groups of a help, each with its options as they are listed."""
    groups = {}
    for line in text.splitlines():
        if line.startswith("╭─"):
            groups[line.split()[1]] = options = []
        elif found := re.match(r"│ [* ]* *(--[\w-]+|-\w )", line):
            options.append(found[1].strip())
    return groups


def test_the_help_of_fit_begins_with_the_five_options_that_people_need_first(program, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    code, out, _ = program("fit", "--help")
    groups = options_of(out)
    assert code == 0
    assert groups.pop("Arguments") == []
    assert groups["Options"] == ["--output", "--features", "--labels", "--label-column", "--id-column", "--help"]
    assert list(groups) == ["Options", "Input", "Columns", "Method", "Output"]
    assert groups["Columns"] == ["--source", "--target", "--weight", "--feature-columns", "--keep", "--scale"]


COMMANDS = (
    "demo",
    "fit",
    "report",
    "similar",
    "links",
    "evaluate",
    "embed",
    "settings",
    "convert",
    "reproduce",
    "bench",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_help_is_short_or_in_groups_of_at_most_eight_and_shows_no_types(program, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "100")
    code, out, _ = program(command, "--help")
    groups = options_of(out)
    assert code == 0
    assert max(map(len, groups.values())) <= 8
    assert (len(groups) > 2) == (sum(map(len, groups.values())) > 8)
    assert "<" not in out.split("─ Options ─")[1]


def test_every_option_that_has_a_group_is_one(program):
    from ccassg.cli.app import GROUPS, app

    known = {option for command in typer.main.get_command(app).commands.values() for option in command.params}
    assert {name for names in GROUPS.values() for name in names} <= {option.name for option in known}


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
    (tmp_path / "none.csv").touch()  # nothing that could be read
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
    code, _, err = program("fit", "cora", "-o", tmp_path / "m", "--set", "encoder=gcn", "--set", setting)
    assert code == 2
    assert err.startswith(sentence)
    assert len(err.splitlines()) == 1


def test_memory_that_runs_out_anywhere_is_one_sentence(program, bounded, tmp_path):
    np.save(tmp_path / "z.npy", np.zeros((1_000_000, 100), np.float32))
    bounded()
    code, _, err = program("similar", tmp_path / "z.npy", "0", "-k", "3")
    assert code == 2
    assert err.startswith("Error: ccassg similar ")
    assert "needs more memory than there is (Unable to allocate " in err
    assert len(err.splitlines()) == 1


@pytest.fixture
def theirs(files, model, tmp_path, monkeypatch):
    """A folder of a user's graph, labels and papers, the model beside it; and the bytes of all of it."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(model, "m", ignore=shutil.ignore_patterns("scores.json"))  # of another test
    Path("graph").mkdir()
    for name in ("edges.csv", "nodes.csv"):
        shutil.copy(files / name, "graph")
    csv.read_csv("graph/nodes.csv").to_pandas().to_parquet("graph/nodes.parquet")
    Path("graph/nodes.csv").rename("labels.csv")
    for name in ("graph/README.md", "graph/config.json", "package.json", "thesis.html", "thesis.parquet", "thesis.csv"):
        Path(name).write_text('{"name": "mine"}')
    os.link("thesis.html", "hard.html")
    Path("soft.html").symlink_to("thesis.html")
    Path("soft.json").symlink_to("/dev/stdout")
    return lambda: {path: path.read_bytes() for path in Path().rglob("*") if path.is_file() and not path.is_symlink()}


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("fit graph -o graph", "graph is read by this very command"),
        ("fit graph -o .", "holds files that ccassg is not known to have written"),
        ("fit graph/edges.csv -f graph/nodes.parquet -o graph", "is read by this very command"),
        ("fit cora -o graph", "graph holds files that ccassg is not known to have written (README.md and 3 more)"),
        ("fit graph/edges.csv -f m/embedding.parquet -o m", "m/embedding.parquet is read by this very command"),
        ("demo --model graph", "graph holds files"),
        ("demo -o thesis.html", "thesis.html is there already"),
        ("embed m graph -o thesis.parquet", "thesis.parquet is there already and is not known to be an earlier output"),
        ("embed m graph -o graph/nodes.parquet", "nodes.parquet is read by this very command"),
        ("embed m graph -o m/embedding.parquet", "embedding.parquet is read by this very command"),
        ("embed m graph/edges.csv -f graph/nodes.parquet -o thesis.csv", "thesis.csv is there already"),
        ("report m -o thesis.html", "thesis.html is there already"),
        ("report m -o hard.html", "hard.html is there already"),
        ("report m -o soft.html", "cannot write soft.html: it is a link"),
        ("report m -o m/nodes.parquet", "nodes.parquet is there already"),
        ("report m -o graph", "cannot write graph: it is a folder"),
        ("convert graph -o graph --overwrite", "graph exists already; choose another name"),
        ("convert graph -o thesis.csv --overwrite", "thesis.csv exists already; choose another name"),
        *(
            (f"{command} --json {file}", f"{file} is there already" if "soft" not in file else "it is a link")
            for command in ("evaluate m", "similar m n1", "datasets", "bench --quick", "reproduce citation")
            for file in ("package.json", "labels.csv", "m/config.json", "m/run.json", "soft.json")
        ),
        ("fit graph -o new --json package.json", "package.json is there already"),
        ("embed m graph -o z.csv --json package.json", "package.json is there already"),
        ("convert graph -o new --json package.json", "package.json is there already"),
        ("demo --json package.json", "package.json is there already"),
        ("datasets fetch cora --json package.json", "package.json is there already"),
    ],
)
def test_nothing_of_a_user_is_ever_replaced(program, theirs, command, sentence):
    before = theirs()
    code, out, err = program(*command.split())
    assert (code, out) == (2, ""), "refused at the door"
    assert sentence in " ".join(err.split())
    assert theirs() == before


def test_the_same_command_again_replaces_what_it_wrote(program, theirs):
    before = theirs()
    for command in (
        "fit graph -o new -s encoder=gcn -s n_steps=2 --label-column label --json fit.json",
        "embed m graph -o z.parquet --json embed.json",
        "report m -o page.html --seeds 1",
        "similar m n1 --json similar.json",
        "convert graph -o store --overwrite --json convert.json",
    ):
        for _ in range(2):
            assert program(*command.split())[0] == 0, command
    assert theirs().items() >= before.items()


def test_two_outputs_of_one_name(program, theirs):
    code, _, err = program("embed", "m", "graph", "-o", "z.parquet", "--json", "z.parquet")
    assert code == 2
    assert "z.parquet is there already" in " ".join(err.split())
    assert read_embeddings("z.parquet")[0].shape[0] == 60


@pytest.mark.parametrize("target", ["-", "/dev/stdout"])
def test_json_on_standard_output_stands_there_alone(program, theirs, target):
    before = theirs()
    for command in ("similar m n1", "evaluate m", "fit graph -o new -s encoder=gcn -s n_steps=2", "datasets"):
        code, out, err = program(*command.split(), "--json", target)
        assert code == 0
        assert json.loads(out)["written_by"].startswith("ccassg result, sha256 ")
        assert err, "what else there is to say"
    assert program("similar", "m", "n1")[1:] != ("", ""), "the next command speaks as ever"
    assert program("similar", "m", "n1")[2] == ""
    assert theirs().items() >= before.items()
    assert not Path("-").exists()
    assert Path("/dev/stdout").is_symlink()


def test_links_and_devices_are_written_through_or_refused(program, theirs):
    before = theirs()
    Path("away").symlink_to("nowhere")
    Path("page.csv").symlink_to("/dev/null")
    os.mkdir("real")
    Path("folder").symlink_to("real")
    for command in ("report m -o", "embed m graph -o", "similar m n1 --json", "fit graph -o", "convert graph -o"):
        for target in ("away", "page.csv", "/dev/null"):
            assert program(*command.split(), target)[0] == (0 if "json" in command and target != "away" else 2)
    assert program("fit", "graph", "-o", "folder", "-s", "encoder=gcn", "-s", "n_steps=2")[0] == 0
    assert (Path("real") / "run.json").exists(), "written through"
    assert all(Path(name).is_symlink() for name in ("away", "page.csv", "folder"))
    assert not Path("nowhere").exists()
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert theirs().items() >= before.items()
