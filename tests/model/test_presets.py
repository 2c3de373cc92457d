"""The presets are the paper's table, written out here a second time."""

import inspect

import pytest

from ccassg import CCASSG
from ccassg.datasets import DATASETS
from ccassg.model.presets import FAST, PRESETS

# Appendix, "Details of hyper-parameters": steps, layers, units, lambda, learning rate, weight decay, p_f, p_e.
TABLE = {
    "cora": (50, 2, (512, 512), 1e-3, 1e-3, 0, 0.1, 0.4),
    "citeseer": (20, 1, (512,), 5e-4, 1e-3, 0, 0.0, 0.4),
    "pubmed": (100, 2, (512, 512), 1e-3, 1e-3, 0, 0.3, 0.5),
    "computers": (50, 2, (512, 512), 5e-4, 1e-3, 0, 0.1, 0.3),
    "photo": (50, 2, (512, 512), 1e-3, 1e-3, 0, 0.2, 0.3),
    "cs": (50, 2, (512, 512), 1e-3, 1e-3, 0, 0.2, None),  # an MLP, which sees no edges
    "physics": (100, 2, (512, 512), 1e-3, 1e-3, 0, 0.5, 0.5),
}


def test_there_is_one_for_each_dataset_of_the_paper():
    assert list(PRESETS) == list(TABLE) == list(DATASETS)


@pytest.mark.parametrize("name", TABLE)
def test_a_preset_is_its_row_of_the_table(name):
    n_steps, n_layers, units, decorrelation, learning_rate, weight_decay, p_f, p_e = TABLE[name]
    assert PRESETS[name] == {
        "encoder": "mlp" if name == "cs" else "gcn",
        "n_steps": n_steps,
        "n_layers": n_layers,
        "hidden_dim": units[0],
        "embedding_dim": units[-1],
        "decorrelation": decorrelation,
        "learning_rate": learning_rate,
        "weight_decay": weight_decay,
        "feature_mask_rate": p_f,
        "edge_drop_rate": p_e or 0.0,
        "loss_nodes": None,  # all of them, on a graph of any size
    }
    assert len(units) == n_layers


@pytest.mark.parametrize("presets", [PRESETS, FAST], ids=["exact", "fast"])
def test_presets_are_arguments_of_the_estimator(presets):
    known = set(inspect.signature(CCASSG).parameters)
    for name, settings in presets.items():
        assert settings.keys() <= known, name


def test_the_fast_variant_takes_the_loss_on_some_nodes_and_never_more_steps():
    expected = dict.fromkeys(TABLE, 1024) | {"cs": 4096, "physics": 4096, "pubmed": 1536}
    assert {name: settings["loss_nodes"] for name, settings in FAST.items()} == expected
    fewer = {"cora": (25, 2e-3), "pubmed": (75, None), "computers": (20, 2.5e-3)}
    assert {name: (s["n_steps"], s.get("learning_rate")) for name, s in FAST.items() if "n_steps" in s} == fewer
    for name, settings in FAST.items():
        assert settings.keys() <= {"loss_nodes", "n_steps", "learning_rate"}
        assert settings.get("n_steps", 0) <= PRESETS[name]["n_steps"]
