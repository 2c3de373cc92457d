"""What the parameters of all systems may be: one table, by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ccassg import load_dataset, parameters
from ccassg.systems import METHODS, get_class, make

# Not numbers, or checked where they are used.
OTHERS = {"encoder", "second_view", "early_stopping", "drop_both_directions", "augmentations", "random_state", "device", "activation", "centrality", "add_features", "temperature"}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_is_in_the_table(name: str) -> None:
    for parameter in get_class(name)._get_param_names():
        known = parameter in parameters.COUNTS or parameter in parameters.NUMBERS or parameter in parameters.SHARES
        assert known or parameter.endswith(("_dim", "_rate")) or parameter in OTHERS, parameter


@pytest.mark.parametrize("name", ["cca-ssg", "dgi"])
def test_a_width_beyond_the_nodes_is_refused_at_once(name: str) -> None:
    data = load_dataset("cora")
    sentence = "embedding_dim must be at most 2,708 on 2,708 nodes, which fill no more dimensions, got 32,000"
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        make(name, embedding_dim=32_000).fit(data)
    parameters.check_width(parameters.ALWAYS_DIM, 3)
    parameters.check_width(2708, 2708)


@pytest.mark.parametrize("name", METHODS)
def test_defaults_are_possible(name: str) -> None:
    given = get_class(name)().get_params(deep=False)
    parameters.check({key: value for key, value in given.items() if value != "auto"})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("hidden_dim", 0, "hidden_dim must be an integer, at least 1, got 0"),
        ("hidden_dim", "wide", "hidden_dim must be an integer, at least 1, got 'wide'"),
        ("hidden_dim", True, "hidden_dim must be an integer, at least 1, got True"),
        ("hidden_dim", None, "hidden_dim must be an integer, at least 1, got None"),
        ("n_steps", -1, "n_steps must be an integer, at least 0, got -1"),
        ("n_hops", 65, "n_hops must be at most 64, got 65"),
        ("loss_nodes", 1, "loss_nodes must be an integer, at least 2, got 1"),
        ("learning_rate", float("inf"), "learning_rate must be a finite number, at least 0, got inf"),
        ("weight_decay", "0", "weight_decay must be a finite number, at least 0, got '0'"),
        ("momentum", 1.5, "momentum must be a number from 0 to 1, got 1.5"),
        ("dropout_rate", 1.0, r"dropout_rate must be in \[0, 1\), got 1.0"),
        ("edge_drop_rate", (0.1, -0.1), r"edge_drop_rate must be in \[0, 1\), got -0.1"),
        ("edge_drop_rate", (0.1,), "edge_drop_rate must be one rate or a pair of rates, got"),
        ("embedding_dim", 10**9, "embedding_dim must be at most 32768, got 1000000000"),
        ("hidden_dim", 10**4000, "hidden_dim must be at most 32768, got 100000000000000000...0000000000000000000$"),
        ("n_layers", 100_000, "n_layers must be at most 1000, got 100000"),
        ("n_steps", 10**10, "n_steps must be at most 1000000000, got 10000000000"),
        ("learning_rate", [[0.1] * 9] * 9, r"learning_rate must be a finite number, at least 0, got \[\[0.1"),
        ("decorrelation", 10**400, "decorrelation must be at most 9.22337e"),
        ("early_stopping", "no", "early_stopping must be True or False, got 'no'"),
        ("second_view", "edge", "second_view must be 'node' or 'neighbour', got 'edge'"),
        ("encoder", ["gcn"], r"encoder must be 'auto', 'canonical', 'gcn' or 'mlp', got \['gcn'\]"),
        ("augmentations", [1], r"augmentations must be functions .* got \[1\]"),
        ("augmentations", len, "augmentations must be functions"),
        ("temperature", 0, "temperature must be positive, got 0"),
    ],
)
def test_impossible_values_are_named(name: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parameters.check({name: value})


def test_possible_values() -> None:
    parameters.check({"hidden_dim": np.int64(3), "loss_nodes": None, "patience": None, "learning_rate": 0})
    assert parameters.rates("edge_drop_rate", 0.2) == (0.2, 0.2)
    assert parameters.rates("edge_drop_rate", [0.1, 0.3]) == (0.1, 0.3)


def test_seeds() -> None:
    assert parameters.seed_of(np.int64(7)) == 7
    assert parameters.seed_of(np.random.RandomState(0)) == parameters.seed_of(np.random.RandomState(0))
    assert parameters.seed_of(None) >= 0
    for seed in (-3, 2**63, 10**5000):
        with pytest.raises(
            ValueError,
            match=r"random_state must be from 0 to 2\*\*63 - 1, got (-3|9223372036854775808|a value of type int)",
        ):
            parameters.seed_of(seed)
