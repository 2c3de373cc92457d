"""Table 1: attributes of the classes beside the memory that training took."""

import pytest

from ccassg.baselines import make
from ccassg.experiments import methods


def test_growth_is_the_exponent_of_n():
    assert methods.growth({n: 3.0 * n for n in methods.SIZES}) == pytest.approx(1)
    assert methods.growth({n: 0.5 * n**2 for n in methods.SIZES}) == pytest.approx(2)


def test_every_method_takes_the_settings_and_is_measured():
    experiment = methods.EXPERIMENT
    runs = experiment.runs(experiment.plan())
    for run in runs:
        make(run["method"], **run["settings"])
    small = next(run for run in runs if run["method"] == "dgi") | {"n_nodes": 200}
    found = methods.measure(small)
    assert found["memory_bytes"] >= 0
    assert found["fit_seconds"] > 0
