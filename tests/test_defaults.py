"""Automatic settings: from the graph, with a reason each, and never over the user's own."""

import numpy as np
import pytest

from ccassg import CCASSG, as_graph
from ccassg.defaults import choose, fillable_width


def graph(n, f, edges=((0,), (1,))):
    return as_graph(np.array(edges), np.random.default_rng(0).normal(size=(n, f)))


@pytest.mark.parametrize(("n", "f", "width"), [(10, 50, 5), (50, 3, 3), (2, 1, 1), (3000, 700, 512), (3000, 100, 100)])
def test_width_is_what_the_data_can_fill(n, f, width):
    assert fillable_width(graph(n, f)) == width


def test_every_auto_is_replaced_with_a_reason():
    model = CCASSG()
    chosen, reasons = choose(graph(100, 20), model.get_params(), has_edges=True)
    automatic = [name for name, value in model.get_params().items() if value == "auto"]
    assert "auto" not in [value for value in chosen.values() if isinstance(value, str)]
    assert sorted(reason.split(" = ")[0] for reason in reasons) == sorted(automatic)


def test_what_the_user_says_stays_and_the_rest_follows_it():
    model = CCASSG(embedding_dim=64, n_layers=3)
    chosen, reasons = choose(graph(3000, 700), model.get_params(), has_edges=True)
    assert (chosen["embedding_dim"], chosen["n_layers"]) == (64, 3)
    assert chosen["decorrelation"] == pytest.approx(0.008)
    assert not any(reason.startswith(("embedding_dim", "n_layers")) for reason in reasons)


def test_without_edges_an_mlp():
    assert choose(graph(100, 20), CCASSG().get_params(), has_edges=False)[0]["encoder"] == "mlp"
    empty = as_graph(np.zeros((2, 0), int), np.ones((5, 2)))
    assert choose(empty, CCASSG().get_params(), has_edges=True)[0]["encoder"] == "mlp"
