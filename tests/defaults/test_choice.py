"""Automatic settings: from the graph, with a reason each, and never over the user's own."""

import numpy as np
import pytest

from ccassg import CCASSG, as_graph
from ccassg.datasets import stochastic_block_graph
from ccassg.defaults.choice import choose, fillable_width


def graph(n, f, edges=((0,), (1,))):
    return as_graph(np.array(edges), np.random.default_rng(0).normal(size=(n, f)))


@pytest.mark.parametrize(("n", "f", "width"), [(10, 50, 5), (50, 3, 3), (2, 1, 1), (3000, 700, 512), (3000, 100, 100)])
def test_width_is_what_the_data_can_fill(n, f, width):
    assert fillable_width(graph(n, f)) == width


def test_every_auto_is_replaced_with_a_reason():
    model = CCASSG()
    chosen, reasons, _ = choose(graph(100, 20), model.get_params())
    automatic = [name for name, value in model.get_params().items() if value == "auto"]
    assert "auto" not in [value for value in chosen.values() if isinstance(value, str)]
    assert sorted(reason.split(" = ")[0] for reason in reasons) == sorted(automatic)


def test_what_the_user_says_stays_and_the_rest_follows_it():
    model = CCASSG(encoder="gcn", embedding_dim=64, n_layers=3)
    chosen, reasons, _ = choose(graph(3000, 700), model.get_params())
    assert (chosen["embedding_dim"], chosen["n_layers"]) == (64, 3)
    assert chosen["decorrelation"] == pytest.approx(0.008)
    assert not any(reason.startswith(("embedding_dim", "n_layers")) for reason in reasons)


def test_without_edges_an_mlp():
    empty = as_graph(np.zeros((2, 0), int), np.ones((5, 2)))
    assert choose(empty, CCASSG().get_params())[0]["encoder"] == "mlp"


def test_on_a_graph_the_encoder_joins_both_and_says_why():
    data = stochastic_block_graph(400, homophily=0.8, seed=0)
    chosen, reasons, _ = choose(data.graph, CCASSG().get_params())
    assert chosen["encoder"] == "joined"
    assert chosen["embedding_dim"] % 64 == 0
    assert any(reason.startswith("own_share = ") and "agreement" in reason for reason in reasons)
    assert any(reason.startswith("n_hops = ") for reason in reasons)


def test_a_plain_encoder_where_parts_cannot_be_joined():
    useful = stochastic_block_graph(400, homophily=0.9, seed=0).graph
    useless = stochastic_block_graph(400, homophily=0.2, seed=0).graph
    for given, why in (({"batch_nodes": 32}, "in batches"), ({"embedding_dim": 8}, "in so few dimensions as 8")):
        chosen, reasons, _ = choose(useful, CCASSG(**given).get_params())
        assert chosen["encoder"] == "gcn"
        assert why in next(reason for reason in reasons if reason.startswith("encoder"))
        assert choose(useless, CCASSG(**given).get_params())[0]["encoder"] == "mlp"


def test_a_fixed_encoder_measures_nothing_and_gives_no_reason_for_parts():
    chosen, reasons, _ = choose(graph(100, 20), CCASSG(encoder="gcn").get_params())
    assert (chosen["encoder"], chosen["own_share"], chosen["n_hops"]) == ("gcn", 0.0, 0)
    assert not any(reason.startswith(("own_share", "n_hops", "encoder")) for reason in reasons)


def test_shares_and_hops_can_be_fixed_by_hand():
    given = CCASSG(encoder="joined", own_share=0.1, n_hops=3)
    chosen, reasons, _ = choose(graph(100, 20), given.get_params())
    assert (chosen["own_share"], chosen["n_hops"]) == (0.1, 3)
    assert not any(reason.startswith(("own_share", "n_hops")) for reason in reasons)
