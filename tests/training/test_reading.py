"""Checks of what a process reads; how several share them is in test_distributed."""

import numpy as np
import pytest
import scipy.sparse as sp

from ccassg import as_graph
from ccassg.io.store import open_store
from ccassg.io.storewriter import write_store
from ccassg.training import reading
from ccassg.training.reading import own_part, require_sound


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("piece", [1, 2, 1000])
def test_values_of_the_given_nodes_are_finite(make, piece, monkeypatch):
    monkeypatch.setattr(reading, "PIECE_ENTRIES", piece)
    features = np.ones((4, 2), np.float32)
    features[2, 1] = np.nan
    graph = as_graph(sp.csr_array((4, 4)), np.ones((4, 2)))
    object.__setattr__(graph, "features", make(features))
    where = r"the first at \(2, 1\)" if make is np.asarray else r"the first at \(5,\)"
    for rows in ((), (0, 3), (2, 3), (1, 4)):
        with pytest.raises(ValueError, match=f"features must be finite.*{where}"):
            require_sound(graph, *rows)
    for rows in ((0, 2), (3, 4), (2, 2)):
        require_sound(graph, *rows)


def test_weights_of_the_given_nodes_are_finite():
    graph = as_graph(sp.csr_array(np.diag([1.0, 2.0, 3.0], 1)), np.ones((4, 2)), directed=True)
    graph.weights[1] = np.inf
    with pytest.raises(ValueError, match=r"weights must be finite.*the first at \(1,\)"):
        require_sound(graph)
    require_sound(graph, 0, 1)
    require_sound(graph, 2)


def test_alone_all_of_a_store_is_the_own_part(tmp_path):
    graph = as_graph(sp.csr_array((4, 4)), np.ones((4, 2)))
    write_store(tmp_path / "s", graph, parts=np.array([0, 0, 1, 1]))
    assert own_part(open_store(tmp_path / "s").graph) == (0, 4)
    assert own_part(graph) == (0, 4)
