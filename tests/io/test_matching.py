"""Edges and nodes meet by their ids, or by the order of their rows."""

import numpy as np
import pyarrow as pa
import pytest

from ccassg.io.matching import match_nodes
from ccassg.io.tables import EdgeRows, NodeRows

CODES = np.array([[0, 1], [1, 2]])


def edges(ids):
    source, target = (pa.array([ids[i] for i in CODES[end]]) for end in (0, 1))
    return EdgeRows("e", source, target, None), pa.array(ids)


def nodes(n, ids=None):
    return NodeRows("n", n, None if ids is None else pa.array(ids))


def test_nodes_keep_the_order_of_their_rows():
    rows, ids = edges(["a", "b", "c"])
    all_ids, place = match_nodes(rows, ids, CODES, nodes(4, ["c", "x", "a", "b"]))
    assert all_ids.to_pylist() == ["c", "x", "a", "b"]
    assert place.tolist() == [2, 3, 0]
    assert match_nodes(rows, ids, CODES, None) == (ids, None)


def test_rows_without_ids_are_the_nodes_of_their_numbers():
    rows, ids = edges([0, 1, 3])
    all_ids, place = match_nodes(rows, ids, CODES, nodes(4))
    assert (all_ids.to_pylist(), place.tolist()) == ([0, 1, 2, 3], [0, 1, 3])
    with pytest.raises(ValueError, match=r"n has rows for the nodes 0 \.\. 2, but e names 1 others, first 3"):
        match_nodes(rows, ids, CODES, nodes(3))
    with pytest.raises(ValueError, match=r"n has no ids, but e names nodes such as 'a'"):
        match_nodes(*edges(["a", "b", "c"]), CODES, nodes(3))


@pytest.mark.parametrize(
    ("known", "sentence"), [(["a", "b"], "n lacks 1 of the 3 nodes that e names"), (["x"], "have no id in common")]
)
def test_nodes_that_are_lacking(known, sentence):
    with pytest.raises(ValueError, match=sentence):
        match_nodes(*edges(["a", "b", "c"]), CODES, nodes(len(known), known))
