"""Automatic settings: from the graph, with a reason each, and never over the user's own."""

import re

import numpy as np
import pytest

from ccassg import CCASSG, as_graph
from ccassg.defaults.choice import EXACT_UP_TO, LOSS_NODES, OF_TRAINING, choose, fillable_width
from ccassg.model.presets import PRESETS


def graph(n, f, edges=((0,), (1,))):
    return as_graph(np.array(edges), np.random.default_rng(0).normal(size=(n, f)))


@pytest.mark.parametrize(("n", "f", "width"), [(10, 50, 5), (50, 3, 3), (2, 1, 1), (3000, 700, 512), (3000, 100, 100)])
def test_width_is_what_the_data_can_fill(n, f, width):
    assert fillable_width(graph(n, f)) == width


def choose_for(given, data):
    params = CCASSG(**given).get_params()
    return choose(data, params, list(given))


def test_every_auto_of_training_is_replaced_with_a_reason():
    chosen, reasons = choose_for({"encoder": "gcn", "learning_rate": 0.01}, graph(100, 20))
    automatic = [name for name, value in CCASSG(encoder="gcn").get_params().items() if value == "auto"]
    assert "auto" not in [value for value in chosen.values() if isinstance(value, str)]
    assert sorted(reason.split(" = ")[0] for reason in reasons) == sorted(automatic)


def test_nothing_named_needs_no_setting_of_training():
    chosen, reasons = choose_for({}, graph(3000, 700))
    assert (chosen["encoder"], chosen["embedding_dim"], chosen["n_steps"]) == ("canonical", 128 + 4 * (256 + 128), None)
    assert [reason.split(" = ")[0] for reason in reasons] == ["encoder", "embedding_dim"]


