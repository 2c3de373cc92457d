"""Rows of halos, with ranks that are threads; aggregations over them are in test_distributed."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ccassg import as_graph
from ccassg.graph import sparse
from ccassg.training.halo import HaloExchange, find_halo
from ccassg.training.rows import neighbours, take_rows
from rank_threads import Meeting

N = 30
FEATURES = sp.random(N, 6, density=0.3, random_state=1, format="csr", dtype=np.float32)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_features_of_the_halo_come_from_their_owners(kind, directed, monkeypatch):
    monkeypatch.setattr("ccassg.training.halo.ROWS", 7)
    graph = as_graph(sp.random(N, N, density=0.08, random_state=0), FEATURES, directed=directed)
    parts = np.random.default_rng(0).integers(3, size=N)
    features = sparse.from_scipy(FEATURES) if kind == "sparse" else torch.from_numpy(FEATURES.toarray())

    def check(ranks):
        own = torch.from_numpy(np.flatnonzero(parts == ranks.rank))
        halo = find_halo(*neighbours(graph), parts, own, ranks)
        exchange = HaloExchange(ranks, halo.sent_rows, halo.send_counts, halo.receive_counts)
        received = exchange.with_halo(take_rows(features, own))
        nodes = torch.cat([own, halo.nodes])
        heard = graph.adjacency().T.tocsr()[own.numpy()].indices
        assert set(heard.tolist()) <= set(nodes.tolist())
        assert len(set(nodes.tolist())) == len(nodes) > len(own)
        dense = received.to_dense() if kind == "sparse" else received
        assert torch.equal(dense, torch.from_numpy(FEATURES.toarray())[nodes])

    Meeting(3).run(check)
