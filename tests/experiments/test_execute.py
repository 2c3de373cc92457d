"""A run in this process, and its record."""

import pytest
import torch

from ccassg.experiments.execute import execute
from ccassg.experiments.runs import classification_run

WIDTHS = {"hidden_dim": 8, "embedding_dim": 8, "n_steps": 2}


@pytest.fixture(autouse=True)
def same_threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_a_run_says_what_came_out_and_where():
    run = classification_run("cca-ssg", "cora", 3, changes=WIDTHS) | {"probe": {"epochs": 200, "learning_rate": 0.1}}
    record = execute(run, threads=1)
    assert record["run"] == run
    result = record["result"]
    assert 0.3 < result["test_accuracy"][0] < 0.9
    assert 1 <= result["probe_epoch"][0] <= 200
    assert result["n_parameters"] == 1433 * 8 + 8 + 8 * 8 + 8
    assert result["memory_before_fit_bytes"] <= result["peak_memory_fit_bytes"] <= record["peak_memory_bytes"]
    assert set(record["seconds"]) == {"fit", "embed", "probe", "total"}
    assert record["versions"]["torch"]
    assert record["machine"]["threads"] == 1
    assert execute(run, threads=1)["result"]["test_accuracy"] == result["test_accuracy"]


def test_the_module_of_the_tasks_is_named():
    run = {"task": "dancing", "dataset": "toy", "seed": 0}
    with pytest.raises(ValueError, match="there is no task 'dancing'; update ccassg, or remove the run"):
        execute(run)
    graph = {"n_nodes": 60, "n_classes": 2, "mean_degree": 6, "homophily": 0.8, "n_features": 8}
    run = {"task": "default-settings", "dataset": "synthetic", "graph": graph, "epochs": 2, "seed": 0}
    with pytest.raises(ValueError, match="no task 'default-settings'"):
        execute(run)
    assert "default" in execute(run, tasks="studies.default_settings")["result"]["accuracy"]
