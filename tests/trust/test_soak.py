"""Many fits in one process, many processes on one cache, and what threads change."""

import hashlib
import http.server
import threading

import numpy as np
import pytest

CONTENT = np.random.default_rng(0).bytes(400_000)


def test_fits_leave_nothing_behind(nursery, scale, figure):
    n = scale(15, 200)
    seen = nursery.call("chores:fit_varied", n, 0)
    half = n // 2
    # The largest graph so far decides what the allocator keeps, so the two halves are compared, not first and last.
    early, late = max(seen["memory"][:half]), max(seen["memory"][half:])
    growth = (late - early) / 2**20
    assert growth < scale(60, 40), f"memory grew by {growth:.0f} MiB over {n} fits"
    assert max(seen["files"][1:]) == min(seen["files"][1:]), "file handles stay open"
    figure("soak", fits=n, memory_growth_mib=round(growth, 1), open_files_growth=seen["files"][-1] - seen["files"][1])


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.n_asked += 1
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        # In pieces, so that writers who do not wait for each other would mix theirs.
        for start in range(0, len(CONTENT), 20_000):
            self.wfile.write(CONTENT[start : start + 20_000])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.n_asked = 0
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_ten_processes_share_a_cache(nursery, server, tmp_path, scale, figure):
    digest = "sha256:" + hashlib.sha256(CONTENT).hexdigest()
    rounds = scale(1, 20)
    for i in range(rounds):
        folder = tmp_path / str(i)
        codes = nursery.call(
            "chores:fetch_together", 10, str(folder), f"http://127.0.0.1:{server.server_port}/data", digest
        )
        assert codes == [0] * 10
        assert [path.name for path in folder.iterdir()] == ["photo.npz"]
        assert (folder / "photo.npz").read_bytes() == CONTENT
    assert server.n_asked == rounds, "the file was fetched more than once"
    figure("shared cache", processes=10, rounds=rounds, downloads=server.n_asked, damaged=0)


def test_same_threads_same_bits_other_threads_close(nursery, tmp_path, scale, figure):
    n = scale(300, 20_000)
    for name, threads in (("one", 1), ("again", 1), ("two", 2), ("two again", 2)):
        assert nursery.call("chores:fit_with_threads", threads, n, str(tmp_path / f"{name}.npy")) == threads
    one, again, two, two_again = (np.load(tmp_path / f"{x}.npy") for x in ("one", "again", "two", "two again"))
    assert np.array_equal(one, again)
    assert np.array_equal(two, two_again)
    difference = float(np.abs(one - two).max() / np.abs(one).max())
    assert difference < 1e-2
    figure("threads", nodes=n, same_count="same bits", one_against_two=difference, same_bits_one_and_two=not difference)
