"""The share of one process: what it makes room for, and what it swaps with others. Ranks are threads here."""

import contextlib

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ccassg import as_graph
from ccassg.training.rows import neighbours
from ccassg.training.share import Share
from rank_threads import Meeting

N = 40
PATTERN = sp.random(N, N, density=0.05, random_state=0)
FEATURES = sp.random(N, 5, density=0.5, random_state=1, format="csr")


def test_room_in_memory_up_to_the_limit_and_on_the_disk_beyond(tmp_path):
    graph = as_graph(np.zeros((2, 0), np.int64), np.eye(3, dtype=np.float32))
    with contextlib.ExitStack() as files:
        inside = Share(graph, 2, tmp_path, 4 * 3 * 5, files, None).scratch(5)
        beyond = Share(graph, 2, tmp_path, 4 * 3 * 5 - 1, files, None).scratch(5)
        elsewhere = Share(graph, 2, tmp_path / "of another machine", 0, files, None).scratch(5)
        assert not isinstance(inside, np.memmap)
        assert isinstance(beyond, np.memmap)
        assert isinstance(elsewhere, np.memmap)
        for room in (inside, beyond, elsewhere):
            assert room.shape == (3, 5)
            assert room.dtype == np.float32
            room[:] = 1  # it may be written to
    assert list(tmp_path.iterdir()) == []  # files without a name


def test_alone_all_nodes_are_own(tmp_path):
    graph = as_graph(PATTERN.astype(bool), FEATURES)
    with contextlib.ExitStack() as files:
        share = Share(graph, 15, tmp_path, 2**20, files, None)
        share.meet(*neighbours(graph))
        assert (share.start, share.stop, share.n_rows, share.place) == (0, N, N, None)
        assert list(share.blocks()) == [(0, 15), (15, 30), (30, 40)]
        table = np.ones((N, 2), np.float32)
        assert share.spread(table) is table
        share.deliver(table)
        assert (table == 1).all()


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("block", [3, 100])
@pytest.mark.parametrize("size", [2, 3])
def test_halos_are_filled_in_and_the_first_gets_all_rows(size, block, directed, tmp_path):
    graph = as_graph(PATTERN, FEATURES, directed=directed)
    values = np.random.default_rng(0).random((N, 3)).astype(np.float32)

    def work(ranks):
        with contextlib.ExitStack() as files:
            share = Share(graph, block, tmp_path, 2**20, files, ranks)
            share.meet(*neighbours(graph))
            table = share.scratch(3)
            table[:] = np.nan
            result = share.result(tmp_path / "z.npy", 3)
            own = torch.arange(share.start, share.stop)
            for start, stop in share.blocks():
                table[start:stop] = result[start:stop] = values[share.start + start : share.start + stop]
            share.spread(table)
            share.deliver(result)
            assert torch.equal(share.place[own], torch.arange(share.n_own, dtype=torch.int32))
            # Every neighbour that an own node receives from has its row.
            received = graph.adjacency().T.tocsr()[own.numpy()].indices
            assert np.array_equal(table[share.place[received].numpy()], values[received])
            assert share.n_rows == len(set(received.tolist()) | set(own.tolist()))
            if ranks.rank == 0:
                result.flush()
            return share.n_rows - share.n_own

    assert all(Meeting(size).run(work))
    assert np.array_equal(np.load(tmp_path / "z.npy"), values)
    assert [path.name for path in tmp_path.iterdir()] == ["z.npy"]
