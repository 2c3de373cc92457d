"""Downloads from a server on this machine that can break off or hand out the wrong bytes."""

import hashlib
import http.server
import threading

import pytest

from ccassg.datasets.cards import FILES, SourceFile
from ccassg.datasets.download import digest_matches, fetch_dataset

CONTENT = bytes(range(256)) * 1000
NAME = "amazon_electronics_photo.npz"


class Server(http.server.ThreadingHTTPServer):
    """What it should do wrong, and what it was asked."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {f"/data/{NAME}": CONTENT}
        self.break_after = []  # bytes sent before each of the next answers breaks off
        self.status = []  # statuses of the next answers
        self.requests = []
        self.base_url = f"http://127.0.0.1:{self.server_port}/data"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append(self.path)
        content = self.server.files.get(self.path)
        if self.server.status or content is None:
            self.send_error(self.server.status.pop(0) if self.server.status else 404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        stop = self.server.break_after.pop(0) if self.server.break_after else None
        self.wfile.write(content[:stop])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def photo(monkeypatch):
    """Photo, as if its file had the content above."""
    blob = hashlib.sha1(b"blob 256000\0" + CONTENT).hexdigest()
    monkeypatch.setitem(FILES, "photo", (SourceFile(NAME, "http://127.0.0.1:9/nobody", f"git:{blob}"),))


@pytest.fixture
def fetch(server, tmp_path):
    def run(name="photo", **options):
        options = {"folder": tmp_path, "base_url": server.base_url, "wait": 0} | options
        return fetch_dataset(name, **options)

    return run


def test_file_arrives_and_is_not_fetched_twice(fetch, server, tmp_path):
    assert fetch() == [tmp_path / NAME]
    assert (tmp_path / NAME).read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == [NAME]
    fetch()
    assert len(server.requests) == 1


def test_broken_connection_is_tried_again(fetch, server, tmp_path):
    server.break_after = [100_000, 50_000]
    fetch(attempts=3)
    assert len(server.requests) == 3
    assert (tmp_path / NAME).read_bytes() == CONTENT


def test_interrupted_download_leaves_nothing(fetch, server, tmp_path):
    server.break_after = [100_000, 100_000]
    with pytest.raises(ConnectionError, match=f"^could not download http.*{NAME}.*run the command again$"):
        fetch(attempts=2)
    assert list(tmp_path.iterdir()) == []
    fetch(attempts=1)
    assert (tmp_path / NAME).read_bytes() == CONTENT


def test_place_that_cannot_be_written(fetch, server, tmp_path):
    (tmp_path / NAME).mkdir()
    with pytest.raises(OSError, match=f"cannot write .*{NAME}: it is a folder"):
        fetch()


def test_wrong_hash_is_deleted_and_reported(fetch, server, tmp_path):
    server.files[f"/data/{NAME}"] = CONTENT[:-1] + b"!"
    with pytest.raises(ValueError, match=f"{NAME} does not have the known hash git:.*deleted"):
        fetch()
    assert list(tmp_path.iterdir()) == []
    server.files[f"/data/{NAME}"] = CONTENT
    assert fetch() == [tmp_path / NAME]


def test_wrong_file_in_the_cache_is_replaced_only_by_a_right_one(fetch, server, tmp_path, monkeypatch):
    monkeypatch.setenv("CCASSG_CACHE", str(tmp_path))
    (tmp_path / NAME).write_bytes(b"old")
    server.files[f"/data/{NAME}"] = b"new but wrong"
    with pytest.raises(ValueError, match="known hash"):
        fetch(folder=None)
    assert (tmp_path / NAME).read_bytes() == b"old"
    server.files[f"/data/{NAME}"] = CONTENT
    fetch(folder=None)
    assert (tmp_path / NAME).read_bytes() == CONTENT


def test_a_file_of_somebody_elses_in_a_folder_stays(fetch, server, tmp_path):
    (tmp_path / NAME).write_bytes(b"mine")
    with pytest.raises(ValueError, match=f"{NAME} is there already and is not the file of .*; move it away"):
        fetch()
    assert (tmp_path / NAME).read_bytes() == b"mine"
    assert server.requests == []


def test_file_that_is_not_there_is_asked_for_once(fetch, server, tmp_path):
    server.files.clear()
    with pytest.raises(ConnectionError, match="404"):
        fetch()
    assert len(server.requests) == 1
    assert list(tmp_path.iterdir()) == []


def test_overloaded_server_is_asked_again(fetch, server):
    server.status = [503, 503]
    fetch(attempts=3)
    assert len(server.requests) == 3


def test_nobody_listens(fetch, tmp_path):
    with pytest.raises(ConnectionError, match=r"could not download http://127\.0\.0\.1:9/nobody/"):
        fetch(base_url=None)


def test_progress_counts_bytes_of_the_whole_file(fetch, server):
    seen = []
    server.break_after = [100_000]
    fetch(progress=lambda *step: seen.append(step))
    assert {(name, total) for name, _, total in seen} == {(NAME, 256_000)}
    assert seen[-1][1] == 256_000
    assert all(done <= total for _, done, total in seen)


def test_every_file_of_a_planetoid_set_lands_in_its_folder(fetch, server, tmp_path, monkeypatch):
    files = []
    for i, file in enumerate(FILES["citeseer"]):
        content = CONTENT[: 10 * i + 1]
        server.files[f"/data/{file.file_name}"] = content
        files.append(SourceFile(file.path, file.base_url, f"sha256:{hashlib.sha256(content).hexdigest()}"))
    monkeypatch.setitem(FILES, "citeseer", tuple(files))
    paths = fetch("citeseer")
    assert sorted(path.name for path in (tmp_path / "citeseer").iterdir()) == sorted(path.name for path in paths)
    assert len(paths) == 8


def test_cache_is_the_default_place(fetch, tmp_path, monkeypatch):
    monkeypatch.setenv("CCASSG_CACHE", str(tmp_path / "cache"))
    assert fetch(folder=None) == [tmp_path / "cache" / NAME]


def test_cora_is_embedded(fetch, server):
    assert fetch("cora") == []
    assert server.requests == []


def test_bad_arguments(fetch):
    with pytest.raises(ValueError, match="no dataset 'nothing'"):
        fetch("nothing")
    with pytest.raises(ValueError, match="attempts must be at least 1, got 0"):
        fetch(attempts=0)


def test_known_hashes_are_those_of_the_original_files(data_dir):
    for name in ("citeseer", "pubmed"):
        for file in FILES[name]:
            if not (data_dir / file.path).is_file():
                pytest.skip(f"{file.path} is not here")
            assert digest_matches(data_dir / file.path, file.digest), file.path


def test_git_blob_id(tmp_path):
    path = tmp_path / "hello"
    path.write_bytes(b"hello\n")
    assert digest_matches(path, "git:ce013625030ba8dba906f756967f9e9ca394464a")  # git hash-object
    assert not digest_matches(path, "git:" + "0" * 40)


def test_addresses_are_the_public_ones():
    urls = {f"{file.base_url}/{file.file_name}" for name in ("pubmed", "cs") for file in FILES[name]}
    assert "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/ind.pubmed.graph" in urls
    assert "https://raw.githubusercontent.com/shchur/gnn-benchmark/master/data/npz/ms_academic_cs.npz" in urls
