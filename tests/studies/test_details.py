"""The variants of the details change what they name and nothing else."""

import pytest

from ccassg.experiments import EXPERIMENTS
from ccassg.experiments.records import key_of
from studies import details


def run_of(name, dataset="cora", seed=0):
    plan = details.STUDY.plan(datasets=[dataset], n_seeds=seed + 1)
    return details.STUDY.cells(plan)[dataset, name][seed]


def test_the_preset_is_the_run_of_the_main_table():
    citation = EXPERIMENTS["citation"]
    runs = citation.runs(citation.plan(datasets=["cora"], methods=["cca-ssg"], n_seeds=1))
    assert key_of(run_of(details.PRESET)) == key_of(runs[0])


def test_variants_change_one_thing():
    assert run_of("twice the steps")["settings"]["n_steps"] == 100
    assert run_of("half the steps")["settings"]["n_steps"] == 25
    assert run_of("probe with ten times the weight decay")["probe"]["weight_decay"] == pytest.approx(1e-3)
    assert run_of("probe: scikit-learn's logistic regression")["probe"] == {"solver": "logistic"}
