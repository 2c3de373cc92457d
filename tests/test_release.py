"""What is released: the wheel, in an environment without the sources, does what the front page says."""

import os
import shlex
import subprocess
import sys
import sysconfig
import tarfile
import venv
from pathlib import Path

import pytest

import ccassg
from test_docs import PROJECT, blocks_of, commands_of, write_graph


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """The source archive and the wheel."""
    pytest.importorskip("build")
    out = tmp_path_factory.mktemp("dist")
    made = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(PROJECT)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    return next(out.glob("*.tar.gz")), next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def program(archives, tmp_path_factory):
    """Run a command in a fresh environment that has the wheel, and the libraries it needs from here."""
    home = tmp_path_factory.mktemp("fresh")
    venv.create(home, with_pip=False, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install", "--quiet", "--no-deps"]
    subprocess.run([*install, "--no-index", "--force-reinstall", str(archives[1])], check=True, capture_output=True)
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}

    def run(*command, cwd):
        done = subprocess.run(
            [home / "bin" / command[0], *command[1:]], cwd=cwd, env=clean, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.mark.skipif(os.name == "nt", reason="programs lie elsewhere")
def test_the_wheel_without_the_sources_does_what_the_front_page_says(program, tmp_path):
    where = program("python", "-c", "import ccassg; print(ccassg.__file__, ccassg.__version__)", cwd=tmp_path)
    assert str(PROJECT) not in where
    assert ccassg.__version__ in where
    import numpy as np

    write_graph(tmp_path, "", 60, np.random.default_rng(0))
    for block in blocks_of("README.md"):
        if block.language == "sh":
            for arguments in commands_of(block):
                program("ccassg", *arguments, cwd=tmp_path)
        elif block.language == "python":
            program("python", "-c", block.code, cwd=tmp_path)
    assert (tmp_path / "report.html").is_file()


def test_the_demo_of_the_wheel(program, tmp_path):
    said = program("ccassg", *shlex.split("demo --seeds 1"), cwd=tmp_path)
    assert "test accuracy 8" in said
    assert (tmp_path / "demo-report.html").is_file()


def test_the_source_archive_can_test_itself(archives):
    with tarfile.open(archives[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"Makefile", "constraints.txt", "pyproject.toml", "README.md", "CHANGELOG.md", "tests/conftest.py"} <= names
