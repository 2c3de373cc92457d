"""The paper's numbers: complete, under names that the tables know, and a few of them as printed."""

import re

import pytest

from ccassg.experiments import EXPERIMENTS, ablation, published
from ccassg.experiments.label_rates import RATES
from ccassg.experiments.published import NAMES, TITLES
from ccassg.experiments.runs import AUTOMATIC
from ccassg.model.presets import PRESETS
from ccassg.systems import METHODS


def test_every_method_has_a_name_in_the_tables():
    assert set(NAMES) == {*METHODS, *AUTOMATIC, "gca"}


def test_titles_are_without_a_publisher():
    assert [TITLES[name] for name in PRESETS] == [
        "Cora",
        "Citeseer",
        "Pubmed",
        "Computers",
        "Photo",
        "CS",
        "Physics",
    ]


def test_every_table_has_its_source():
    for name, content in published._PRINTED.items():
        assert name == "names" or re.match(r"(Table \d|Appendix): ", content["source"]), name


@pytest.mark.parametrize("name", ["citation", "copurchase"])
def test_a_number_for_every_dataset_of_the_table(name):
    table = {"citation": published.CITATION, "copurchase": published.COPURCHASE}[name]
    assert "cca-ssg" in table
    for method, values in table.items():
        assert method in NAMES
        assert tuple(values) == EXPERIMENTS[name].datasets
        for value in values.values():
            assert 20 < float(value.split(" ± ")[0]) < 100


def test_the_ablation_has_the_variants_and_its_full_loss_is_the_main_table():
    assert list(published.ABLATION) == list(ablation.VARIANTS)
    for dataset, value in published.ABLATION["full"].items():
        assert published.CITATION["cca-ssg"][dataset].startswith(f"{value} ± ")


def test_label_rates_are_those_of_the_experiment():
    for dataset, table in published.LABEL_RATES.items():
        for values in table.values():
            assert list(values) == [f"{100 * rate:g} %" for rate in RATES[dataset]]


def test_as_printed():
    assert published.CITATION["mvgrl"]["citeseer"] == "73.3 ± 0.5"
    assert published.COPURCHASE["cca-ssg"]["computers"] == "88.74 ± 0.28"
    assert published.SCALABILITY["pubmed"]["grace"] == {"parameters": "520K", "time": "756 s", "memory": "12.6 GB"}
    assert published.NO_AUGMENTATION["photo"] == 83.95
    assert set(published.NO_AUGMENTATION) == set(PRESETS)
