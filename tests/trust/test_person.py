"""A person without privileges: another user with a private umask, without HOME or TMPDIR, in places that cannot be written."""

import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest
from nursery import Nursery

from ccassg import read_embeddings

# Nobody's number, not even in the list of users: such a person has no home folder at all.
NUMBER = 54321
# Root may write everywhere; this is root made a person who may not, but who may still read (where Python itself lies).
PERSON = [
    "setpriv", f"--reuid={NUMBER}", f"--regid={NUMBER}", "--clear-groups",
    *(f"--{kind}-caps=-all,+dac_read_search" for kind in ("inh", "ambient")), "--bounding-set=-all,+dac_read_search",
]  # fmt: skip
GONE = (
    "HOME",
    "TMPDIR",
    "USER",
    "LOGNAME",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "MPLCONFIGDIR",
    "CCASSG_CACHE",
    "CCASSG_DATA",
)
QUICK = ("-s", "encoder=gcn", "-s", "n_steps=3", "-s", "hidden_dim=8", "-s", "embedding_dim=4")


def _made(folder, mode):
    folder.mkdir()
    folder.chmod(mode)
    return folder


@pytest.fixture(scope="module")
def base():
    """A folder that everybody may look into, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="ccassg-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def place(base):
    """A folder where the person may write."""
    return _made(base / "open", 0o777)


@pytest.fixture(scope="module")
def tables(base, tables):
    """The graph's files where the person may read them."""
    edges, option, nodes = tables
    return str(shutil.copy(edges, base)), option, str(shutil.copy(nodes, base))


@pytest.fixture(scope="module")
def person(place):
    through = PERSON if os.getuid() == 0 else []
    if through and (shutil.which("setpriv") is None or subprocess.run([*PERSON, "true"]).returncode):
        pytest.skip("root cannot be somebody else here")
    env = {name: value for name, value in os.environ.items() if name not in GONE}
    made = Nursery(place, through=through, env=env, umask=0o077)
    yield made
    made.close()


@pytest.fixture(scope="module")
def locked(base):
    """A folder where nobody but root may write."""
    return _made(base / "locked", 0o555)


@pytest.fixture(scope="module")
def model(person, place, tables):
    ended = person.run("fit", *tables, "-o", "m", *QUICK)
    assert (ended.code, ended.err) == (0, ""), ended.err
    return place / "m"


def test_the_whole_job_is_done(person, place, model, tables, count):
    for command in (
        ("fit", *tables, "-o", "m", *QUICK, "--seed", 1),
        ("embed", "m", *tables, "-o", "z.h5ad"),
        ("embed", "m", *tables, "-o", "z.npy", "--json", "z.json"),
        ("convert", *tables, "-o", "s", "--parts", 2),
        ("convert", *tables, "-o", "s", "--overwrite"),
        ("report", "m", "-o", "page.html"),
        ("evaluate", "m"),
        ("similar", "m", "n1"),
        (
            "reproduce",
            "citation",
            "--methods",
            "label-propagation",
            "--datasets",
            "cora",
            "--seeds",
            1,
            "--results",
            "r",
        ),
    ):
        ended = person.run(*command)
        assert (ended.code, ended.err) == (0, ""), (command, ended.err)
        count("person", done=1)
    assert read_embeddings(place / "z.npy")[0].shape == (60, 4)
    made = [path for path in place.rglob("*") if path.name not in ("stdout", "stderr")]
    assert len(made) > 20
    assert [path for path in made if stat.S_IMODE(path.stat().st_mode) & 0o077] == [], "private stays private"
    assert not [path for path in made if path.name.startswith((".ccassg", "~"))]


@pytest.mark.parametrize("home", [None, "/nonexistent", "locked"])
def test_without_a_home_folder_the_cache_is_missed_in_one_sentence(person, locked, home):
    env = {} if home is None else {"HOME": str(locked) if home == "locked" else home}
    for command in (
        ("datasets",),
        ("datasets", "fetch", "citeseer", "--base-url", "http://127.0.0.1:9"),
        ("fit", "citeseer", "-o", "c"),
    ):
        ended = person.run(*command, env=env)
        if ended.code or home is None:
            assert ended.code == 2, ended.err
            assert ("CCASSG_CACHE" if home is None else str(env["HOME"])) in ended.said
    for command in (
        ("datasets", "--data-dir", "~nobody-of-that-name/x"),
        ("datasets", "fetch", "cora", "--folder", "~nobody-of-that-name"),
    ):
        ended = person.run(*command, env=env)
        assert "whose home folder ~ stands for is not known; write the folder in full" in ended.said
        assert ended.code == 2
    ended = person.run(
        "fit", "cora", "-o", "deepwalk", "--method", "deepwalk", "-s", "n_walks=1", "-s", "walk_length=5", env=env
    )
    assert ended.code == 0 or "Set HOME to a folder" in ended.said


def test_a_working_folder_that_cannot_be_written(person, place, model, tables, locked, count):
    for command in (
        ("fit", *tables, "-o", "m", *QUICK),
        ("embed", model, *tables, "-o", "z.csv"),
        ("convert", *tables, "-o", "s"),
        ("report", model),
        ("demo",),
        ("evaluate", model, "--json", "e.json"),
        ("reproduce", "citation", "--methods", "label-propagation", "--datasets", "cora", "--seeds", 1),
    ):
        ended = person.run(*command, cwd=locked)
        assert (ended.code, ended.out.strip()) == (2, "null"), "before the work"
        assert "Permission denied" in ended.said, command
        count("person", refused_in_a_sentence=1)
    for command in (
        ("fit", *tables, "-o", place / "elsewhere", *QUICK),
        ("report", model, "-o", place / "other.html"),
        ("similar", model, "n1"),
    ):
        ended = person.run(*command, cwd=locked)
        assert (ended.code, ended.err) == (0, ""), (command, ended.err)
    assert os.listdir(locked) == []


def test_what_belongs_to_another_stays(person, place, model, tables, base):
    """A run in a folder that the person may read, and not write."""
    theirs = base / "another's"
    if os.getuid() != 0:
        pytest.skip("needs two users")
    theirs.mkdir()
    shutil.copytree(model, theirs / "run")
    for path in (theirs / "run", *(theirs / "run").iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    before = {path.name: path.read_bytes() for path in (theirs / "run").iterdir()}
    for command in (
        ("fit", *tables, "-o", theirs / "run", *QUICK),
        ("fit", *tables, "-o", theirs / "new", *QUICK),
    ):
        ended = person.run(*command)
        assert ended.code == 2
        assert "Permission denied" in ended.said
    assert person.run("report", theirs / "run", "-o", "theirs.html").code == 0
    assert {path.name: path.read_bytes() for path in (theirs / "run").iterdir()} == before