@pytest.mark.parametrize("encoder", ["auto", "canonical"])
@pytest.mark.parametrize("name", OF_TRAINING)
def test_a_setting_of_training_needs_an_encoder_that_is_trained(name, encoder):
    sentence = (
        f"{name} is of training, and canonical directions, the default, are not trained: name another encoder, "
        'encoder="gcn" or "mlp" (--set encoder=gcn)'
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        choose_for({"encoder": encoder, name: 0.5}, graph(100, 20))
    assert choose_for({"encoder": "mlp", name: 0.5}, graph(100, 20))[0][name] == 0.5


def test_every_parameter_is_of_training_or_not():
    others = {"encoder", "embedding_dim", "batch_nodes", "max_neighbors", "random_state", "device"}
    assert set(CCASSG().get_params()) == {*OF_TRAINING, *others}


def test_batches_keep_the_default():
    assert choose_for({"batch_nodes": 32}, graph(100, 20))[0]["encoder"] == "canonical"


@pytest.mark.parametrize("encoder", ["auto", "canonical"])
@pytest.mark.parametrize(
    ("n", "f", "edges", "least"), [(3000, 700, 1, 104), (3000, 700, 0, 24), (100, 5, 1, 45), (100, 5, 0, 10)]
)
def test_a_width_that_parts_side_by_side_cannot_share_is_refused(n, f, edges, least, encoder):
    data = graph(n, f, [[0] * edges, [1] * edges])
    assert choose_for({"encoder": encoder, "embedding_dim": least}, data)[0]["embedding_dim"] == least
    sentence = (
        f"embedding_dim must be at least {least} for canonical directions, the default, got {least - 1}; for a narrower one name "
        'another encoder, encoder="gcn" or "mlp" (--set encoder=gcn)'
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        choose_for({"encoder": encoder, "embedding_dim": least - 1}, data)
    assert choose_for({"encoder": "gcn", "embedding_dim": least - 1}, data)[0]["embedding_dim"] == least - 1


def test_what_the_user_says_stays_and_the_rest_follows_it():
    chosen, reasons = choose_for({"encoder": "gcn", "embedding_dim": 64, "n_layers": 3}, graph(3000, 700))
    assert (chosen["embedding_dim"], chosen["n_layers"], chosen["hidden_dim"]) == (64, 3, 128)
    assert chosen["decorrelation"] == pytest.approx(0.008)
    assert not any(reason.startswith(("embedding_dim", "n_layers", "encoder")) for reason in reasons)


def test_without_edges_two_parts():
    assert choose_for({}, graph(50, 7, np.zeros((2, 0), int)))[0]["embedding_dim"] == 2 * 7


def test_the_loss_of_a_large_graph_is_on_some_of_its_nodes(monkeypatch):
    def loss_nodes(n, **given):
        chosen, reasons = choose_for({"encoder": "gcn"} | given, graph(n, 3))
        return chosen["loss_nodes"], [reason for reason in reasons if reason.startswith("loss_nodes")]

    assert loss_nodes(EXACT_UP_TO)[0] is None
    chosen, (reason,) = loss_nodes(EXACT_UP_TO + 1)
    assert chosen == LOSS_NODES == 4096
    assert "loss_nodes=None takes all" in reason
    assert loss_nodes(EXACT_UP_TO + 1, loss_nodes=None) == (None, [])
    assert loss_nodes(EXACT_UP_TO + 1, loss_nodes=99) == (99, [])
    assert loss_nodes(EXACT_UP_TO + 1, batch_nodes=512)[0] is None
    monkeypatch.setenv("WORLD_SIZE", "2")  # as in a process that torchrun started with another
    assert loss_nodes(EXACT_UP_TO + 1)[0] is None


@pytest.mark.parametrize(
    ("n", "f", "edges", "said"),
    [
        (3000, 700, 1, "1664: a part of 128 columns, four of 256 and four of 128"),
        (3000, 37, 1, "333: nine parts of 37 columns, as there are only 37 features"),
        (3000, 200, 1, "1440: a part of 128 columns, four of 200 and four of 128, as there are only 200 features"),
        (34, 700, 1, "153: nine parts of 17 columns, as there are only 34 nodes"),
        (2, 1, 1, "9: nine parts of 1 column, as there is only 1 feature"),
        (3000, 700, 0, "384: a part of 128 columns and one of 256"),
        (3000, 3, 0, "6: two parts of 3 columns, as there are only 3 features"),
    ],
)
def test_the_reason_of_a_width_is_what_it_is_made_of(n, f, edges, said):
    assert choose_for({}, graph(n, f, [[0] * edges, [1] * edges]))[1][1] == f"embedding_dim = {said}"


@pytest.mark.parametrize(
    ("encoder", "n", "f", "expected"),
    [
        (
            "gcn", 3000, 700,
            "n_layers = 2: the paper's choice on six of seven graphs|embedding_dim = 512: as in the paper|"
            "hidden_dim = 512: twice the embedding, but at most 512 unless that is wider|"
            "decorrelation = 0.001: the paper's 0.001 at width 512, more when narrower|"
            "edge_drop_rate = 0.4: the paper has 0.3 to 0.5 for a GCN|"
            "feature_mask_rate = 0.2: the paper has 0.1 to 0.3 on five of seven graphs|"
            "n_steps = 50: the paper's choice on four of seven graphs; more would fit noise|"
            "loss_nodes = None: the loss is on all nodes of up to 50,000",
        ),
        (
            "mlp", 90, 100,
            "n_layers = 2: the paper's choice on six of seven graphs|embedding_dim = 45: as there are only 90 nodes|"
            "hidden_dim = 90: twice the embedding, but at most 512 unless that is wider|"
            "decorrelation = 0.011: the paper's 0.001 at width 512, more when narrower|"
            "edge_drop_rate = 0.0: an MLP sees no edges|"
            "feature_mask_rate = 0.2: the paper has 0.1 to 0.3 on five of seven graphs|"
            "n_steps = 50: the paper's choice on four of seven graphs; more would fit noise|"
            "loss_nodes = None: the loss is on all nodes of up to 50,000",
        ),
    ],
)  # fmt: skip
def test_reasons_say_what_a_setting_is_chosen_by(encoder, n, f, expected):
    assert choose_for({"encoder": encoder}, graph(n, f))[1] == expected.split("|")


def test_what_the_reasons_say_of_the_paper_is_so():
    presets = list(PRESETS.values())
    assert sum(preset["n_layers"] == 2 for preset in presets) == 6
    assert {preset["embedding_dim"] for preset in presets} == {512}
    assert all(0.3 <= preset["edge_drop_rate"] <= 0.5 for preset in presets if preset["encoder"] == "gcn")
    assert sum(0.1 <= preset["feature_mask_rate"] <= 0.3 for preset in presets) == 5
    assert sum(preset["n_steps"] == 50 for preset in presets) == 4


def test_the_settings_of_training_that_are_chosen():
    chosen, _ = choose_for({"encoder": "gcn"}, graph(3000, 700))
    expected = {
        "n_layers": 2, "embedding_dim": 512, "hidden_dim": 512, "decorrelation": 1e-3, "edge_drop_rate": 0.4,
        "feature_mask_rate": 0.2, "n_steps": 50,
    }  # fmt: skip
    assert {name: chosen[name] for name in expected} == expected
    for f, width, hidden, decorrelation in ((100, 100, 200, 0.0051), (256, 256, 512, 0.002), (300, 300, 512, 0.0017)):
        chosen, _ = choose_for({"encoder": "mlp"}, graph(3000, f))
        assert (chosen["embedding_dim"], chosen["hidden_dim"], chosen["edge_drop_rate"]) == (width, hidden, 0.0)
        assert chosen["decorrelation"] == decorrelation
    wide, _ = choose_for({"encoder": "gcn", "embedding_dim": 1024}, graph(3000, 700))
    assert (wide["hidden_dim"], wide["decorrelation"]) == (1024, 1e-3)
    narrow, _ = choose_for({"encoder": "gcn", "embedding_dim": 1}, graph(3000, 700))
    assert (narrow["hidden_dim"], narrow["decorrelation"]) == (2, 0.51)
    one = as_graph(np.zeros((2, 0), int), np.ones((1, 1)))
    assert fillable_width(one) == 1
