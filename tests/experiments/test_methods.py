"""Table 1: attributes of the classes beside the memory that training took."""

import pytest

from ccassg.experiments import methods
from ccassg.systems import make


def test_the_part_that_grows_as_the_square_of_n():
    assert methods.quadratic_part({n: 5.0 + 3.0 * n for n in methods.SIZES}) == pytest.approx(0, abs=1)
    assert methods.quadratic_part({n: 0.5 * n**2 for n in methods.SIZES}) == pytest.approx(0.5 * 5600**2)
    assert methods.quadratic_part({n: n * (n + 5600.0) for n in methods.SIZES}) == pytest.approx(5600**2)


def test_every_method_takes_the_settings_and_is_measured():
    experiment = methods.EXPERIMENT
    runs = experiment.runs(experiment.plan())
    for run in runs:
        make(run["method"], **run["settings"])
    small = next(run for run in runs if run["method"] == "dgi") | {"n_nodes": 200}
    found = methods.train_on_random_graph(small, None)
    assert found["memory_bytes"] >= 0
    assert found["fit_seconds"] > 0
