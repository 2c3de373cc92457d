import json

import pytest
from typer.testing import CliRunner

from ccassg.cli.app import app
from ccassg.datasets import DATASETS

run = CliRunner().invoke


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CCASSG_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CCASSG_DATA", raising=False)
    return tmp_path / "cache"


def test_list_is_plain_when_piped():
    result = run(app, ["datasets"])
    lines = result.output.splitlines()
    assert result.exit_code == 0
    assert lines[0].split() == ["name", "nodes", "edges", "features", "classes", "size", "licence", "where"]
    assert [line.split()[0] for line in lines[1:]] == list(DATASETS)
    assert lines[1].split() == ["cora", "2,708", "5,278", "1,433", "7", "0.5", "MB", "Apache-2.0", "embedded"]
    assert lines[7].endswith("not fetched")
    assert result.output.isascii()


def test_list_fits_a_terminal():
    lines = run(app, ["datasets"]).output.splitlines()
    assert max(map(len, lines)) <= 80


def test_list_as_json(tmp_path, empty_cache):
    empty_cache.mkdir()
    (empty_cache / "ms_academic_cs.npz").write_bytes(b"12345")
    result = run(app, ["datasets", "--json", str(tmp_path / "out.json")])
    assert result.exit_code == 0
    rows = {row["name"]: row for row in json.loads((tmp_path / "out.json").read_text())["rows"]}
    assert tuple(rows) == DATASETS
    assert rows["physics"]["nodes"] == 34493
    assert (rows["physics"]["available"], rows["physics"]["file_bytes"]) == (False, None)
    assert (rows["cs"]["where"], rows["cs"]["available"], rows["cs"]["file_bytes"]) == ("cached", True, 5)
    assert (rows["cora"]["where"], rows["cora"]["available"]) == ("embedded", True)
    assert 90_000 < rows["cora"]["file_bytes"] < 100_000
    assert {"edges", "features", "classes", "memory_bytes", "licence", "source", "citation"} <= set(rows["cora"])


def test_list_names_the_folder(tmp_path, monkeypatch):
    (tmp_path / "ms_academic_cs.npz").write_bytes(b"12345")
    assert str(tmp_path) in run(app, ["datasets", "--data-dir", str(tmp_path)]).output
    monkeypatch.setenv("CCASSG_DATA", str(tmp_path))
    assert str(tmp_path) in run(app, ["datasets"]).output


def test_fetch_says_where_the_files_are(tmp_path, empty_cache, monkeypatch):
    calls = []

    def fetch_dataset(name, *, folder, base_url, progress):
        calls.append((name, folder, base_url))
        progress("a.npz", 5, 10)
        progress("a.npz", 10, 10)
        return [] if name == "cora" else [empty_cache / "a.npz"]

    monkeypatch.setattr("ccassg.datasets.download.fetch_dataset", fetch_dataset)
    out = tmp_path / "out.json"
    result = run(app, ["datasets", "fetch", "cora", "cs", "--base-url", "http://mirror", "--json", str(out)])
    assert result.exit_code == 0
    assert calls == [("cora", None, "http://mirror"), ("cs", None, "http://mirror")]
    assert "cora: part of the package, nothing to fetch" in result.output
    assert f"cs: 1 file in {empty_cache}" in result.output
    written = json.loads(out.read_text())
    assert written.pop("written_by").startswith("ccassg result, sha256 ")
    assert written == {"cora": [], "cs": [str(empty_cache / "a.npz")]}
    assert run(app, ["datasets", "fetch", "all"]).exit_code == 0
    assert [name for name, *_ in calls[2:]] == list(DATASETS)


def test_fetch_of_an_unknown_name_fetches_nothing(monkeypatch):
    monkeypatch.setattr("ccassg.datasets.download.fetch_dataset", lambda *_, **__: pytest.fail("fetched"))
    result = run(app, ["datasets", "fetch", "cs", "reddit"])
    assert isinstance(result.exception, ValueError)
    assert "no dataset 'reddit'" in str(result.exception)


def test_unreachable_server_is_an_error(monkeypatch):
    monkeypatch.setattr("time.sleep", lambda _: None)
    result = run(app, ["datasets", "fetch", "cs", "--base-url", "http://127.0.0.1:9"])
    assert isinstance(result.exception, ConnectionError)
    assert "could not download http://127.0.0.1:9/ms_academic_cs.npz" in str(result.exception)


@pytest.mark.parametrize("arguments", [["datasets"], ["datasets", "fetch"]])
def test_help_has_an_example(arguments):
    output = run(app, [*arguments, "--help"]).output
    assert f"Example: ccassg {' '.join(arguments)}" in output
