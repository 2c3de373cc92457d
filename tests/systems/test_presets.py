"""Published settings: the file says where they are from, and what is borrowed from CCA-SSG is CCA-SSG's."""

from __future__ import annotations

import pytest

from ccassg import CCASSG
from ccassg.model.presets import PRESETS
from ccassg.systems import METHODS, get_class, make, presets


def test_every_system_in_the_file_is_there_and_has_a_source() -> None:
    for name, settings in presets._read().items():
        assert name in {method.class_name for method in METHODS.values()}
        assert name == "CCASSG" or settings["source"]
        assert {key.removesuffix("-fast") for key in settings} <= {"source", *presets.DATASETS}


def test_fast_presets_go_by_the_same_names_everywhere() -> None:
    assert make("cca-ssg", "photo-fast").get_params() == CCASSG.preset("photo-fast").get_params()
    with pytest.raises(ValueError, match="there is no preset for dataset 'cora-fast'; there are cora, "):
        make("dgi", "cora-fast")


@pytest.mark.parametrize("dataset", presets.DATASETS)
def test_borrowed_settings_are_those_of_cca_ssg(dataset: str) -> None:
    # On CS it has an MLP and drops no edges: Cora's rate there.
    rates = {"feature_mask_rate": PRESETS[dataset]["feature_mask_rate"]}
    rates["edge_drop_rate"] = PRESETS[dataset]["edge_drop_rate"] or PRESETS["cora"]["edge_drop_rate"]
    like = rates | {name: PRESETS[dataset][name] for name in ("hidden_dim", "embedding_dim", "n_steps")}
    assert presets.published(get_class("vicreg"), dataset) == like
    if dataset not in presets.OTHERS:
        assert rates.items() <= presets.published(get_class("bgrl"), dataset).items()
        assert like.items() <= presets.published(get_class("graph-barlow-twins"), dataset).items()


def test_a_system_takes_what_the_one_it_builds_on_was_published_with() -> None:
    grace, gca = get_class("grace"), get_class("gca-degree")
    assert presets.published(gca, "photo") == presets.published(grace, "photo")
    assert presets.published(gca, "photo")["edge_drop_rate"] == (0.3, 0.5)
    assert presets.published(get_class("chebnet"), "cora") == {}
